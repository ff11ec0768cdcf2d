"""What a batch did, and what a whole run did: counts of rows and messages, what was late, how far the watermark came.

Reports hold names of topics and numbers only; ``observe`` makes log lines and Prometheus metrics of them.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from ticdc_emit.delivery.base import DeliveryReport
from ticdc_emit.delivery.message_digest import MODULUS
from ticdc_emit.errors import ConfigError, shown
from ticdc_emit.hints import counted
from ticdc_emit.pipeline.deliver.deliver_task import add_counts
from ticdc_emit.tso import physical_ms

_SHOWN = (
    "rows late_rows skipped_rows skipped filtered_rows filtered filtered_ddl discarded_rows discarded seconds"
    " rows_per_second messages_per_second watermark max_commit_ts lag_ms wall_lag_ms messages_by_kind ddl_events claims"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class _Work:
    """What reports of any span have in common.

    ``rows``: row changes that became messages (a split update counts as two); ``late_rows``: dropped ones; ``skipped``:
    bad rows of each ``schema.name`` (an update counts as one). ``filtered``: rows left out by each rule of ``[filter]``
    (``rules``, ``event-filters[0].ignore-event`` ...); ``filtered_ddl``: DDL events, each once its commit_ts was
    reached. ``discarded``: rows of each ``schema.name`` that a storage sink has discarded (docs/storage.md); they are
    not among ``rows``. ``changes``: rows by operation and table, and with ``message_digests`` the sums of their
    messages' digests (``ticdc_emit.delivery.message_digest``). ``delivery``: what was acknowledged. ``ddl_events``:
    however many messages announce each. ``claims``: messages in the claim-check storage. ``seconds``: spent on batches.
    ``watermark``: the last one sent, ``max_commit_ts``: the greatest of rows and DDL, both TSO or ``None``.
    ``finished_ms``: the wall clock. ``live``: whether messages carry the wall clock.
    """

    rows: int = 0
    late_rows: int = 0
    delivery: DeliveryReport = field(default_factory=DeliveryReport)
    seconds: float = 0.0
    watermark: int | None = None
    max_commit_ts: int | None = None
    controls: Mapping[str, int] = field(default_factory=dict)
    ddl_events: int = 0
    claims: int = 0
    finished_ms: int = 0
    live: bool = False
    skipped: Mapping[str, int] = field(default_factory=dict)
    filtered: Mapping[str, int] = field(default_factory=dict)
    filtered_ddl: Mapping[str, int] = field(default_factory=dict)
    discarded: Mapping[str, int] = field(default_factory=dict)
    changes: Mapping[str, int] = field(default_factory=dict)

    @property
    def skipped_rows(self) -> int:
        """Bad rows that were left out (``bad_rows="skip"``)."""
        return sum(self.skipped.values())

    @property
    def filtered_rows(self) -> int:
        """Rows that ``[filter]`` left out, and those of tables that TiCDC does not replicate."""
        return sum(self.filtered.values())

    @property
    def discarded_rows(self) -> int:
        """Rows that a storage sink has discarded."""
        return sum(self.discarded.values())

    @property
    def messages(self) -> int:
        return self.delivery.messages

    @property
    def bytes(self) -> int:
        """Payload bytes: keys plus values, uncompressed by Kafka."""
        return self.delivery.bytes

    @property
    def retries(self) -> int:
        """How often a connection to the sink failed or was lost, and was tried again."""
        return self.delivery.retries

    @property
    def messages_by_kind(self) -> Mapping[str, int]:
        """Messages of ``rows``, ``ddl``, ``watermark`` and ``bootstrap``; their sum is :attr:`messages`."""
        controls = {kind: self.controls.get(kind, 0) for kind in ("ddl", "watermark", "bootstrap")}
        return {"rows": self.messages - sum(controls.values()), **controls}

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def messages_per_second(self) -> float:
        return self.messages / self.seconds if self.seconds else 0.0

    @property
    def lag_ms(self) -> int | None:
        """How far the watermark is below the greatest commit_ts, in ms of commit time."""
        if self.watermark is None or self.max_commit_ts is None:
            return None
        return max(physical_ms(self.max_commit_ts) - physical_ms(self.watermark), 0)

    @property
    def wall_lag_ms(self) -> int | None:
        """How far the watermark was behind the wall clock at the end, in ms; ``None`` for a replay of history."""
        if self.watermark is None or not self.live:
            return None
        return self.finished_ms - physical_ms(self.watermark)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: plain numbers and strings only."""
        values: dict[str, Any] = {}
        for name in _SHOWN.split():
            value = getattr(self, name)
            if isinstance(value, float):
                value = round(value, 3 if name == "seconds" else 1)
            values[name] = dict(value) if isinstance(value, Mapping) else value
        changes: dict[str, dict[str, Any]] = {}
        for name, count in self.changes.items():
            op, _, table = name.partition(" ")
            changes.setdefault(table, {})[op] = f"{count % MODULUS:016x}" if op == "digest" else count
        return {**values, **self.delivery.to_dict(), "changes": changes}

    def save(self, path: str | Path) -> None:
        """Write :meth:`to_json` to a file, for ``verify --expect``; it compares bytes with ``message_digests`` only."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @property
    def name(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        """Return a line for each topic-partition in order of topic, and last the totals with what was left out."""
        lines = [
            f"{topic} partition {partition}: {counted(count.messages, 'message')}, {counted(count.bytes, 'byte')}"
            for (topic, partition), count in sorted(self.delivery.per_partition.items())
        ]
        rate = f" ({self.rows_per_second:,.0f} rows/s)" if self.rows_per_second >= 1 else ""
        counts = ((self.rows, "row"), (self.messages, "message"), (self.bytes, "byte"))
        total = ", ".join(counted(count, thing) for count, thing in counts)
        return "\n".join([*lines, ", ".join([f"{total} in {self.seconds:.1f} s{rate}", *left_out(self)])])

    def __repr__(self) -> str:
        behind = "" if self.watermark is None else f", watermark {shown_watermark(self.watermark)}"
        return (
            f"<{type(self).__name__} {self.name}: {counted(self.rows, 'row')}, {counted(self.messages, 'message')}, "
            f"{counted(self.bytes, 'byte')} in {self.seconds:.1f} s{behind}>"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class RunReport(_Work):
    """The result of one micro-batch or batch run."""

    batch_id: int

    @property
    def name(self) -> str:
        return f"batch {self.batch_id}"

    def to_dict(self) -> dict[str, Any]:
        return {"batch_id": self.batch_id, **super().to_dict()}


@dataclass(frozen=True, kw_only=True, repr=False)
class RunTotal(_Work):
    """The sum over a run's batches; rates are over the time spent on batches, not the time between them."""

    batches: int
    last_batch_id: int | None

    @property
    def name(self) -> str:
        return counted(self.batches, "batch", "batches")

    @classmethod
    def of(cls, reports: Iterable[RunReport]) -> RunTotal:
        """Add reports up in the order in which the batches ran."""
        total = cls(batches=0, last_batch_id=None)
        for report in reports:
            total = total.plus(report)
        return total

    def plus(self, report: RunReport) -> RunTotal:
        """Return the total with one more report; the end of a run belongs to its last batch."""
        work: dict[str, Any] = {"finished_ms": report.finished_ms, "live": report.live}
        for name in ("rows", "late_rows", "delivery", "seconds", "ddl_events", "claims"):
            work[name] = getattr(self, name) + getattr(report, name)
        for name in ("watermark", "max_commit_ts"):
            reached = (getattr(self, name), getattr(report, name))
            work[name] = max((ts for ts in reached if ts is not None), default=None)
        for name in ("skipped", "filtered", "filtered_ddl", "discarded", "controls", "changes"):
            work[name] = add_counts(getattr(self, name), getattr(report, name))
        if report.batch_id == self.last_batch_id:  # what it sent is what it sent before
            work["changes"] = self.changes
        batches = self.batches + (report.batch_id != self.last_batch_id)
        return replace(self, batches=batches, last_batch_id=report.batch_id, **work)

    def to_dict(self) -> dict[str, Any]:
        return {"batches": self.batches, "last_batch_id": self.last_batch_id, **super().to_dict()}


