"""The rows of a history in Spark's cache, cut into slices, and the record by which a later run continues.

In: row changes by source, with their commit_ts, and the width of a slice. Out: for each slice a batch that a changefeed
encodes. The rows of one slice and source are kept as **packs**: Arrow IPC bodies in rows of :data:`PACK_SCHEMA`, few
and large whatever the tables' columns are. So a slice is found by one column, and its rows are converted from Java to
Arrow once. The record on disk tells how the history is cut, and the fingerprint of its rows, so that a run that
continues recognises it. :class:`PackTask` and :class:`UnpackTask` run in Spark's workers, all else on the driver.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.arrow_input import GENERIC_NAMES, is_ddl, is_generic
from ticdc_emit.changes.model import rows_within
from ticdc_emit.config import Secret
from ticdc_emit.config.secrets import foreign_text
from ticdc_emit.errors import InvalidValueError, MissingColumnError, StateError
from ticdc_emit.hints import counted
from ticdc_emit.pipeline.batch import ArrowBatch, Batch, typed_table
from ticdc_emit.pipeline.chunks import from_ipc, to_ipc
from ticdc_emit.pipeline.ddl import DdlStatement
from ticdc_emit.pipeline.deliver_task import DeliverTask, TaskResult
from ticdc_emit.pipeline.encode_task import EncodeTask
from ticdc_emit.pipeline.plan import Plan
from ticdc_emit.pipeline.state import GREATEST, damaged, object_of
from ticdc_emit.routing.topics import Target
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.spark.batch import SparkBatch, check_changes, planned_at_once, spark_columns
from ticdc_emit.spark.frames import change_columns, commit_ts_column
from ticdc_emit.spark.worker import Step, in_worker
from ticdc_emit.sql.words import split_name
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.replay.rows import comparable, keep_transactions, named
from ticdc_emit.traffic.replay.slices import Slice
from ticdc_emit.tso import LOGICAL_BITS, physical_ms

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

__all__ = [
    "PACK_SCHEMA",
    "ROWS_PER_PACK",
    "ROW_HASH",
    "Bounds",
    "Kept",
    "PackTask",
    "ReplayRecord",
    "Staged",
    "UnpackTask",
    "slice_name",
    "tables_in",
    "tables_text",
]


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
"""One row per pack. ``slice``: see :func:`slice_name`. ``source``: which DataFrame the rows are of. ``tables``: see
:func:`tables_in`. ``lane``: a number by which the packs of a slice can be spread evenly. ``untimed``: rows without
commit_ts, which are counted and dropped. ``hash``: the sum over the rows."""

ROW_HASH = "_hash"
"""An optional column for the pack's ``hash``; it is not packed."""

ROWS_PER_PACK = 5_000
"""The maximum number of rows in a pack."""

_PACK_BYTES = 8 * 1024 * 1024
_GOLDEN = (5**0.5 - 1) / 2  # its multiples fill a circle evenly, however many there are


def slice_name(number: int) -> str:
    """Return the value of the column ``slice`` for the slice that begins ``number`` widths after 1970.

    It is text, because Spark compiles a filter again for another number, but not for another text.
    """
    return f"{number:020d}"


def tables_in(names: str) -> list[tuple[str, str]]:
    """Return (schema, name) of the tables of a pack's generic rows, from its column ``tables``."""
    return [(schema, name) for schema, name in json.loads(names)]


@dataclass(frozen=True)
class PackTask:
    """Packs the rows of one source, which are sorted by commit_ts within a task.

    ``width_ms``: of a slice; ``None``: all are in one. ``lanes``: the number of lanes over which the packs of a slice
    are spread.
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
        """Yield the rows of each slice, and the slice's number, in parts of bounded size."""
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
        place = {"slice": slice_name(number), "source": self.source, "tables": json.dumps(names), "lane": lane}
        return {"rows": 0, "untimed": 0, "hash": 0, **place, **values}


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


_NAME = "replay.json"
_WHAT = {"slice_ms": "slice", "tables": "schema or other DDL"}


