"""Live traffic in this process: changes that come when the clock reaches their commit times, sent in small batches.

The same seed and start give the changes of every other form of generated traffic; only :meth:`LiveTraffic.pause` and
:meth:`LiveTraffic.resume` give them other times.

A transaction is due as a whole at its commit_ts. So all that is at or before a moment has come once that moment was
asked for, and the watermark may rise to it (``Changefeed.run(until=...)``). TiCDC sends a watermark about once a
second, which is less often than batches are sent here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.delivery.base import Sink
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import ConfigError
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.report import ReportCallback, RunReport, RunTotal
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.traffic.generate.changes import TableChanges, TrafficPlan, plan_traffic
from ticdc_emit.traffic.generate.cycle import Clock
from ticdc_emit.traffic.generate.model import Model
from ticdc_emit.traffic.generate.settings import Settings, require_zone
from ticdc_emit.traffic.sample_schemas import schema_text
from ticdc_emit.tso import compose

MOST_AT_ONCE = 10_000
"""Changes that :meth:`LiveTraffic.take` returns at once, about; a backlog comes in pieces."""

INTERVAL_S = 0.15
"""Between the batches of :func:`send_live`."""

WATERMARK_S = 1.0
"""Between the watermarks of :func:`send_live`, as between TiCDC's."""


@dataclass(frozen=True)
class DueChanges:
    """What is due by the TSO ``until`` and was not taken before: typed ``changes`` by ``schema.name``, and ``ddl``."""

    until: int
    changes: Mapping[str, list[pa.RecordBatch]]
    ddl: tuple[tuple[int, str], ...]

    def batch(self) -> ArrowBatch:
        return ArrowBatch(self.changes, ddl=self.ddl)


class LiveTraffic:
    """Generated changes that are taken as they become due, by default from now on, without end for ``rows`` of
    ``None``. Not thread-safe. Raises the errors of :func:`~ticdc_emit.traffic.generate.generate`.
    """

    def __init__(self, schema: str | Path, settings: Settings) -> None:
        if settings.start is None:
            settings = replace(settings, start=now())
        self.settings = settings
        """With the start, as a TSO or a datetime."""
        self._plan = plan_traffic(schema_text(schema), settings)
        self._clock = self._plan.clock
        self._tables = [_TableAhead(self._plan, table) for table in self._plan.tables]
        self._commits = np.sort(np.concatenate([np.array(table.commit) for table in self._plan.cycle.tables]))
        self.taken = 0
        """How many changes were taken."""
        self._until = self._clock.start - 1
        self._schema_changes = 0
        self.is_paused = False
        self.rate = settings.changes_per_second
        """Changes per second."""

    @property
    def schema(self) -> str:
        """SQL text of the tables before the first change."""
        return self._plan.schema

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(table.info.full_name for table in self._plan.tables)

    @property
    def is_ended(self) -> bool:
        return self._plan.rows is not None and self.taken >= self._plan.rows

    def take(self, until: int, *, most: int = MOST_AT_ONCE) -> DueChanges:
        """Return what is due by the TSO ``until`` and was not taken; above ``most`` changes less, with its own
        ``until``.
        """
        if self.is_paused or until <= self._until:
            self._until = max(self._until, until)
            return DueChanges(self._until, {}, ())
        due = self._clock.count(until)
        if due - self.taken > most:
            due = self.taken + most
            commit_ts = int(self._clock.stamp(np.array([due]))[0])
            until = commit_ts - 1
            if self._changes_before(due) <= self.taken:  # one transaction has more than that
                until, due = commit_ts, self._clock.count(commit_ts)
        due = max(due, 0)
        ddl = self._ddl(until)
        changes: dict[str, list[pa.RecordBatch]] = {}
        for table in self._tables:
            batches = table.take(due, self._schema_changes)
            if batches:
                changes[table.name] = batches
        self.taken = max(self.taken, self._changes_before(due))
        self._until = until
        return DueChanges(until, changes, ddl)

    def pause(self, at: int) -> DueChanges:
        """Return what is due by the TSO ``at``; then nothing is due until :meth:`resume`."""
        due = self.take(at, most=np.iinfo(np.int64).max)
        self.is_paused = True
        return due

    def resume(self, at: int, rate: float | None = None) -> None:
        """Let the next change commit at the TSO ``at`` and the others follow, at ``rate`` a second. It need not be
        paused. Raises ``ConfigError`` if ``at`` is not after all moments asked for, ``SchemaError`` for a wrong rate.
        """
        if at <= self._until:
            raise ConfigError(
                f"traffic cannot go on at {at}: what is due by {self._until} was taken",
                remedy="Give a later TSO",
                option="at",
            )
        new = replace(self.settings, rate=self.rate if rate is None else rate, model=Model())  # checks the rate
        self.rate = new.changes_per_second
        self._clock = self._clock.going_on(self.taken, at, self.rate)
        for table in self._tables:
            table.follow(self._clock)
        self.is_paused = False

    def changefeed(
        self,
        config: ChangefeedConfig,
        *,
        sink: Sink | None = None,
        message_digests: bool = False,
        on_report: tuple[ReportCallback, ...] = (),
    ) -> Changefeed:
        """Return a changefeed for :func:`send_live`, with noise; ``ConfigError`` for one of another time zone."""
        settings, trouble = self.settings, self.settings.model.trouble
        require_zone(config.time_zone, settings.time_zone)
        sink = sink or sink_for(config)
        if trouble.redelivery or trouble.lag:
            from ticdc_emit.traffic.generate.noise import NoisySink

            sink = NoisySink(sink, config, trouble.redelivery, trouble.lag, settings.seed)
        options = RunOptions(watermark_interval=0, message_digests=message_digests)
        table = self.tables[0] if self._plan.is_typed else None
        return Changefeed(config, sink, self.schema, table=table, options=options, on_report=on_report)

    def _changes_before(self, due: int) -> int:
        """Return how many changes commit before change ``due``, which is not of their transaction."""
        cycle, rest = divmod(due, self._plan.cycle.size)
        number = cycle * self._plan.cycle.size + int(np.searchsorted(self._commits, rest, side="left"))
        return number if self._plan.rows is None else min(number, self._plan.rows)

    def _ddl(self, until: int) -> tuple[tuple[int, str], ...]:
        known, statements = self._plan.schema_changes, list[tuple[int, str]]()
        while known and (self._plan.rows is None or self._schema_changes < len(known)):
            commit_ts = self._clock.schema_change(self._schema_changes)
            if commit_ts > until:
                break
            statements += enumerate(known[self._schema_changes % len(known)][1], commit_ts)
            self._schema_changes += 1
        return tuple(statements)


