"""The control messages that depend on a batch's rows: its BOOTSTRAPs, and the default distance of its watermarks.

In: what all tasks counted (``pipeline.arrange.row_counts``). Out: the batch's schedule (:class:`ControlRules`). Every
delivering task and the driver work it out by themselves, each from the counts of all encoding tasks: equal counts give
equal schedules. The clock is the rows' commit time in a replay, and the batch's own in a live run, where all of its
rows come at one moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa

from ticdc_emit.pipeline.arrange.row_counts import RowCounts
from ticdc_emit.pipeline.deliver.bootstrap import (
    BootstrapRules,
    Bootstraps,
    CountedRows,
    TableRef,
    schedule_live,
    schedule_replay,
)
from ticdc_emit.pipeline.deliver.control_events import ControlSchedule
from ticdc_emit.pipeline.encode.chunks import from_ipc, to_ipc
from ticdc_emit.pipeline.plan.table_plans import Plan
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import physical_ms

CountsBody: TypeAlias = bytes
"""Counts as one Arrow IPC body (``pipeline.chunks.to_ipc``)."""

_DEFAULT_INTERVAL_MS = 1_000
_DEFAULT_TICKS = 100_000


def counted_rows(counts: pa.RecordBatch, plan: Plan) -> list[CountedRows]:
    """Return counts as the schedule takes them, with what the plan of all tables says of theirs.

    Each has the table id of a partition that its rows bring, else the table's own.
    """
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
    """What a batch's schedule is worked out from beside its rows; picklable.

    ``default_ticks``: whether watermarks follow the rows. ``bootstrap_state``: of the schedule of BOOTSTRAPs before the
    batch (``Bootstraps.state``), ``None`` at the beginning.
    """

    bootstrap_rules: BootstrapRules
    default_ticks: bool
    bootstrap_state: Mapping[str, Any] | None = None

    def bootstraps(self, plan: Plan) -> Bootstraps:
        """Return the schedule of BOOTSTRAPs as it is before the batch.

        Raises :class:`~ticdc_emit.errors.StateError` for a state that does not fit the table history.
        """
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
        """Return the schedule with what depends on the rows, and the state of the bootstraps after the batch.

        ``counts``: of all rows, as :meth:`sum_counts` returns them.
        """
        counted = counted_rows(from_ipc(counts), plan) if counts else []
        if counted and schedule.watermark is None:
            schedule = replace(schedule, begin=min(rows.first_ts for rows in counted))
        if self.default_ticks:
            schedule = with_default_ticks(schedule, counted)
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


def with_default_ticks(schedule: ControlSchedule, counted: Sequence[CountedRows]) -> ControlSchedule:
    """Return the schedule with a watermark per second of commit time, as TiCDC sends them.

    If the batch would have more than 100,000, they are further apart, by whole seconds.
    """
    if not counted:
        return schedule
    stamps = [physical_ms(rows.first_ts) for rows in counted]
    seconds = -(-(max(stamps) - min(stamps)) // (_DEFAULT_INTERVAL_MS * _DEFAULT_TICKS))
    return replace(schedule, interval_ms=_DEFAULT_INTERVAL_MS * max(seconds, 1))


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
    due = schedule_replay(bootstraps, counted) if plan.build_ts is None else schedule_live(bootstraps, counted, moment)
    placed += [(ts - 1, bootstrap) for ts, bootstrap in due]  # just before the row at this TSO
    return replace(schedule, bootstraps=tuple(placed))
