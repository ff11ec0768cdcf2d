"""Where control messages stand among the rows of each topic-partition: the one place that knows that order.

A control message has a TSO **after** which it comes: after all rows up to it, and before every later one. Of those of
one TSO, a DDL comes first, then a BOOTSTRAP, then a watermark.

- A DDL comes after its own commit_ts: rows after it have its schema.
- A watermark ``T`` comes after every row that may still come at or below it: after ``T`` plus the lateness.
- A BOOTSTRAP's TSO was planned with the batch (``pipeline.arrange.row_counts``): just below the row that it is for.

A worker merges what comes before the last row of its topic-partition (:meth:`PartitionSchedules.among`), the driver
sends what comes after the last row of all (:func:`final_controls`); the whole is the same wherever it is cut.
What depends on a batch's rows, every task works out by itself from what all counted (:class:`ControlRules`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.codec import BootstrapCodec, ControlMessage
from ticdc_emit.delivery.base import Target
from ticdc_emit.errors import ConfigError, MessageTooLargeError
from ticdc_emit.pipeline.arrange.row_counts import RowCounts
from ticdc_emit.pipeline.deliver.bootstrap import (
    Bootstrap,
    BootstrapRules,
    Bootstraps,
    CountedRows,
    TableRef,
    schedule_rows,
)
from ticdc_emit.pipeline.encode.chunks import from_ipc, to_ipc
from ticdc_emit.pipeline.plan.table_plans import Plan
from ticdc_emit.schema.defaults import with_original_defaults
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import compose, physical_ms

_MAX_TICKS = 1_000_000
_DDL_RANK, _BOOTSTRAP_RANK, _WATERMARK_RANK = 0, 1, 2


@dataclass(frozen=True)
class Watermark:
    """Everything up to the TSO ``ts`` was sent."""

    ts: int


Event: TypeAlias = "DdlEvent | Bootstrap | Watermark"
_KINDS: Mapping[type, str] = {DdlEvent: "ddl", Watermark: "watermark", Bootstrap: "bootstrap"}


def count_controls(events: Iterable[Event]) -> dict[str, int]:
    """Count the messages of events by kind, one for each message that was made of them."""
    counts = Counter(_KINDS[type(event)] for event in events)
    return {kind: counts[kind] for kind in _KINDS.values() if counts[kind]}


@dataclass(frozen=True)
class ControlEvent:
    """``event`` comes after the rows up to the TSO ``after``; of one TSO, the lower ``rank`` comes first."""

    after: int
    rank: int
    event: Event


@dataclass(frozen=True)
class ControlSchedule:
    """What may have to be sent: DDL events, and watermarks every ``interval_ms`` of commit time (0: none).

    ``begin``: the TSO after which first watermarks begin, that of the batch's first row: the same for all
    topic-partitions, so that those of a topic have the same watermarks. ``lateness``: how far watermarks stay behind
    the rows, as a difference of TSO. ``sent_until``: the TSO up to which earlier batches have sent DDL. ``bootstraps``:
    with the TSOs after which they come, in sending order. ``marks``: ascending TSOs of further watermarks, those of
    DDL. ``late_until``: a row at or below this TSO is late.
    """

    ddls: tuple[DdlEvent, ...] = ()
    interval_ms: int = 0
    lateness: int = 0
    sent_until: int = -1
    watermark: int | None = None
    bootstraps: tuple[tuple[int, Bootstrap], ...] = ()
    marks: tuple[int, ...] = ()
    begin: int | None = None
    late_until: int | None = field(init=False, repr=False, compare=False)
    unsent_ddl: tuple[DdlEvent, ...] = field(init=False, repr=False, compare=False)
    _ddl_stamps: list[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ddls = tuple(sorted(self.ddls, key=attrgetter("commit_ts")))
        stamps = [event.commit_ts for event in ddls]
        sent = bisect_right(stamps, self.sent_until)
        reached = [*stamps[:sent][-1:], *([] if self.watermark is None else [self.watermark])]
        object.__setattr__(self, "ddls", ddls)
        object.__setattr__(self, "bootstraps", tuple(sorted(self.bootstraps, key=itemgetter(0))))
        object.__setattr__(self, "late_until", max(reached, default=None))
        object.__setattr__(self, "unsent_ddl", ddls[sent:])
        object.__setattr__(self, "_ddl_stamps", stamps)

    def rises_to(self, ts: int) -> bool:
        """Return whether ``ts`` can be the next watermark: one must be higher than the last."""
        return ts >= 0 and (self.watermark is None or ts > self.watermark)

    def sent_ddl(self, until: int) -> list[int]:
        """Return the commit_ts of the DDL up to ``until`` that earlier batches have not sent."""
        stamps = self._ddl_stamps
        return stamps[bisect_right(stamps, self.sent_until) : bisect_right(stamps, until)]

    def due(self, after: int, until: int, *, ticks_until: int | None = None) -> list[ControlEvent]:
        """Return what comes after the TSOs from ``after`` to ``until``, both included, in order.

        ``ticks_until`` bounds ticks at the end of a batch, where more rows may come.
        """
        stamps, bootstraps, lateness = self._ddl_stamps, self.bootstraps, self.lateness
        ddls = self.ddls[bisect_left(stamps, max(after, self.sent_until + 1)) : bisect_right(stamps, until)]
        due = [ControlEvent(event.commit_ts, _DDL_RANK, event) for event in ddls]
        if bootstraps:
            start = bisect_left(bootstraps, after, key=itemgetter(0))
            end = bisect_right(bootstraps, until, key=itemgetter(0)) if ticks_until is None else len(bootstraps)
            due += [ControlEvent(ts, _BOOTSTRAP_RANK, event) for ts, event in bootstraps[start:end]]
        last = until if ticks_until is None else ticks_until
        due += [
            ControlEvent(tick + lateness, _WATERMARK_RANK, Watermark(tick))
            for tick in self._ticks(after - lateness, last - lateness)
        ]
        return sorted(due, key=lambda control: (control.after, control.rank))

    def is_tick(self, ts: int) -> bool:
        """Return whether :meth:`due` gives a watermark of exactly ``ts``, in any stretch."""
        return any(True for _ in self._ticks(ts, ts))

    def last_tick(self, until: int) -> int | None:
        """Return the last watermark up to ``until``, of the ticks or of earlier batches."""
        return max(self._ticks(0, until), default=self.watermark)

    def _ticks(self, start: int, until: int) -> Iterator[int]:
        first, last = bisect_left(self.marks, start), bisect_right(self.marks, until)
        sent, begin = (-1, self.begin) if self.watermark is None else (self.watermark, self.watermark)
        marks = (mark for mark in self.marks[first:last] if mark > sent)
        ticks: Iterable[int] = ()
        if begin is not None and (step := self.interval_ms):
            number = max(physical_ms(begin) // step + 1, physical_ms(max(start, 0)) // step)
            end = physical_ms(max(until, 0)) // step
            if end - number > _MAX_TICKS:
                raise ConfigError(
                    f"watermark_interval={step / 1000} would put more than {_MAX_TICKS} watermarks between two rows",
                    remedy="Choose a longer interval for a history with such gaps",
                    option="watermark_interval",
                )
            ticks = (tick for each in range(number, end + 1) if start <= (tick := compose(each * step)) <= until)
        yield from (ts for ts, _ in groupby(merge(marks, ticks)))


_SHOWN_STATEMENT = 80


@dataclass
class ControlEncoder:
    """Encodes and routes each DDL and BOOTSTRAP of a plan once, however many topic-partitions receive it."""

    plan: Plan
    _made: dict[int, tuple[Event, ControlMessage | None]] = field(default_factory=dict, init=False)
    _routed: dict[int, tuple[DdlEvent, tuple[Target, ...]]] = field(default_factory=dict, init=False)

    def message(self, event: Event) -> ControlMessage | None:
        """Return the event's message, at the plan's clock."""
        known = self._made.get(id(event))
        if known is not None:
            return known[1]
        codec, clock = self.plan.codec, self.plan.clock
        if isinstance(event, Watermark):
            message = codec.watermark(event.ts, clock(event.ts))
        elif isinstance(event, Bootstrap):
            now = clock(compose(event.at_ms))
            message = codec.bootstrap(self._shown(event.table), now) if isinstance(codec, BootstrapCodec) else None
        else:
            message = codec.ddl(self._with_tables(event), clock(event.commit_ts))
        if message is not None:
            context = _context(event) if codec.refuses_large_schemas else None
            message = self.plan.large.control(message, context, _words(event))
            if isinstance(event, Bootstrap) and event.occasion != "start":
                message = replace(message, key=b"")  # it goes out among the rows, with a key like theirs
        if not isinstance(event, Watermark):  # there may be a million, each made for one topic-partition
            self._made[id(event)] = event, message  # the event is held, so that no other takes its id
        return message

    def _shown(self, table: TableInfo) -> TableInfo:
        original = self.plan.rendering.switches.column_defaults == "original"
        return with_original_defaults(table) if original else table

    def _with_tables(self, event: DdlEvent) -> DdlEvent:
        before, after = (table and self._shown(table) for table in (event.pre_table_info, event.table_info))
        if before is event.pre_table_info and after is event.table_info:
            return event
        return replace(event, pre_table_info=before, table_info=after)

    def targets(self, event: Event) -> tuple[Target, ...]:
        """Return the topic-partitions that receive the event, in order."""
        router = self.plan.router
        if isinstance(event, Watermark):
            topics = self.plan.watermark_topics(event.ts)
            return tuple(target for topic in sorted(topics) for target in router.targets(topic))
        if isinstance(event, Bootstrap):
            return event.targets
        known = self._routed.get(id(event))
        if known is None:
            targets = router.ddl_targets(event)
            known = self._routed[id(event)] = event, targets
        return known[1]

    def message_to(self, event: Event, target: Target) -> ControlMessage | None:
        """Return the event's message if this topic-partition receives it."""
        if isinstance(event, Watermark):
            reached = self.plan.watermark_reaches(target[0], event.ts)
        else:
            reached = target in self.targets(event)
        return self.message(event) if reached else None

    def messages(self, event: Event) -> list[tuple[Target, ControlMessage]]:
        """Return the event's message with each of its targets; none where the protocol sends nothing."""
        message = self.message(event)
        return [] if message is None else [(target, message) for target in self.targets(event)]

    def named(self, fault: MessageTooLargeError) -> MessageTooLargeError:
        """Return a writer's error about a message that is too large: of a DDL, with its statement."""
        for event, message in self._made.values():
            if message is None or len(message.key or b"") + len(message.value) != fault.context.get("size"):
                continue
            if (fault.context.get("topic"), fault.context.get("partition")) in self.targets(event):
                return MessageTooLargeError(
                    f"{_words(event)} is too large: {fault.message}",
                    remedy=self.plan.large.schema_remedy,
                    **{**fault.context, **(_context(event) or {})},
                )
        return fault


