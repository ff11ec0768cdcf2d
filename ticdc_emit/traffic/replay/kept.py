"""A history that Spark caches during its replay: packs of rows by slice, made once.

In: DataFrames of row changes by the names of their sources. Out: the bounds of the history, and each slice as a batch
of a changefeed. The driver knows the content of every slice, so an empty one needs no Spark job.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.errors import InvalidValueError
from ticdc_emit.hints import counted
from ticdc_emit.pipeline.batch import ArrowBatch, Batch, typed_table
from ticdc_emit.pipeline.deliver_task import DeliverTask
from ticdc_emit.pipeline.encode_task import EncodeTask
from ticdc_emit.pipeline.plan import Plan
from ticdc_emit.pipeline.results import TaskResult
from ticdc_emit.pipeline.state import DdlStatement
from ticdc_emit.routing.topics import Target
from ticdc_emit.spark.batch import SparkBatch, planned_at_once, spark_columns
from ticdc_emit.spark.frames import change_columns
from ticdc_emit.spark.worker import Step, in_worker
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.replay.images import comparable
from ticdc_emit.traffic.replay.moments import named
from ticdc_emit.traffic.replay.packs import (
    PACK_SCHEMA,
    ROW_HASH,
    ROWS_PER_PACK,
    PackTask,
    UnpackTask,
    slice_name,
    tables_in,
)
from ticdc_emit.traffic.replay.slices import Slice
from ticdc_emit.tso import physical_ms

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

__all__ = ["Bounds", "Kept"]

_NO_ROWS = History("").to_arrow()
_MANY = 1 << 16  # few rows, which Spark distributes over all concurrent tasks


class Bounds(NamedTuple):
    """The first and last commit_ts (``None``: no row), the number of rows, and their fingerprint."""

    first_ts: int | None
    last_ts: int | None
    rows: int
    fingerprint: int | None = None


class Kept:
    """Packs the rows and lets Spark cache them (memory, then disk).

    ``frames``: row changes with ``commit_ts``, by ``schema.name`` of their table; "" for rows that name their table, or
    of the only table. ``width_ms``: of a slice; ``None``: all rows are in one. ``fingerprint``: whether to sum a hash
    of each row, in any order. Raises :class:`InvalidValueError` for a row without a time.
    """

    def __init__(self, frames: Mapping[str, DataFrame], width_ms: int | None, *, fingerprint: bool) -> None:
        from pyspark.sql import functions as F  # noqa: N812

        self._frames = frames
        self._width_ms = width_ms
        self._ddl: list[DdlStatement] | None = None
        session = next(iter(frames.values())).sparkSession
        lanes = int(session.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        packs = reduce(
            lambda one, other: one.union(other),
            (_packs(df, PackTask(name, width_ms, lanes), fingerprint=fingerprint) for name, df in frames.items()),
        )
        # sorted, so that Spark skips rows of other slices
        self._packs = packs.repartitionById(lanes, "lane").sortWithinPartitions("slice", "source").persist()
        sums = [F.sum(name).alias(name) for name in ("rows", "untimed", "hash")]
        times = [F.min("first_ts").alias("first_ts"), F.max("last_ts").alias("last_ts")]
        groups = self._packs.groupBy("slice", "source", "tables").agg(*times, *sums).toArrow()
        self._groups = groups.append_column("number", groups.column("slice").cast(pa.int64())).sort_by("number")
        self.bounds = _bounds(self._groups, fingerprint=fingerprint)

    def release(self) -> None:
        """Remove the rows from Spark's cache."""
        self._packs.unpersist()

    def batch(self, part: Slice) -> Batch:
        """Return the rows of a slice."""
        from pyspark.sql import functions as F  # noqa: N812

        first_ts, width_ms = self.bounds.first_ts, self._width_ms
        number = part.number + (0 if first_ts is None or width_ms is None else physical_ms(first_ts) // width_ms)
        start, end = np.searchsorted(self._groups.column("number").to_numpy(), [number, number + 1]).tolist()
        if start == end:
            return ArrowBatch(_NO_ROWS)
        groups = self._groups.slice(start, end - start)
        tasks = min(self._slots, -(-pc.sum(groups.column("rows")).as_py() // ROWS_PER_PACK))
        packs = self._packs.filter(F.col("slice") == slice_name(number)).select("source", "body").coalesce(tasks)
        return _KeptBatch(self, part, packs, groups.select(["source", "tables"]).to_pylist())

    def ddl(self, database: str) -> list[DdlStatement]:
        """Return the DDL among the rows, collected once, because a changefeed has one current database."""
        if self._ddl is None:
            self._ddl = SparkBatch(self.by_table, None).ddl_rows(database)
        return self._ddl

    @property
    def by_table(self) -> dict[str | None, DataFrame]:
        """The sources in the form of a batch."""
        return {name or None: df for name, df in self._frames.items()}

    def tables(self, plan: Plan) -> dict[str, tuple[str, str] | None]:
        """Return the table of each source; ``None`` if its rows name their tables."""
        return {name: typed_table(df.columns, name or None, plan) for name, df in self._frames.items()}

    @cached_property
    def _slots(self) -> int:
        """The number of concurrent tasks, if this kind of Spark session knows it."""
        from pyspark.sql import functions as F  # noqa: N812

        tasks = self._packs.sparkSession.range(_MANY).select(F.spark_partition_id().alias("task"))
        found = tasks.agg(F.max("task")).first()
        return 1 if found is None else int(found[0]) + 1


class _KeptBatch(SparkBatch):
    """The rows of one slice. ``names``: the sources of its packs, and the tables named by generic rows."""

    def __init__(self, kept: Kept, part: Slice, packs: DataFrame, names: list[dict[str, str]]) -> None:
        super().__init__(kept.by_table, None)
        self._kept = kept
        self._part = part
        self._packs = packs
        self._names = names

    def ddl_rows(self, database: str, *, names_tables: bool = False) -> list[DdlStatement]:
        """Return the slice's DDL."""
        return [each for each in self._kept.ddl(database) if self._part.holds(each[0])]

    def tables(self, plan: Plan) -> list[tuple[str, str]]:
        """Return the tables of the slice's rows; no Spark job."""
        known = self._kept.tables(plan)
        found = ((known[each["source"]], tables_in(each["tables"])) for each in self._names)
        return sorted({key for table, named in found for key in ([table] if table is not None else named)})

    def run(self, encode: EncodeTask, deliver: DeliverTask) -> dict[Target, TaskResult]:
        """Run both tasks in Spark; the rows are in its cache, so nothing of their own plan is left to adapt."""
        with planned_at_once(self.session):
            return super().run(encode, deliver)

    def _mapped(self, task: EncodeTask, schema: pa.Schema, *after: Step, checks_length: bool = False) -> DataFrame:
        unpack = UnpackTask(task, self._kept.tables(task.plan))
        return self._packs.mapInArrow(in_worker(unpack, *after), spark_columns(schema))

    def _are_short(self, plan: Plan) -> bool:
        """Return ``False``: Spark's rows are packs."""
        return False


def _packs(df: DataFrame, task: PackTask, *, fingerprint: bool) -> DataFrame:
    rows = change_columns(df, task.source or "the changefeed")
    if "query" in df.columns:
        rows = rows.withColumn("query", df["query"])
    if fingerprint:
        rows = rows.withColumn(ROW_HASH, _row_hash(df))

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        return task(batches, 0 if context is None else context.partitionId())

    return rows.sortWithinPartitions("commit_ts").mapInArrow(pack, spark_columns(PACK_SCHEMA))


def _bounds(groups: pa.Table, *, fingerprint: bool) -> Bounds:
    rows, untimed, total = (pc.sum(groups.column(name)).as_py() or 0 for name in ("rows", "untimed", "hash"))
    if untimed:
        raise InvalidValueError(
            f"{counted(untimed, 'row')} without a commit time",
            remedy="Give every row a moment, or leave those rows out",
            column="commit_ts",
        )
    first, last = pc.min(groups.column("first_ts")).as_py(), pc.max(groups.column("last_ts")).as_py()
    return Bounds(first, last, rows, total if fingerprint else None)


def _row_hash(df: DataFrame) -> Column:
    """Return a hash of a row's values below 2**31, so that the sum of 2**32 of them fits a long."""
    from pyspark.sql import functions as F  # noqa: N812

    values = [part for name in sorted(df.columns) for part in _hashed(named(name), df.schema[name].dataType)]
    return F.xxhash64(*values) % F.lit(1 << 31)


def _hashed(value: Column, kind: DataType) -> Iterator[Column]:
    """Yield the inputs of a value's hash. NULL does not change a hash, so a marker is added for each."""
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
