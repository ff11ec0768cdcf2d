"""Row changes ready to be cut into slices: each table's, with its commit_ts, read once and kept by Spark.

In: DataFrames in a public form, one for all tables or one per table. Out: their bounds in time, and the rows of any
slice as one DataFrame: typed for one table, generic for several. Kept rows are sorted by time within their partitions,
so that Spark skips what a slice does not need, and a slice without rows is no work for Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from ticdc_emit.changefeed import ArrowBatch
from ticdc_emit.changefeed.batch import Batch
from ticdc_emit.encode.encoder import split_name
from ticdc_emit.encode.plan import Plan
from ticdc_emit.errors import InvalidValueError
from ticdc_emit.spark.batch import SparkBatch
from ticdc_emit.spark.frame import commit_ts_column
from ticdc_emit.traffic.replay.generic import as_generic
from ticdc_emit.traffic.replay.slices import Slice, Slices
from ticdc_emit.traffic.replay.transactions import keep_transactions
from ticdc_emit.tso import LOGICAL_BITS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Bounds", "Staged"]


_IMAGE = pa.map_(pa.string(), pa.string())
_NO_ROWS = pa.schema(
    [
        *((name, pa.string()) for name in ("schema", "table", "op")),
        ("commit_ts", pa.int64()),
        *((name, _IMAGE) for name in ("before", "after")),
    ]
).empty_table()


class Bounds(NamedTuple):
    """The first and last commit_ts (``None``: no row) and how many rows there are."""

    first_ts: int | None
    last_ts: int | None
    rows: int


class Staged:
    """``source``: one DataFrame in either public form, or the typed changes of each table by ``schema.name``."""

    def __init__(self, source: DataFrame | Mapping[str, DataFrame], plan: Plan, time_zone: str) -> None:
        tables = dict(source) if isinstance(source, Mapping) else {"": source}
        timed = {name: _with_commit_ts(df) for name, df in tables.items()}
        self._plan = plan
        self._zone = time_zone
        self._table = next(iter(tables)) or None if len(tables) == 1 else None
        self._rows = self._merged(keep_transactions(timed))
        self._kept = False
        self._filled: set[int] | None = None

    def keep(self) -> None:
        """Have Spark keep the rows that the first use computes."""
        self._rows = self._rows.sortWithinPartitions("commit_ts").persist()
        self._kept = True

    def release(self) -> None:
        """Let Spark forget what it kept."""
        if self._kept:
            self._rows.unpersist()

    def bounds(self) -> Bounds:
        """Return where the history begins and ends; :class:`InvalidValueError` for a row without a time."""
        from pyspark.sql import functions as F  # noqa: N812

        stamp = F.col("commit_ts")
        found = self._rows.agg(F.min(stamp), F.max(stamp), F.count("*"), F.count(stamp)).first()
        assert found is not None
        first, last, rows, timed = found
        if timed < rows:
            raise InvalidValueError(
                f"{rows - timed:,} rows have no commit time",
                remedy="Give every row a moment, or leave those rows out",
                column="commit_ts",
            )
        return Bounds(first, last, rows)

    def count(self, slices: Slices) -> None:
        """Look up which slices have rows."""
        from pyspark.sql import functions as F  # noqa: N812

        number = F.floor((F.shiftright("commit_ts", LOGICAL_BITS) - F.lit(slices.begin_ms)) / F.lit(slices.width_ms))
        found = self._rows.select(number.cast("int")).distinct().collect()
        self._filled = {number for (number,) in found}

    def batch(self, part: Slice, table: str | None) -> Batch:
        """Return the rows of a slice. ``table``: the one that typed rows are of, unless the source named it."""
        from pyspark.sql import functions as F  # noqa: N812

        if self._filled is not None and part.number not in self._filled:
            return ArrowBatch(_NO_ROWS)
        rows = self._rows
        if part.start is not None:
            rows = rows.filter(F.col("commit_ts") >= F.lit(part.start))
        if part.end is not None:
            rows = rows.filter(F.col("commit_ts") < F.lit(part.end))
        if self._kept:
            # Spark compiles a stage anew where a number in it differs: coalesce keeps the bounds out of the others
            rows = rows.coalesce(int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200))
        return SparkBatch(rows, self._table or table)

    def _merged(self, tables: Mapping[str, DataFrame]) -> DataFrame:
        if len(tables) == 1:
            return next(iter(tables.values()))
        made = [self._generic(df, name) for name, df in tables.items()]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), made)

    def _generic(self, df: DataFrame, name: str) -> DataFrame:
        schema, table = split_name(name, [])
        planned = self._plan.table(schema, table)
        versions = [encoder.table for encoder in planned.encoders if encoder is not None]
        columns = {column.name: column for info in versions for column in info.columns}
        return as_generic(df, schema, table, columns, self._zone)


def _with_commit_ts(df: DataFrame) -> DataFrame:
    stamped = df.withColumn("commit_ts", commit_ts_column(df))
    return stamped.drop("commit_time")