ReportCallback: TypeAlias = Callable[[RunReport], object]
"""What is called with each report, as soon as its batch is recorded."""


def callbacks_of(option: str, given: Any) -> tuple[Callable[[Any], object], ...]:
    """Return the functions of an argument that takes one or several; ``ConfigError`` for anything else."""
    is_one = callable(given) or isinstance(given, str) or not isinstance(given, Iterable)
    callbacks = (given,) if is_one else tuple(given)
    for each in callbacks:
        if not callable(each):
            raise ConfigError(f"{shown(each)} is not a function", remedy="Give a function, or several", option=option)
    return callbacks


logger = logging.getLogger("ticdc_emit.pipeline.run")  # the name in docs/operations.md

_KEPT_REPORTS = 1_000


class ReportLog:
    """``newest``: the last thousand reports, in order; ``total``: the sum of all. ``callbacks``: called with each."""

    def __init__(self, callbacks: Iterable[ReportCallback]) -> None:
        self.newest: deque[RunReport] = deque(maxlen=_KEPT_REPORTS)
        self.total = RunTotal.of(())
        self._callbacks = tuple(callbacks)

    def add(self, report: RunReport) -> None:
        """Keep a report and hand it on. An exception of a callback is logged: the batch is done, whatever it does."""
        self.newest.append(report)
        self.total = self.total.plus(report)
        for callback in self._callbacks:
            try:
                callback(report)
            except Exception:
                logger.exception("on_report failed for batch %d", report.batch_id)