class PartitionSchedules:
    """What may have to be sent, by topic-partition: each asks for its own, however many tables a changefeed has."""

    def __init__(self, schedule: ControlSchedule, control_encoder: ControlEncoder) -> None:
        self._control_encoder = control_encoder
        self._none = replace(schedule, ddls=(), bootstraps=())
        self._ddls: dict[Target, list[DdlEvent]] = {}
        self._bootstraps: dict[Target, list[tuple[int, Bootstrap]]] = {}
        self._by_target: dict[Target, ControlSchedule] = {}
        for event in schedule.unsent_ddl:
            for target in control_encoder.targets(event):
                self._ddls.setdefault(target, []).append(event)
        for placed in schedule.bootstraps:
            for target in placed[1].targets:
                self._bootstraps.setdefault(target, []).append(placed)

    def to(self, target: Target) -> ControlSchedule:
        """Return the schedule with the DDL and bootstraps that the topic-partition receives."""
        known = self._by_target.get(target)
        if known is None:
            ddls, bootstraps = self._ddls.get(target), self._bootstraps.get(target)
            known = self._none
            if ddls or bootstraps:
                known = replace(known, ddls=tuple(ddls or ()), bootstraps=tuple(bootstraps or ()))
            self._by_target[target] = known
        return known

    def among(
        self, target: Target, stamps: npt.NDArray[np.uint64], after: int
    ) -> tuple[list[Event], list[ControlMessage], npt.NDArray[np.int64]]:
        """Return what comes before the last of the rows with ``stamps``: events, their messages, and the row before
        which each comes. ``after``: the commit_ts of the last row before them, or -1.
        """
        events: list[Event] = []
        messages: list[ControlMessage] = []
        stamps_before: list[int] = []
        for control in self.to(target).due(after, int(stamps[-1]) - 1):
            message = self._control_encoder.message_to(control.event, target)
            if message is not None:
                events.append(control.event)
                messages.append(message)
                stamps_before.append(control.after)
        # a row of the same TSO is before it
        places = np.searchsorted(stamps, np.array(stamps_before, np.uint64), side="right")
        return events, messages, places


