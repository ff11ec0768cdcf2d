"""Row changes ready to be cut into slices: each table's, with its commit_ts, read once and kept by Spark.

In: DataFrames in a public form, one for all tables or one per table. Out: their bounds in time, and the rows of any
slice as one DataFrame: typed for one table, generic for several. Kept rows are sorted by time within their partitions,
so that Spark skips what a slice does not need, and a slice without rows is no work for Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from ticdc_emit.changefeed import ArrowBatch
from ticdc_emit.changefeed.batch import Batch, typed_table
from ticdc_emit.changes.forms import is_generic
from ticdc_emit.errors import InvalidValueError, MissingColumnError
from ticdc_emit.plan.tables import Plan
from ticdc_emit.schema.identifiers import split_name
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.spark.batch import SparkBatch, check_changes
from ticdc_emit.spark.frame import commit_ts_column
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.replay.generic import as_generic
from ticdc_emit.traffic.replay.images import comparable
from ticdc_emit.traffic.replay.moments import named
from ticdc_emit.traffic.replay.slices import Slice, Slices
from ticdc_emit.traffic.replay.transactions import keep_transactions
from ticdc_emit.tso import LOGICAL_BITS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

__all__ = ["Bounds", "Staged"]

_NO_ROWS = History("").to_arrow()


class Bounds(NamedTuple):
    """The first and last commit_ts (``None``: no row), how many rows there are, and what tells them from others."""

    first_ts: int | None
    last_ts: int | None
    rows: int
    fingerprint: int | None = None


class Staged:
    """``source``: one DataFrame in either public form, or the typed changes of each table by ``schema.name``.

    ``table``: whose rows one typed DataFrame has, unless the source names it. Raises :class:`MissingColumnError` for
    typed rows that lack a column of their table.
    """

    def __init__(
        self, source: DataFrame | Mapping[str, DataFrame], plan: Plan, time_zone: str, table: str | None = None
    ) -> None:
        tables = dict(source) if isinstance(source, Mapping) else {"": source}
        for name, df in tables.items():
            if not is_generic(df.columns) and "query" not in df.columns:  # rows of DDL may change the table
                _require_columns(df, _versions(plan, name or table))
                check_changes(df.schema, typed_table(df.columns, name or table, plan), plan)
        timed = {name: _with_commit_ts(df) for name, df in tables.items()}
        self._plan = plan
        self._zone = time_zone
        self._table = next(iter(tables)) or table if len(tables) == 1 else None
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

    def bounds(self, *, fingerprint: bool = False) -> Bounds:
        """Return where the history begins and ends; :class:`InvalidValueError` for a row without a time.

        ``fingerprint``: add up a hash of each row, in whatever order they come.
        """
        from pyspark.sql import functions as F  # noqa: N812

        stamp = F.col("commit_ts")
        hashed = F.sum(_row_hash(self._rows)) if fingerprint else F.lit(None)
        found = self._rows.agg(F.min(stamp), F.max(stamp), F.count("*"), F.count(stamp), hashed).first()
        assert found is not None
        first, last, rows, timed, total = found
        if timed < rows:
            raise InvalidValueError(
                f"{rows - timed:,} rows have no commit time",
                remedy="Give every row a moment, or leave those rows out",
                column="commit_ts",
            )
        return Bounds(first, last, rows, total)

    def count(self, slices: Slices) -> None:
        """Look up which slices have rows."""
        from pyspark.sql import functions as F  # noqa: N812

        number = F.floor((F.shiftright("commit_ts", LOGICAL_BITS) - F.lit(slices.begin_ms)) / F.lit(slices.width_ms))
        found = self._rows.select(number.cast("int")).distinct().collect()
        self._filled = {number for (number,) in found}

    def batch(self, part: Slice) -> Batch:
        """Return the rows of a slice."""
        rows = self.rows(part)
        return ArrowBatch(_NO_ROWS) if rows is None else SparkBatch(rows, self._table)

    def rows(self, part: Slice) -> DataFrame | None:
        """Return the rows of a slice; ``None`` where :meth:`count` has found none."""
        from pyspark.sql import functions as F  # noqa: N812

        if self._filled is not None and part.number not in self._filled:
            return None
        rows = self._rows
        if part.start is not None:
            rows = rows.filter(F.col("commit_ts") >= F.lit(part.start))
        if part.end is not None:
            rows = rows.filter(F.col("commit_ts") < F.lit(part.end))
        if self._kept:
            # Spark compiles a stage anew where a number in it differs: coalesce keeps the bounds out of the others
            rows = rows.coalesce(int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200))
        return rows

    def _merged(self, tables: Mapping[str, DataFrame]) -> DataFrame:
        if len(tables) == 1:
            return next(iter(tables.values()))
        made = [self._generic(df, name) for name, df in tables.items()]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), made)

    def _generic(self, df: DataFrame, name: str) -> DataFrame:
        schema, table = split_name(name, [])
        columns = {column.name: column for info in _versions(self._plan, name) for column in info.columns}
        return as_generic(df, schema, table, columns, self._zone)


def _with_commit_ts(df: DataFrame) -> DataFrame:
    stamped = df.withColumn("commit_ts", commit_ts_column(df))
    return stamped.drop("commit_time")


def _versions(plan: Plan, table: str | None) -> list[TableInfo]:
    known = [key for key, planned in plan.tables.items() if any(planned.encoders)]
    return [encoder.table for encoder in plan.table(*split_name(table, known)).encoders if encoder is not None]


def _require_columns(df: DataFrame, versions: list[TableInfo]) -> None:
    """Refuse ``after`` images that lack what every version of the table has, before anything is sent."""
    from pyspark.sql.types import StructType

    kind = df.schema["after"].dataType if "after" in df.columns else None
    if not isinstance(kind, StructType) or not versions:
        return
    for column in versions[-1].data_columns:
        always = all(column.name in (other.name for other in info.data_columns) for info in versions)
        if always and column.name not in kind.names:
            raise MissingColumnError(
                "the changes lack a column of the table",
                remedy="Give it in the source; where it is what at= or order_by= names, name it in columns= too",
                table=versions[-1].full_name,
                column=column.name,
            )


def _row_hash(df: DataFrame) -> Column:
    """Return a hash of a row's values, less than 2**31 in size, so that the sum of 2**32 of them is a long."""
    from pyspark.sql import functions as F  # noqa: N812

    values = [part for name in sorted(df.columns) for part in _hashed(named(name), df.schema[name].dataType)]
    return F.xxhash64(*values) % F.lit(1 << 31)


def _hashed(value: Column, kind: DataType) -> Iterator[Column]:
    """Yield what the hash of a value is made of. A NULL leaves a hash as it is, so each has its mark."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import MapType, StructType

    yield value.isNull()
    if isinstance(kind, StructType):
        for field in kind.fields:
            yield from _hashed(value[field.name], field.dataType)
    elif isinstance(kind, MapType):
        yield F.to_json(comparable(value, kind), {"ignoreNullFields": "false"})
    else:
        yield comparable(value, kind)
