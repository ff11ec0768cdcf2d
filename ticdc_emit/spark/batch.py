"""DataFrames as a batch of a changefeed: the jobs that encode rows where they are, shuffle chunks and deliver them.

A job is ``mapInArrow`` (encode), a shuffle by bucket and ``mapInArrow`` (deliver). Spark hands a task 10,000 rows at
once, and 10,000 chunks may be more than an Arrow array holds. So a chunk crosses the shuffle in segments of at most
:data:`SEGMENT_BYTES`, which a name joins again, because a shuffle promises no order. In a local session the chunks'
bytes stay in a file instead (:func:`chunk_folder`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ticdc_emit.changes.arrow_input import check_columns, is_generic
from ticdc_emit.delivery.base import MESSAGE_SCHEMA, Target
from ticdc_emit.errors import ConfigError, DeliveryError
from ticdc_emit.pipeline.arrange.row_reader import check_images
from ticdc_emit.pipeline.batch import typed_table
from ticdc_emit.pipeline.deliver.deliver_task import RESULT_SCHEMA, DeliverTask, TaskResult, read_results
from ticdc_emit.pipeline.encode.chunks import CHUNK_SCHEMA, Buckets, ChunkFolder
from ticdc_emit.pipeline.encode.encode_task import EncodeTask
from ticdc_emit.pipeline.plan.ddl import DdlStatement
from ticdc_emit.pipeline.plan.table_plans import Plan
from ticdc_emit.schema.model import TableInfo, schema_and_name
from ticdc_emit.spark.frames import (
    RowLengths,
    are_short,
    balanced_reduce,
    change_columns,
    collect_ddl,
    refuse_long_rows,
    table_names,
    variants_checked,
    without_ddl,
)
from ticdc_emit.spark.functions import conf_is_true, is_local, repartition_by_id, setting_off, to_arrow
from ticdc_emit.spark.worker import Step, in_worker, missing_packages_named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


SEGMENT_BYTES = 8 * 1024
"""So that 10,000 rows, which a delivering task gets at once, have 80 MB."""
SEGMENT_SCHEMA = pa.schema([*CHUNK_SCHEMA, ("name", pa.binary()), ("segment", pa.int32()), ("segments", pa.int32())])
"""A chunk's row, the number of its segments, and its name if there are several. Rows with the segments after the first
have a bucket, a body, a name and the segment's number."""

_NAME_BYTES = 12
_BODY = CHUNK_SCHEMA.get_field_index("body")