class FinalControls(NamedTuple):
    """What comes after a batch's last row, and the TSO up to which watermarks and DDL are sent then."""

    messages: list[tuple[Target, ControlMessage]]
    events: list[Event]
    watermark: int | None
    sent_until: int


def highest_watermark(ts: int, lateness: int) -> int:
    """Return the greatest watermark that may follow a row of the TSO ``ts``: no row that comes later is below it."""
    return ts - 1 - lateness


def final_controls(
    plan: Plan,
    control_encoder: ControlEncoder,
    schedule: ControlSchedule,
    last_rows: Mapping[Target, int],
    limit: int,
    *,
    watermark: bool = True,
) -> FinalControls:
    """Return the DDL and watermarks up to the TSO ``limit`` that are still due after ``last_rows`` (commit_ts).

    ``watermark``: whether one of ``limit`` itself is sent. A DDL after ``limit`` waits, for rows of its old schema may
    still come, unless a worker has sent it already before a later row.
    """
    schedules = PartitionSchedules(schedule, control_encoder)
    until = max([limit, *schedule.sent_ddl(_last_ddl_sent(control_encoder, schedule, last_rows))])
    last = control_encoder.message(Watermark(limit)) if watermark and schedule.rises_to(limit) else None
    reached = plan.watermark_topics(limit)
    messages: list[tuple[Target, ControlMessage]] = []
    events: list[Event] = []
    for target in plan.targets:
        after = last_rows.get(target, -1)
        # the limit of ticks is behind the rows by the lateness already
        for control in schedules.to(target).due(after, until, ticks_until=limit + schedule.lateness):
            message = control_encoder.message_to(control.event, target)
            if message is not None:
                messages.append((target, message))
                events.append(control.event)
        if last is not None and target[0] in reached and not schedule.is_tick(limit):
            messages.append((target, last))
            events.append(Watermark(limit))
    reached_by_ticks = schedule.watermark if watermark else schedule.last_tick(limit)
    return FinalControls(messages, events, reached_by_ticks if last is None else limit, until)


