"""The rows of a history, in Spark's cache and cut into slices, and its bounds and fingerprint.

The rows of one slice and source are cached as **packs**: Arrow IPC bodies in rows of :data:`PACK_SCHEMA`, few and large
whatever the tables' columns are. So a slice is found by one column, and its rows are converted from Java to Arrow once.
:class:`PackTask` and :class:`UnpackTask` run in Spark's workers, all else on the driver.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.arrow_input import GENERIC_NAMES, is_ddl, is_generic
from ticdc_emit.changes.model import rows_within
from ticdc_emit.delivery.base import Target
from ticdc_emit.errors import InvalidValueError, MissingColumnError
from ticdc_emit.hints import counted
from ticdc_emit.pipeline.batch import Batch, typed_table
from ticdc_emit.pipeline.deliver.deliver_task import DeliverTask, TaskResult
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.encode.chunks import from_ipc, to_ipc
from ticdc_emit.pipeline.encode.encode_task import EncodeTask
from ticdc_emit.pipeline.plan.ddl import DdlStatement
from ticdc_emit.pipeline.plan.table_plans import Plan
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.spark.batch import SparkBatch, check_changes, spark_columns, table_versions
from ticdc_emit.spark.frames import change_columns, commit_ts_column, variants_as_json
from ticdc_emit.spark.functions import ADAPTIVE_EXECUTION, F, T, repartition_by_id, setting_off, to_arrow
from ticdc_emit.spark.row_changes import JSON_OPTIONS, column_named, converted, keep_transactions
from ticdc_emit.spark.worker import Step, in_worker, missing_packages_named, with_offsets
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.replay.slices import Slice
from ticdc_emit.tso import LOGICAL_BITS, physical_ms

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType


PACK_SCHEMA = pa.schema(
    [
        ("slice", pa.string()),
        ("source", pa.string()),
        ("tables", pa.string()),
        ("lane", pa.int32()),
        ("first_ts", pa.int64()),
        ("last_ts", pa.int64()),
        ("rows", pa.int64()),
        ("untimed", pa.int64()),
        ("hash", pa.int64()),
        ("body", pa.binary()),
    ]
)
"""One row per pack. ``slice``: see :func:`slice_name`. ``source``: which DataFrame the rows are of. ``tables``: the
[schema, name] of all tables that generic rows name, as JSON. ``lane``: a number by which the packs of a slice can be
spread evenly. ``untimed``: rows without commit_ts, which are counted and dropped. ``hash``: the sum over the rows."""

ROW_HASH = "_hash"
"""An optional column for the pack's ``hash``; it is not packed."""

ROWS_PER_PACK = 5_000
"""The maximum number of rows in a pack."""

_PACK_BYTES = 8 * 1024 * 1024
_GOLDEN = (5**0.5 - 1) / 2  # its multiples fill a circle evenly, however many there are


def slice_name(number: int) -> str:
    """Return the value of the column ``slice`` for the slice that begins ``number`` widths after 1970. It is text,
    because Spark compiles a filter again for another number, but not for another text.
    """
    return f"{number:020d}"


@dataclass(frozen=True)
class PackTask:
    """Packs a source's rows, sorted by commit_ts. ``width_ms``: of a slice; ``lanes``: among which its packs are
    spread.
    """

    source: str
    width_ms: int | None
    lanes: int

    def __call__(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[pa.RecordBatch]:
        """Yield batches of :data:`PACK_SCHEMA`. ``task``: its number; tasks begin with different lanes."""
        before, turn = None, task
        for batch in batches:
            stamps = batch.column("commit_ts")
            untimed = stamps.null_count
            packs = []
            for number, part in self._slices(batch.filter(stamps.is_valid()) if untimed else batch):
                before, turn = number, task if number != before else turn + 1
                packs.append(self._pack(number, part, int(turn * _GOLDEN % 1 * self.lanes)))
            if untimed:
                packs.append(self._row(0, 0, untimed=untimed))
            yield pa.RecordBatch.from_pylist(packs, schema=PACK_SCHEMA)

    def _slices(self, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        if not rows.num_rows:
            return
        stamps = rows.column("commit_ts").to_numpy()
        numbers = (stamps >> LOGICAL_BITS) // self.width_ms if self.width_ms else np.zeros(len(stamps), np.int64)
        starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])).tolist()
        for start, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
            part = rows.slice(start, end - start)
            count = min(ROWS_PER_PACK, rows_within(0, part.num_rows, part.nbytes, _PACK_BYTES))
            for first in range(0, part.num_rows, count):
                yield int(numbers[start]), part.slice(first, count)

    def _pack(self, number: int, part: pa.RecordBatch, lane: int) -> dict[str, object]:
        stamps = part.column("commit_ts").to_numpy()
        total = 0
        if ROW_HASH in part.schema.names:
            total = int(part.column(ROW_HASH).to_numpy().sum())
            part = part.drop_columns([ROW_HASH])
        times = {"first_ts": int(stamps.min()), "last_ts": int(stamps.max())}
        names = _named(part) if is_generic(part.schema.names) else []
        return self._row(number, lane, rows=len(stamps), hash=total, names=names, body=to_ipc(part), **times)

    def _row(self, number: int, lane: int, names: Sequence[object] = (), **values: object) -> dict[str, object]:
        pack = {"slice": slice_name(number), "source": self.source, "tables": json.dumps(names), "lane": lane}
        return {"rows": 0, "untimed": 0, "hash": 0, **pack, **values}


