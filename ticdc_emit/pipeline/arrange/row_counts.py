"""How many rows a batch has of each table: what control messages may depend on.

A row of :data:`COUNT_SCHEMA` counts a table version and physical table in a slot (the time between two ticks). Rows
that are left out (late, filtered or bad) are not counted, and a split update is two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.attributes import PHYSICAL_TABLE_ID
from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.pipeline.arrange.row_batch import RowBatch, TableGroup
from ticdc_emit.pipeline.plan.table_plans import TablePlan
from ticdc_emit.tso import LOGICAL_BITS

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

_GROUP = ("place", "version", "physical", "slot")
_HELD = 100_000
_PARTS = 1_000  # small ones take more memory than their counts

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


def _tables_of(
    tables: TablePlan | TableGroup, stamps: npt.NDArray[np.uint64], places: Mapping[tuple[str, str], int]
) -> tuple[_Numbers, _Numbers]:
    if isinstance(tables, TableGroup):  # which have one version each
        own = np.array([places[table.schema, table.name] for table in tables.tables], np.int32)
        return own[tables.codes], np.zeros(len(stamps), np.int32)
    versions = tables.versions_at(stamps).astype(np.int32)
    return np.full(len(stamps), places[tables.schema, tables.name], np.int32), versions


def _steps(values: npt.NDArray[np.generic]) -> Mask:
    return np.append(True, values[1:] != values[:-1])