def _last_ddl_sent(control_encoder: ControlEncoder, schedule: ControlSchedule, last_rows: Mapping[Target, int]) -> int:
    for event in reversed(schedule.unsent_ddl if last_rows else ()):
        if any(last_rows.get(target, -1) > event.commit_ts for target in control_encoder.targets(event)):
            return event.commit_ts
    return -1


def _words(event: Event) -> str:
    return "the message of a DDL" if isinstance(event, DdlEvent) else "the BOOTSTRAP message of a table"


def _context(event: Event) -> dict[str, object] | None:
    if isinstance(event, Watermark):
        return None
    if isinstance(event, Bootstrap):
        return {"table": event.table.full_name}
    statement = " ".join(event.query.split())
    shown = statement if len(statement) <= _SHOWN_STATEMENT else f"{statement[: _SHOWN_STATEMENT - 1]}\u2026"
    return {"table": f"{event.schema}.{event.table}" if event.table else event.schema, "statement": shown}


CountsBody: TypeAlias = bytes
"""Counts as one Arrow IPC body (``pipeline.encode.chunks.to_ipc``)."""

_DEFAULT_INTERVAL_MS = 1_000  # a watermark per second, as TiCDC; further apart for more than so many
_DEFAULT_TICKS = 100_000


def counted_rows(counts: pa.RecordBatch, plan: Plan) -> list[CountedRows]:
    """Return counts as the schedule takes them, by the table id of the rows' partition, else the table's own."""
    counted = []
    columns = [column.to_pylist() for column in counts.columns]
    for place, version, physical, first_ts, count in zip(*columns, strict=True):
        table = plan.in_order[place]
        encoder = table.encoders[version]
        assert encoder is not None
        table = table.routed(encoder)
        key, partitions = encoder.table.id if physical is None else physical, plan.router.partitions[table.topic]
        counted.append(CountedRows(key, encoder.table, table.topic, partitions, first_ts, count))
    return counted


