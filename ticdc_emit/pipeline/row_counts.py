"""The control messages that depend on a batch's rows: how many rows it has of each table, and what follows from that.

In: the rows of one input task while they are encoded (:class:`RowCounts`), and later what all tasks of a batch counted.
Out: a row of :data:`COUNT_SCHEMA` for each table version, physical table and slot (the time between two ticks), and at
last the batch's BOOTSTRAPs and the default distance of its watermarks (:class:`ControlRules`).

Counts add up, whatever order they come in. A row that is left out (late, filtered or bad) is not counted, and a split
update is two rows. Every delivering task and the driver work the schedule out by themselves, each from the counts of
all encoding tasks: equal counts give equal schedules. The clock is the rows' commit time in a replay, and the batch's
own in a live run, where all of its rows come at one moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.attributes import PHYSICAL_TABLE_ID
from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.pipeline.bootstrap import (
    BootstrapRules,
    Bootstraps,
    CountedRows,
    TableRef,
    schedule_live,
    schedule_replay,
)
from ticdc_emit.pipeline.chunks import from_ipc, to_ipc
from ticdc_emit.pipeline.control_events import ControlSchedule
from ticdc_emit.pipeline.plan import Plan, TablePlan
from ticdc_emit.pipeline.row_batch import RowBatch, TableGroup
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import LOGICAL_BITS, physical_ms

COUNT_SCHEMA = pa.schema(
    [
        ("place", pa.int32()),
        ("version", pa.int32()),
        ("physical", pa.int64()),
        ("first_ts", pa.uint64()),
        ("count", pa.int64()),
    ]
)
"""``place``: the table's (``Plan.places``); ``version``: the place of its encoder; ``physical``: the table id that the
rows bring, if any; ``first_ts``: the TSO of the first of them, which tells the slot."""

CountsBody: TypeAlias = bytes
"""Counts as one Arrow IPC body (``pipeline.chunks.to_ipc``)."""

_GROUP = ("place", "version", "physical", "slot")
_HELD = 100_000
_PARTS = 1_000  # small ones take more memory than their counts

_DEFAULT_INTERVAL_MS = 1_000
_DEFAULT_TICKS = 100_000

_Numbers: TypeAlias = npt.NDArray[np.int32]


class RowCounts:
    """Adds up counts. ``tick_ms``: the length of a slot, in ms. Memory: twice what is left when they are added up."""

    def __init__(self, tick_ms: int) -> None:
        self._tick_ms = tick_ms
        self._parts: list[pa.RecordBatch] = []
        self._held = 0
        self._most = _HELD

    def count(self, rows: RowBatch, places: Mapping[tuple[str, str], int]) -> None:
        """Count rows; ``places``: of tables by (schema, name)."""
        stamps = np.asarray(rows.commit_ts)
        if not len(stamps):
            return
        own, versions = _tables_of(rows.tables, stamps, places)
        starts = _steps(self._slots(stamps)) | _steps(own) | _steps(versions)
        physical = None
        if PHYSICAL_TABLE_ID in rows.block.columns:
            physical = rows.column(PHYSICAL_TABLE_ID)
            starts |= _steps(np.asarray(physical.fill_null(0))) | _steps(np.asarray(physical.is_valid()))
        firsts = np.flatnonzero(starts)
        columns = [
            pa.array(own[firsts]),
            pa.array(versions[firsts]),
            pa.nulls(len(firsts), pa.int64()) if physical is None else physical.take(pa.array(firsts)),
            pa.array(stamps[firsts]),
            pa.array(np.diff(np.append(firsts, len(stamps)))),
        ]
        self.add(pa.RecordBatch.from_arrays(columns, schema=COUNT_SCHEMA))

    def add(self, counts: pa.RecordBatch) -> None:
        """Add counts of :data:`COUNT_SCHEMA`."""
        self._parts.append(counts)
        self._held += counts.num_rows
        if self._held > self._most or len(self._parts) > _PARTS:
            self._parts = [self.sums()]
            self._held = self._parts[0].num_rows
            self._most = max(_HELD, 2 * self._held)

    def __bool__(self) -> bool:
        """Whether anything was counted."""
        return bool(self._parts)

    def include(self, other: RowCounts) -> None:
        """Add what another one has."""
        for part in other._parts:
            self.add(part)

    def sums(self) -> pa.RecordBatch:
        """Return the sums in :data:`COUNT_SCHEMA`, in an order that only they decide."""
        counts = pa.Table.from_batches(self._parts, schema=COUNT_SCHEMA)
        slots = pa.array(self._slots(counts.column("first_ts").to_numpy()))
        grouped = counts.append_column("slot", slots).group_by(list(_GROUP), use_threads=False)
        summed = grouped.aggregate([("first_ts", "min"), ("count", "sum")])
        summed = summed.rename_columns([*_GROUP, "first_ts", "count"]).sort_by([(name, "ascending") for name in _GROUP])
        batches = summed.select(COUNT_SCHEMA.names).cast(COUNT_SCHEMA).combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=COUNT_SCHEMA)

    def _slots(self, stamps: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        slots: npt.NDArray[np.uint64] = (stamps >> np.uint64(LOGICAL_BITS)) // np.uint64(self._tick_ms)
        return slots


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


def _tables_of(
    tables: TablePlan | TableGroup, stamps: npt.NDArray[np.uint64], places: Mapping[tuple[str, str], int]
) -> tuple[_Numbers, _Numbers]:
    """Return the place and the version of each row's table."""
    if isinstance(tables, TableGroup):  # which have one version each
        own = np.array([places[table.schema, table.name] for table in tables.tables], np.int32)
        return own[tables.codes], np.zeros(len(stamps), np.int32)
    versions = tables.versions_at(stamps).astype(np.int32)
    return np.full(len(stamps), places[tables.schema, tables.name], np.int32), versions


def _steps(values: npt.NDArray[np.generic]) -> Mask:
    """Return for each value whether it is the first or other than the one before it."""
    return np.append(True, values[1:] != values[:-1])


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
    """Return the schedule with the batch's BOOTSTRAPs; ``bootstraps`` goes on."""
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