@dataclass(frozen=True)
class UnpackTask:
    """Encodes the rows of packs. ``tables``: the table of a source; ``None`` if its rows name theirs."""

    task: EncodeTask
    tables: Mapping[str, tuple[str, str] | None]

    def __call__(self, packs: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the output of the task. It gets consecutive packs of one source as one stream of rows."""
        pairs = (pair for batch in packs for pair in zip(batch.column("source"), batch.column("body"), strict=True))
        for source, group in groupby(pairs, lambda pair: pair[0].as_py()):
            yield from replace(self.task, table=self.tables[source])(from_ipc(body.as_buffer()) for _, body in group)


def _named(rows: pa.RecordBatch) -> list[tuple[str, str]]:
    """Return the tables named by generic rows; rows without a name are refused later, when they are read."""
    rows = rows.filter(pc.invert(is_ddl(rows))) if "query" in rows.schema.names else rows
    pairs = pa.Table.from_batches([rows.select(list(GENERIC_NAMES))]).group_by(list(GENERIC_NAMES)).aggregate([])
    names = zip(*(pairs.column(name).to_pylist() for name in GENERIC_NAMES), strict=True)
    return sorted((schema, name) for schema, name in names if schema is not None and name is not None)


_NO_ROWS = History("").to_arrow()
_MANY = 1 << 16  # few rows, which Spark distributes over all concurrent tasks


class Bounds(NamedTuple):
    """The first and last commit_ts (``None``: no row), the number of rows, and their fingerprint."""

    first_ts: int | None
    last_ts: int | None
    rows: int
    fingerprint: int | None = None


class CachedHistory:
    """The row changes of a history: as they come, or in Spark's cache (memory, then disk) after :meth:`cache`.
    ``source``: one DataFrame, or typed ones by ``schema.name``; ``table``: that of one typed DataFrame. Raises
    ``MissingColumnError``.
    """

    def __init__(self, source: DataFrame | Mapping[str, DataFrame], plan: Plan, table: str | None = None) -> None:
        named_frames = dict(source) if isinstance(source, Mapping) else {"": source}
        frames = {name or table or "": df for name, df in named_frames.items()}
        for name, df in frames.items():
            if not is_generic(df.columns) and "query" not in df.columns:  # DDL rows may change the table
                _require_columns(df, table_versions(plan, name or None))
                check_changes(df.schema, typed_table(df.columns, name or None, plan), plan)
        stamped = {name: df.withColumn("commit_ts", commit_ts_column(df)) for name, df in frames.items()}
        self._frames = keep_transactions({name: df.drop("commit_time") for name, df in stamped.items()})
        self._width_ms: int | None = None
        self._packs: DataFrame | None = None
        self._ddl: list[DdlStatement] | None = None

    def cache(self, width_ms: int | None, *, fingerprint: bool) -> Bounds:
        """Let Spark cache the rows, in slices of this width (``None``: one). Raises :class:`InvalidValueError`."""
        session = next(iter(self._frames.values())).sparkSession
        lanes = int(session.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        packs = reduce(
            lambda one, other: one.union(other),
            (_packs(df, PackTask(name, width_ms, lanes), fingerprint=fingerprint) for name, df in self._frames.items()),
        )
        # sorted, so that Spark skips rows of other slices
        self._packs = repartition_by_id(packs, lanes, "lane").sortWithinPartitions("slice", "source").persist()
        self._width_ms = width_ms
        sums = [F.sum(name).alias(name) for name in ("rows", "untimed", "hash")]
        times = [F.min("first_ts").alias("first_ts"), F.max("last_ts").alias("last_ts")]
        with missing_packages_named(session):
            groups = to_arrow(self._packs.groupBy("slice", "source", "tables").agg(*times, *sums))
        self._groups = groups.append_column("number", groups.column("slice").cast(pa.int64())).sort_by("number")
        self._bounds = _bounds(self._groups, fingerprint=fingerprint)
        return self._bounds

    def release(self) -> None:
        if self._packs is not None:
            self._packs.unpersist()

    def batch(self, part: Slice) -> Batch:
        if self._packs is None:
            return SparkBatch(self.by_table, None)
        first_ts, width_ms = self._bounds.first_ts, self._width_ms
        number = part.number + (0 if first_ts is None or width_ms is None else physical_ms(first_ts) // width_ms)
        start, end = np.searchsorted(self._groups.column("number").to_numpy(), [number, number + 1]).tolist()
        if start == end:
            return ArrowBatch(_NO_ROWS)
        groups = self._groups.slice(start, end - start)
        tasks = min(self._slots, -(-pc.sum(groups.column("rows")).as_py() // ROWS_PER_PACK))
        packs = self._packs.filter(F.col("slice") == slice_name(number)).select("source", "body").coalesce(tasks)
        return _CachedBatch(self, part, packs, groups.select(["source", "tables"]).to_pylist())

    def ddl(self, database: str) -> list[DdlStatement]:
        """Return the DDL among the rows, collected once, because a changefeed has one current database."""
        if self._ddl is None:
            self._ddl = SparkBatch(self.by_table, None).ddl_rows(database)
        return self._ddl

    @property
    def by_table(self) -> dict[Any, DataFrame]:
        """The sources in the form of a batch: by ``schema.name``, ``None`` for rows that name their table."""
        return {name or None: df for name, df in self._frames.items()}

    def tables(self, plan: Plan) -> dict[str, tuple[str, str] | None]:
        """Return the table of each source; ``None`` if its rows name their tables."""
        return {name: typed_table(df.columns, name or None, plan) for name, df in self._frames.items()}

    @cached_property
    def _slots(self) -> int:
        session = next(iter(self._frames.values())).sparkSession
        tasks = session.range(_MANY).select(F.spark_partition_id().alias("task"))
        found = tasks.agg(F.max("task")).first()
        return 1 if found is None else int(found[0]) + 1


class _CachedBatch(SparkBatch):
    """The rows of one slice. ``names``: the sources of its packs, and the tables named by generic rows."""

    def __init__(self, history: CachedHistory, part: Slice, packs: DataFrame, names: list[dict[str, str]]) -> None:
        super().__init__(history.by_table, None)
        self._history = history
        self._part = part
        self._packs = packs
        self._names = names

    def ddl_rows(self, database: str) -> list[DdlStatement]:
        return [each for each in self._history.ddl(database) if self._part.holds(each[0])]

    def tables(self, plan: Plan) -> list[tuple[str, str]]:
        known = self._history.tables(plan)
        tables: set[tuple[str, str]] = set()
        for each in self._names:
            table = known[each["source"]]
            named_in_rows = {(schema, name) for schema, name in json.loads(each["tables"])}
            tables |= named_in_rows if table is None else {table}
        return sorted(tables)

    def run(self, encode: EncodeTask, deliver: DeliverTask) -> dict[Target, TaskResult]:
        """Run both tasks in Spark; the rows are in its cache, so nothing of their own plan is left to adapt."""
        with setting_off(self.session, ADAPTIVE_EXECUTION):
            return super().run(encode, deliver)

    def _mapped(self, task: EncodeTask, schema: pa.Schema, *after: Step, checks_length: bool = False) -> DataFrame:
        unpack = UnpackTask(task, self._history.tables(task.plan))
        return self._packs.mapInArrow(in_worker(unpack, *after), spark_columns(schema))

    def _are_short(self, plan: Plan) -> bool:
        return False


def _packs(df: DataFrame, task: PackTask, *, fingerprint: bool) -> DataFrame:
    df = variants_as_json(df)
    rows = change_columns(df, task.source or "the changefeed")
    if "query" in df.columns:
        rows = rows.withColumn("query", df["query"])
    if fingerprint:
        rows = rows.withColumn(ROW_HASH, _row_hash(df))

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        return task(map(with_offsets, batches), 0 if context is None else context.partitionId())

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
    values = [part for name in sorted(df.columns) for part in hash_inputs(column_named(name), df.schema[name].dataType)]
    return F.xxhash64(*values) % F.lit(1 << 31)


def hash_inputs(value: Column, kind: DataType) -> Iterator[Column]:
    """Yield the inputs of a value's hash. NULL does not change a hash, so a marker is added for each."""
    yield value.isNull()
    if isinstance(kind, T.StructType):
        for field in kind.fields:
            yield from hash_inputs(value[field.name], field.dataType)
    elif isinstance(kind, T.MapType):
        keys = F.sort_array(F.map_keys(value))
        entries = F.transform(keys, lambda key: F.struct(key.alias("key"), value[key].alias("value")))
        yield F.to_json(entries, JSON_OPTIONS)
    elif type(kind).__name__ in ("ArrayType", "VariantType", "FloatType", "DoubleType"):  # -0 is not 0
        yield converted(value, kind, T.StringType())
    else:
        yield value


def _require_columns(df: DataFrame, versions: list[TableInfo]) -> None:
    """Refuse ``after`` images that lack a column of every table version, before anything is sent."""
    kind = df.schema["after"].dataType if "after" in df.columns else None
    if not isinstance(kind, T.StructType) or not versions:
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
