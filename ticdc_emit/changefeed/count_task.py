"""What PLAN must know of a batch's rows beforehand: how many there are of each table between two bootstrap ticks.

In: the rows of one input task. Out: counts of :data:`COUNT_SCHEMA`, which add up over tasks. Only a changefeed that
sends BOOTSTRAP messages needs it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from ticdc_emit.changefeed.encode_task import EncodeTask
from ticdc_emit.changes.attributes import PHYSICAL_TABLE_ID
from ticdc_emit.encode.chunks import Buckets
from ticdc_emit.encode.pieces import Arranger
from ticdc_emit.errors import RowError, SchemaError
from ticdc_emit.plan.table_plan import TablePlan
from ticdc_emit.plan.tables import Plan
from ticdc_emit.schedule.bootstrap_replay import CountedRows
from ticdc_emit.tso import LOGICAL_BITS

__all__ = ["COUNT_SCHEMA", "CountTask"]

COUNT_SCHEMA = pa.schema(
    [
        ("schema", pa.string()),
        ("table", pa.string()),
        ("physical", pa.int64()),
        ("version", pa.int64()),
        ("slot", pa.int64()),
        ("first_ts", pa.int64()),
        ("count", pa.int64()),
        ("error", pa.binary()),
    ]
)
_GROUP = ("schema", "table", "physical", "version", "slot")


@dataclass(frozen=True)
class CountTask:
    """Counts rows, a split update as two, per table version, physical table and slot of ``tick_ms`` of commit time.

    ``late_until``: rows up to this TSO are dropped by the changefeed, ``None`` where it drops none. ``table``: (schema,
    name) of all rows, ``None`` where each names its own. ``bad_rows``: bad ones are not counted where they are skipped,
    which takes as long as encoding them.
    """

    plan: Plan
    tick_ms: int
    late_until: int | None
    table: tuple[str, str] | None = None
    bad_rows: Literal["refuse", "skip"] = "refuse"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches of :data:`COUNT_SCHEMA`; an error is handed on, to be raised with its own type."""
        late = "emit" if self.late_until is None else "drop"
        arranger = Arranger(self.plan, self.table, late, self.late_until)
        encode = EncodeTask(self.plan, late, self.late_until, Buckets((), 1), self.table)
        try:
            for rows in arranger.gathered(batches):
                rows = encode.sound(rows) if self.bad_rows == "skip" else rows
                for table, part in arranger.parts(rows):
                    yield self._counts(table, part)
        except (RowError, SchemaError) as error:
            yield pa.RecordBatch.from_pylist([{"error": pickle.dumps(error)}], schema=COUNT_SCHEMA)

    def read(self, counts: pa.Table) -> list[CountedRows]:
        """Return the sum of what tasks counted; raise the error that one of them met."""
        for error in counts.column("error").drop_null().to_pylist():
            raise pickle.loads(error)
        summed = counts.group_by(_GROUP).aggregate([("first_ts", "min"), ("count", "sum")]).to_pylist()
        return [self._counted(row) for row in summed]

    def _counts(self, table: TablePlan, part: pa.RecordBatch) -> pa.RecordBatch:
        stamps = np.asarray(part.column("commit_ts").cast(pa.uint64(), safe=False))
        none = pa.nulls(len(stamps), pa.int64())
        columns = {
            "schema": pa.repeat(table.schema, len(stamps)),
            "table": pa.repeat(table.name, len(stamps)),
            "physical": part.column(PHYSICAL_TABLE_ID) if PHYSICAL_TABLE_ID in part.schema.names else none,
            "version": np.searchsorted(np.array(table.since[1:], np.uint64), stamps, side="left"),
            "slot": (stamps >> np.uint64(LOGICAL_BITS)) // np.uint64(self.tick_ms),
            "first_ts": stamps.view(np.int64),
        }
        grouped = pa.table(columns).group_by(_GROUP).aggregate([("first_ts", "min"), ("first_ts", "count")])
        named = grouped.rename_columns([*_GROUP, "first_ts", "count"])
        named = named.append_column("error", pa.nulls(named.num_rows, pa.binary())).select(COUNT_SCHEMA.names)
        return named.cast(COUNT_SCHEMA).combine_chunks().to_batches()[0]

    def _counted(self, row: dict[str, Any]) -> CountedRows:
        """``key``: the table id of a partition that its rows bring, else the table's own."""
        table = self.plan.table(row["schema"], row["table"])
        info = table.encoder_at(row["first_ts_min"]).table
        key = info.id if row["physical"] is None else row["physical"]
        partitions = self.plan.router.partitions[table.topic]
        return CountedRows(key, info, table.topic, partitions, row["first_ts_min"], row["count_sum"])