def left_out(report: _Work) -> list[str]:
    counts = (
        (report.late_rows, "late row", "dropped"),
        (report.skipped_rows, "bad row", "skipped"),
        (report.filtered_rows, "row", "filtered"),
        (report.discarded_rows, "row", "discarded"),
    )
    return [f"{counted(count, thing)} {what}" for count, thing, what in counts if count]


def report_facts(report: RunReport | RunTotal) -> list[tuple[str, str]]:
    """Return the totals by name, as texts; what is zero and rare is left out."""
    kinds = report.messages_by_kind
    facts = [
        ("rows", f"{report.rows:,}"),
        ("late rows dropped", f"{report.late_rows:,}"),
        *([("bad rows skipped", f"{report.skipped_rows:,}")] if report.skipped else []),
        *((f"  of {table}", f"{count:,}") for table, count in report.skipped.items()),
        *([("rows filtered", f"{report.filtered_rows:,}")] if report.filtered else []),
        *((f"  by {rule}", f"{count:,}") for rule, count in report.filtered.items()),
        *((f"DDL filtered by {rule}", f"{count:,}") for rule, count in report.filtered_ddl.items()),
        *((f"rows discarded of {table}", f"{count:,}") for table, count in report.discarded.items()),
        ("messages", f"{report.messages:,}"),
        *((f"  of {kind}" if kind != "ddl" else "  of DDL", f"{count:,}") for kind, count in kinds.items() if count),
        ("bytes", f"{report.bytes:,}"),
        ("seconds", f"{report.seconds:,.1f}"),
        ("rows/s", f"{report.rows_per_second:,.0f}"),
        ("messages/s", f"{report.messages_per_second:,.0f}"),
    ]
    if report.watermark is not None:
        facts += [("watermark", shown_watermark(report.watermark)), ("lag", shown_lag(report))]
    facts += [("objects stored", f"{report.claims:,}")] if report.claims else []
    return [*facts, ("retries", f"{report.retries:,}")]


def shown_watermark(watermark: int) -> str:
    """Return the physical time of a TSO, in UTC to the millisecond."""
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(milliseconds=physical_ms(watermark))
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def shown_lag(report: RunReport | RunTotal) -> str:
    """Return how far the watermark is behind: the wall clock in a live run, the last row in a replay."""
    lag = report.lag_ms if report.wall_lag_ms is None else report.wall_lag_ms
    return f"{(lag or 0) / 1000:,.1f} s"