def split_chunks(chunks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the chunks (``CHUNK_SCHEMA``), each batch of them as a batch of segments (:data:`SEGMENT_SCHEMA`)."""
    return map(_segments, chunks)


def join_chunks(segments: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the chunks, each when its last segment has come. Raises :class:`DeliveryError` if some never come."""
    open_chunks: dict[bytes, _OpenChunk] = {}
    for batch in segments:
        counts = np.asarray(batch.column("segments").fill_null(0))
        whole = counts == 1
        if whole.any():
            yield _of_chunk(batch if whole.all() else batch.filter(pa.array(whole)))
        for row in np.flatnonzero(~whole).tolist():
            name = batch.column("name")[row].as_py()
            chunk = open_chunks.setdefault(name, _OpenChunk())
            if counts[row]:
                # copied, for the rows that came with it are let go once their chunks are whole
                chunk.head, chunk.count = _of_chunk(batch).take(pa.array([row])), int(counts[row])
            chunk.bodies[batch.column("segment")[row].as_py()] = batch.column("body")[row].as_buffer()
            if len(chunk.bodies) == chunk.count:
                yield open_chunks.pop(name).whole()
    if open_chunks:
        raise DeliveryError(
            f"segments of {len(open_chunks)} chunks are missing after the shuffle",
            remedy="Run the batch again: nothing of it was sent. If it happens again, look at Spark's shuffle service",
        )


@dataclass
class _OpenChunk:
    """A chunk of which some segments have come: its row without the others' bytes, and all bytes so far by number."""

    head: pa.RecordBatch | None = None
    count: int = 0
    bodies: dict[int, pa.Buffer] = field(default_factory=dict)

    def whole(self) -> pa.RecordBatch:
        assert self.head is not None
        body = b"".join(self.bodies[number] for number in range(self.count))
        offsets = np.array([0, len(body)], np.int32)
        column = pa.BinaryArray.from_buffers(pa.binary(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(body)])
        return self.head.set_column(_BODY, CHUNK_SCHEMA.field(_BODY), column)


def _of_chunk(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(CHUNK_SCHEMA.names)


def _segments(batch: pa.RecordBatch) -> pa.RecordBatch:
    rows: list[int] = []
    bodies: list[memoryview | None] = []
    names: list[bytes | None] = []
    numbers: list[int] = []
    counts: list[int | None] = []
    for row, body in enumerate(batch.column("body")):
        parts = _parts(body)
        name = os.urandom(_NAME_BYTES) if len(parts) > 1 else None
        for number, part in enumerate(parts):
            rows.append(row)
            bodies.append(part)
            names.append(name)
            numbers.append(number)
            counts.append(None if number else len(parts))
    first = pa.array([None if number else row for row, number in zip(rows, numbers, strict=True)], pa.int64())
    columns = dict(zip(CHUNK_SCHEMA.names, batch.take(first).columns, strict=True))
    columns["bucket"] = batch.column("bucket").take(pa.array(rows, pa.int64()))
    columns["body"] = pa.array(bodies, pa.binary())
    columns |= {"name": pa.array(names, pa.binary()), "segment": pa.array(numbers, pa.int32())}
    columns["segments"] = pa.array(counts, pa.int32())
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=SEGMENT_SCHEMA)


def _parts(body: pa.Scalar) -> list[memoryview | None]:
    if not body.is_valid:
        return [None]
    content = memoryview(body.as_buffer())
    return [content[start : start + SEGMENT_BYTES] for start in range(0, len(content), SEGMENT_BYTES)] or [content]


_ENCRYPTED = "spark.io.encryption.enabled"
_SHARE = 4  # what a batch may take of the memory and of the disk, as the divisor


@contextmanager
def chunk_folder(spark: SparkSession) -> Iterator[ChunkFolder | None]:
    """Give a folder to a job, and remove it after; ``None`` unless tasks run here and may write what they like."""
    context = getattr(spark, "sparkContext", None)  # which a client of Spark Connect does not have
    if context is None or not is_local(spark) or conf_is_true(spark, _ENCRYPTED):
        yield None
        return
    from pyspark import SparkFiles

    with ExitStack() as stack:
        try:
            temporary = tempfile.TemporaryDirectory(
                prefix="ticdc-emit-", dir=SparkFiles.getRootDirectory(), ignore_cleanup_errors=True
            )
            path = stack.enter_context(temporary)
            most = min(_memory(), shutil.disk_usage(path).free) // _SHARE
            folder = ChunkFolder(path, most, read_once="," not in context.master)  # local[2,4]: four attempts
        except OSError:  # a full disk, or a cleaner of old temporary folders
            folder = None
        yield folder


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0


_NUMBERED_CLASSES = "spark.sql.codegen.useIdInClassName"  # off: equal code of two jobs is compiled once


def idle_check(spark: SparkSession) -> Callable[[], bool] | None:
    """Return what tells whether this thread's stream found nothing to read at its newest trigger, or ``None``."""
    context = getattr(spark, "sparkContext", None)
    name = context and context.getLocalProperty("sql.streaming.queryId")
    if name is None:
        return None
    java: Any = spark
    # the queries of all sessions, because a stream's batches run in a copy of its own
    queries = java._jsparkSession.sharedState().activeStreamingQueries()
    query = queries.get(java._jvm.java.util.UUID.fromString(name))

    def is_idle() -> bool:
        status = query.status()  # isDataAvailable is false while a trigger looks for data
        return query.isActive() and not status.isDataAvailable() and not status.isTriggerActive()

    return is_idle


POLL_S = 0.02


def hold_until_stopped(query: Any, spark: SparkSession) -> None:
    """Keep the thread of a query, which this is, from its next batch until another thread stops the query."""
    while query.isActive:
        time.sleep(POLL_S)
    java: Any = spark
    until = time.monotonic() + 1
    while not java._jvm.java.lang.Thread.interrupted() and time.monotonic() < until:
        time.sleep(POLL_S)  # with the interruption ended, Spark commits the batch, which else comes again


_TASKS_PER_CORE = 4
_KINDS = {pa.bool_(): "boolean", pa.string(): "string", pa.int32(): "int", pa.int64(): "long", pa.binary(): "binary"}


class SparkBatch:
    """``changes``: one DataFrame, or several typed ones by the ``schema.name`` of their tables.

    ``table``: of one typed DataFrame, if the plan has several. ``lengths``: what earlier batches have shown of their
    rows.
    """

    def __init__(
        self, changes: DataFrame | Mapping[str, DataFrame], table: str | None, lengths: RowLengths | None = None
    ) -> None:
        self._frames: Mapping[Any, DataFrame] = changes if isinstance(changes, Mapping) else {table: changes}
        if not self._frames:
            raise ConfigError("no DataFrame was given", remedy="Give one DataFrame for each table", option="changes")
        self.session: SparkSession = next(iter(self._frames.values())).sparkSession
        if conf_is_true(self.session, "spark.speculation"):
            raise ConfigError(
                "spark.speculation would send a task's messages twice",
                remedy="Set spark.speculation=false",
                option="spark.speculation",
            )
        self._lengths = lengths or RowLengths()
        self._named: list[tuple[str, str]] | None = None

    def ddl_rows(self, database: str) -> list[DdlStatement]:
        """Collect rows with ``op = 'ddl'``, whose database is their ``schema``."""
        frames = [df for df in self._frames.values() if "query" in df.columns]
        return collect_ddl(frames, database) if frames else []

    def check(self, plan: Plan) -> None:
        """Check columns and their types; no Spark job. Names of tables in rows would need a pass over them."""
        for name, df in self._frames.items():
            check_changes(df.schema, typed_table(df.columns, name, plan), plan)

    def tables(self, plan: Plan) -> list[tuple[str, str]]:
        """Return the tables of the rows; for the generic form one small pass over two columns."""
        typed = [typed_table(df.columns, name, plan) for name, df in self._frames.items()]
        if self._named is None:
            generic = [df for df in self._frames.values() if is_generic(df.columns)]
            self._named = [(row[0], row[1]) for df in generic for row in table_names(df).collect()]
        return sorted({*self._named, *(key for key in typed if key is not None)})

    def run(self, encode: EncodeTask, deliver: DeliverTask) -> dict[Target, TaskResult]:
        """Run both tasks in Spark; deliver from this process if the store is in it."""
        tables = [(df, typed_table(df.columns, name, encode.plan)) for name, df in self._frames.items()]
        with missing_packages_named(self.session), setting_off(self.session, _NUMBERED_CLASSES):
            if all(key is not None and are_short(df, encode.plan.table(*key).versions) for df, key in tables):
                return self._lengths.run(self.session, partial(self._run, encode, deliver))
            return self._run(encode, deliver, False)

    def _run(self, encode: EncodeTask, deliver: DeliverTask, checks_length: bool) -> dict[Target, TaskResult]:
        if getattr(deliver.sink, "in_process", False):
            chunks = self._mapped(encode, CHUNK_SCHEMA, checks_length=checks_length)
            return read_results(deliver(iter(to_arrow(chunks).to_batches())))
        with chunk_folder(self.session) as folder:
            encode, deliver = replace(encode, folder=folder), replace(deliver, folder=folder)
            return read_results(to_arrow(self._delivered(encode, deliver, RESULT_SCHEMA, checks_length=checks_length)))

    def messages(self, encode: EncodeTask, deliver: DeliverTask) -> DataFrame:
        """Return the messages that tasks without a sink make of the rows."""
        return self._delivered(encode, deliver, MESSAGE_SCHEMA)

    def _delivered(
        self, encode: EncodeTask, deliver: DeliverTask, schema: pa.Schema, *, checks_length: bool = False
    ) -> DataFrame:
        count = self._bucket_count(encode.plan)
        encode = replace(encode, buckets=Buckets(encode.plan.targets, count))
        segments = self._mapped(encode, SEGMENT_SCHEMA, split_chunks, checks_length=checks_length)
        parted = repartition_by_id(segments, count, "bucket")
        return parted.mapInArrow(in_worker(join_chunks, deliver), spark_columns(schema))

    def _mapped(self, task: EncodeTask, schema: pa.Schema, *after: Step, checks_length: bool = False) -> DataFrame:
        jobs = []
        for name, df in self._frames.items():
            table = typed_table(df.columns, name, task.plan)
            rows = change_columns(without_ddl(df), "the changefeed" if table is None else ".".join(table))
            work = in_worker(task.of_table(table), *after)
            jobs.append((refuse_long_rows(rows) if checks_length else rows).mapInArrow(work, spark_columns(schema)))
        return balanced_reduce(lambda one, other: one.union(other), jobs)

    def _bucket_count(self, plan: Plan) -> int:
        """Return the number of delivering tasks: more than a few per core cost more than they bring."""
        most = int(self.session.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        context = getattr(self.session, "sparkContext", None)
        if context is not None and not conf_is_true(self.session, "spark.dynamicAllocation.enabled"):
            most = min(most, _TASKS_PER_CORE * context.defaultParallelism)
        return max(1, min(len(plan.targets), most))


def table_versions(plan: Plan, table: str | None) -> list[TableInfo]:
    """Return the versions of a table; ``None``: of the only one."""
    known = [key for key, planned in plan.tables.items() if any(planned.encoders)]
    return [encoder.table for encoder in plan.table(*schema_and_name(table, known)).encoders if encoder is not None]


def check_changes(schema: StructType, table: tuple[str, str] | None, plan: Plan) -> None:
    """Raise an error if a DataFrame of this schema cannot be row changes: of ``table``, if it is typed."""
    where = "the changefeed" if table is None else ".".join(table)
    check_columns(schema.names, where)
    planned = None if table is None else plan.table(*table)
    images = variants_checked(schema, () if planned is None else planned.versions, where)
    if planned is not None and (rows := _no_rows(images)) is not None:
        check_images(rows, planned, plan.rendering)


def _no_rows(schema: StructType) -> pa.RecordBatch | None:
    try:
        from pyspark.sql.pandas.types import to_arrow_schema

        types = to_arrow_schema(schema)
        return pa.record_batch([pa.nulls(0, field.type) for field in types], types)
    except Exception:  # not a public function; it raises its own errors for types that Arrow lacks
        return None


def spark_columns(schema: pa.Schema) -> str:
    return ", ".join(f"`{each.name}` {_KINDS[each.type]}" for each in schema)