def tables_text(plan: Plan, ddl: Sequence[DdlStatement]) -> str:
    """Return a hash of the tables' columns and indexes, in all their versions, and of the DDL."""
    hashed = hashlib.sha256(repr(list(ddl)).encode("utf-8", "surrogatepass"))
    for name, table in sorted(plan.tables.items()):
        for since, encoder in zip(table.since, table.encoders, strict=True):
            shape = None if encoder is None else (encoder.table.columns, encoder.table.indexes)
            hashed.update(repr((name, since, shape)).encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()[:32]


@dataclass(frozen=True)
class ReplayRecord:
    """The record of a replay besides those of its batches, kept from its first message on (a ``Journal`` of a
    changefeed).

    ``cut``: how the history is cut. ``first_batch``: the batch id of its first slice. ``is_kept``: whether an earlier
    run has saved it.
    """

    state_uri: Secret[str] | None
    cut: dict[str, Any]
    first_batch: int
    is_kept: bool

    @classmethod
    def find(cls, state_uri: Secret[str] | None, cut: dict[str, Any], first_batch: int) -> ReplayRecord:
        """Compare a history with that of an earlier run; nothing is written.

        ``first_batch``: that of a replay that begins now. Raises :class:`StateError` if the history or its slices
        differ, or the storage fails.
        """
        known = None if state_uri is None else _load(state_uri)
        if known is None:
            return cls(state_uri, cut, first_batch, is_kept=state_uri is None)
        differing = [name for name in cut if known.get(name) != cut[name]]
        if differing:
            sides = (("then", known), ("now", cut))
            what = _WHAT.get(differing[0], "history") if len(differing) == 1 else "history"
            raise StateError(
                f"the replay began with another {what}",
                remedy="Continue with the same source and options, or start again with another state_uri",
                **{f"{side}_{name}": values.get(name) for name in differing for side, values in sides},
            )
        return cls(state_uri, cut, int(known["first_batch"]), is_kept=True)

    def begin(self) -> None:
        """Save the record, unless it is saved already."""
        if self.is_kept:
            return
        storage, path = _located(self.state_uri)
        with _usable():
            storage.makedirs(path.rpartition("/")[0], exist_ok=True)
            storage.pipe_file(f"{path}.tmp", json.dumps({**self.cut, "first_batch": self.first_batch}).encode())
            storage.mv(f"{path}.tmp", path)

    def undo(self) -> None:
        """Remove the record, if this run has saved it."""
        if self.is_kept:
            return
        storage, path = _located(self.state_uri)
        with _usable():
            storage.rm(path)


def _load(state_uri: Secret[str]) -> dict[str, Any] | None:
    storage, path = _located(state_uri)
    with _usable():
        try:
            content = storage.cat_file(path)
        except FileNotFoundError:
            return None
    known = object_of(content, _NAME)
    first_batch = known.get("first_batch")
    if isinstance(first_batch, bool) or not isinstance(first_batch, int) or not 0 <= first_batch <= GREATEST:
        raise damaged(_NAME, f"its field first_batch is {first_batch!r:.60}")
    return known


def _located(state_uri: Secret[str] | None) -> tuple[Any, str]:
    import fsspec  # the changefeed's own store has reported whether it exists

    assert state_uri is not None
    with _usable():
        storage, root = fsspec.core.url_to_fs(state_uri.reveal())
        return storage, f"{root}/{_NAME}"


@contextmanager
def _usable() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the storage's client may raise any type
        raise StateError(
            f"the record of the replay cannot be used: {type(error).__name__}: {foreign_text(str(error))}",
            remedy="Check that the folder of state_uri is there and may be used",
        ) from None


class Staged:
    """``source``: one DataFrame in either public form, or the typed changes of each table by ``schema.name``.

    ``table``: the table of a single typed DataFrame, unless the source names it. Raises :class:`MissingColumnError` for
    typed rows that lack a column of their table.
    """

    def __init__(self, source: DataFrame | Mapping[str, DataFrame], plan: Plan, table: str | None = None) -> None:
        named = dict(source) if isinstance(source, Mapping) else {table or "": source}
        tables = {name or table or "": df for name, df in named.items()}
        for name, df in tables.items():
            if not is_generic(df.columns) and "query" not in df.columns:  # DDL rows may change the table
                _require_columns(df, _versions(plan, name or None))
                check_changes(df.schema, typed_table(df.columns, name or None, plan), plan)
        self._frames = keep_transactions({name: _with_commit_ts(df) for name, df in tables.items()})
        self._kept: Kept | None = None

    def keep(self, width_ms: int | None, *, fingerprint: bool) -> Bounds:
        """Let Spark cache the rows in slices of this width (:class:`Kept`); return their bounds."""
        self._kept = Kept(self._frames, width_ms, fingerprint=fingerprint)
        return self._kept.bounds

    def release(self) -> None:
        """Remove the rows from Spark's cache."""
        if self._kept is not None:
            self._kept.release()

    def batch(self, part: Slice) -> Batch:
        """Return the rows of a slice; all rows if they are not cached."""
        if self._kept is not None:
            return self._kept.batch(part)
        return SparkBatch({name or None: df for name, df in self._frames.items()}, None)


def _with_commit_ts(df: DataFrame) -> DataFrame:
    stamped = df.withColumn("commit_ts", commit_ts_column(df))
    return stamped.drop("commit_time")


def _versions(plan: Plan, table: str | None) -> list[TableInfo]:
    known = [key for key, planned in plan.tables.items() if any(planned.encoders)]
    return [encoder.table for encoder in plan.table(*split_name(table, known)).encoders if encoder is not None]


def _require_columns(df: DataFrame, versions: list[TableInfo]) -> None:
    """Refuse ``after`` images that lack a column of every table version, before anything is sent."""
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