_LEAST_AHEAD, _MOST_AHEAD = 64, 5_000


class _TableAhead:
    """The changes of a table, some time ahead: a call costs more than its first hundred rows."""

    def __init__(self, plan: TrafficPlan, table: TableChanges) -> None:
        self.name = table.info.full_name
        self._plan, self._table = plan, table
        self._own = plan.cycle.tables[table.number]
        self._commits = np.array(self._own.commit)
        self._taken = self._first = 0
        self._made = table.typed(np.zeros(0, np.int64), physical=plan.physical)
        self._known = frozenset[str]()

    def follow(self, clock: Clock) -> None:
        """Make the changes that were not taken at the times of this clock."""
        self._table = self._table.at(clock)
        self._forget()

    def take(self, due: int, schema_changes: int) -> list[pa.RecordBatch]:
        """Return the changes not taken before whose transaction commits before change ``due`` of all tables."""
        until, batches = self._count(due), list[pa.RecordBatch]()
        wanted = until - self._taken
        others = self._plan.emptyings.others(schema_changes)
        known = frozenset(name for each in self._table.added for name in each.names_by(others))
        if known != self._known:
            self._known = known
            self._forget()
        while self._taken < until:
            at = self._taken - self._first
            if at == self._made.num_rows:
                count = min(max(4 * wanted, _LEAST_AHEAD), _MOST_AHEAD)
                self._first, at = self._taken, 0
                numbers = np.arange(self._taken, self._taken + count)
                self._made = self._table.typed(numbers, physical=self._plan.physical, added=known)
            batches.append(self._made.slice(at, until - self._taken))
            self._taken += batches[-1].num_rows
        return batches

    def _forget(self) -> None:
        self._first, self._made = self._taken, self._made.slice(0, 0)

    def _count(self, due: int) -> int:
        cycle, rest = divmod(due, self._plan.cycle.size)
        count = cycle * self._own.size + int(np.searchsorted(self._commits, rest, side="left"))
        rows = self._plan.rows
        return count if rows is None else min(count, self._plan.cycle.count(self._table.number, rows))


def now() -> int:
    return compose(time.time_ns() // 1_000_000)


def send_live(
    traffic: LiveTraffic,
    feed: Changefeed,
    *,
    stop: Callable[[], bool],
    on_begin: Callable[[RunReport], object] | None = None,
) -> RunTotal:
    """Send what is due until the traffic is ended or ``stop`` returns true; then end the changefeed. Returns the sum of
    reports. A backlog is sent without pauses. ``on_begin``: called with the report of the first batch with rows, once
    it is acknowledged.
    """
    number = feed.next_batch_id()
    marked = time.monotonic() - WATERMARK_S
    while not (stop() or traffic.is_ended):
        began, moment = time.monotonic(), now()
        due = traffic.take(moment)
        is_marked = began - marked >= WATERMARK_S
        if due.changes or due.ddl or is_marked:
            report = feed.run(due.batch(), number, final=False, until=due.until, watermark=is_marked)
            if on_begin is not None and report.rows:
                on_begin(report)
                on_begin = None
            number += 1
            marked = began if is_marked else marked
        if due.until == moment and not traffic.is_ended:
            time.sleep(max(0.0, INTERVAL_S - (time.monotonic() - began)))
    feed.finish()
    return feed.total