@dataclass(frozen=True)
class ControlRules:
    """What a batch's schedule is worked out from beside its rows; ``default_ticks``: watermarks follow the rows."""

    bootstrap_rules: BootstrapRules
    default_ticks: bool
    bootstrap_state: Mapping[str, Any] | None = None

    def bootstraps(self, plan: Plan) -> Bootstraps:
        """Return the schedule of BOOTSTRAPs before the batch; ``StateError`` if it does not fit the tables."""
        if self.bootstrap_state is None:
            return Bootstraps(self.bootstrap_rules)
        versions: dict[TableRef, TableInfo] = {}
        for table in plan.tables.values():
            for info in table.versions:
                versions.setdefault(TableRef.of(info), info)
        return Bootstraps.from_state(self.bootstrap_rules, self.bootstrap_state, versions.__getitem__)

    def sum_counts(self, counts: Iterable[pa.RecordBatch]) -> CountsBody:
        """Return the sum of all tasks' counts in the form of ``TaskResult.counts``: empty if there are no rows."""
        total = RowCounts(self.bootstrap_rules.tick_ms)
        for each in counts:
            total.add(each)
        sums = total.sums()
        return to_ipc(sums) if sums.num_rows else b""

    def with_rows(
        self, schedule: ControlSchedule, plan: Plan, counts: CountsBody
    ) -> tuple[ControlSchedule, dict[str, Any] | None]:
        """Return the schedule with what depends on all rows, and the state of the bootstraps after the batch."""
        counted = counted_rows(from_ipc(counts), plan) if counts else []
        if counted and schedule.watermark is None:
            schedule = replace(schedule, begin=min(rows.first_ts for rows in counted))
        if self.default_ticks and counted:
            stamps = [physical_ms(rows.first_ts) for rows in counted]
            seconds = -(-(max(stamps) - min(stamps)) // (_DEFAULT_INTERVAL_MS * _DEFAULT_TICKS))
            schedule = replace(schedule, interval_ms=_DEFAULT_INTERVAL_MS * max(seconds, 1))
        if not self.bootstrap_rules.enabled:
            return schedule, None
        bootstraps = self.bootstraps(plan)
        return _with_bootstraps(schedule, plan, bootstraps, counted), bootstraps.state()

    def without_rows(
        self, schedule: ControlSchedule, plan: Plan, moment: int, after: int
    ) -> tuple[ControlSchedule, dict[str, Any] | None]:
        """Return the schedule with what falls due by ``moment`` (ms), after the TSO ``after``; and the state then."""
        if self.bootstrap_state is None:
            return schedule, None
        bootstraps = self.bootstraps(plan)
        due = tuple((after, bootstrap) for bootstrap in bootstraps.advance(moment))
        return replace(schedule, bootstraps=due), bootstraps.state()


def _with_bootstraps(
    schedule: ControlSchedule, plan: Plan, bootstraps: Bootstraps, counted: Sequence[CountedRows]
) -> ControlSchedule:
    if not counted:
        return schedule
    moment = plan.build_ts if plan.build_ts is not None else physical_ms(min(rows.first_ts for rows in counted))
    existing = [
        (table.newest, table.topic, table.partitions)
        for table in plan.tables.values()
        if table.encoders and table.encoders[-1] is not None
    ]
    placed = [(0, bootstrap) for bootstrap in bootstraps.at_start(existing, moment)]
    due = schedule_rows(bootstraps, counted, plan.build_ts)
    placed += [(ts - 1, bootstrap) for ts, bootstrap in due]  # just before the row at this TSO
    return replace(schedule, bootstraps=tuple(placed))
