"""DataFrames as a batch of a changefeed (``pipeline.batch.Batch``).

In: a DataFrame of row changes in a public form (``changes.arrow_input``), or a typed one for each of many tables, with or
without DDL rows. Out: the facts that PLAN needs, and the changefeed's two tasks run over the rows in one Spark job:
rows are encoded where they are, chunks of messages are shuffled, and each delivering task has whole topic-partitions.
The shuffle is the barrier: nothing is sent before every row is encoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ticdc_emit.changes.arrow_input import check_columns, is_generic
from ticdc_emit.delivery.contract import MESSAGE_SCHEMA
from ticdc_emit.delivery.memory_sink import MemorySink
from ticdc_emit.errors import ConfigError
from ticdc_emit.pipeline.batch import typed_table
from ticdc_emit.pipeline.chunks import CHUNK_SCHEMA, Buckets
from ticdc_emit.pipeline.deliver_task import DeliverTask
from ticdc_emit.pipeline.encode import check_images
from ticdc_emit.pipeline.encode_task import EncodeTask
from ticdc_emit.pipeline.plan import Plan
from ticdc_emit.pipeline.results import RESULT_SCHEMA, TaskResult, read_results
from ticdc_emit.pipeline.state import DdlStatement
from ticdc_emit.routing.topic import Target
from ticdc_emit.spark.chunk_folder import chunk_folder
from ticdc_emit.spark.frame import change_columns, in_pairs, without_ddl
from ticdc_emit.spark.micro_batch import compiled_once
from ticdc_emit.spark.row_tally import tally_folder
from ticdc_emit.spark.segments import SEGMENT_SCHEMA, in_segments, rejoined
from ticdc_emit.spark.session import is_on
from ticdc_emit.spark.short_rows import RowLengths, are_short, refusing_long
from ticdc_emit.spark.survey import Survey, named_tables
from ticdc_emit.spark.worker import Step, in_worker
from ticdc_emit.spark.worker_errors import missing_packages_named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["SparkBatch", "check_changes", "spark_columns"]

_TASKS_PER_CORE = 4
_KINDS = {pa.string(): "string", pa.int32(): "int", pa.int64(): "long", pa.binary(): "binary"}


class SparkBatch:
    """``changes``: one DataFrame, or several typed ones by the ``schema.name`` of their tables.

    ``table``: ``schema.name`` of one typed DataFrame, needed if the plan has several tables. ``lengths``: what earlier
    batches of the same sink have shown of their rows.
    """

    def __init__(
        self, changes: DataFrame | Mapping[str, DataFrame], table: str | None, lengths: RowLengths | None = None
    ) -> None:
        self._frames: Mapping[Any, DataFrame] = changes if isinstance(changes, Mapping) else {table: changes}
        if not self._frames:
            raise ConfigError("no DataFrame was given", remedy="Give one DataFrame for each table", option="changes")
        self.session: SparkSession = next(iter(self._frames.values())).sparkSession
        if is_on(self.session, "spark.speculation"):
            raise ConfigError(
                "spark.speculation would send a task's messages twice",
                remedy="Set spark.speculation=false",
                option="spark.speculation",
            )
        self._lengths = lengths or RowLengths()
        self._named: list[tuple[str, str]] | None = None

    def ddl_rows(self, database: str, *, names_tables: bool = False) -> list[DdlStatement]:
        """Collect the rows with ``op = 'ddl'`` and a ``query``; their current database is their ``schema``, if any.

        If a column ``query`` makes this a job, the job also finds the tables of generic rows, with ``names_tables``.
        """
        frames = [df for df in self._frames.values() if "query" in df.columns]
        if not frames:
            return []
        named = self._generic() if names_tables else []
        survey = Survey(frames, named=named)
        self._named = survey.tables() if named else None
        return survey.ddl(database)

    def check(self, plan: Plan) -> None:
        """Check columns and their types; no Spark job. Names of tables in rows would need a pass over them."""
        for name, df in self._frames.items():
            check_changes(df.schema, typed_table(df.columns, name, plan), plan)

    def tables(self, plan: Plan) -> list[tuple[str, str]]:
        """Return the tables of the rows; for the generic form one small pass over two columns."""
        typed = [typed_table(df.columns, name, plan) for name, df in self._frames.items()]
        if self._named is None:
            self._named = [(row[0], row[1]) for df in self._generic() for row in named_tables(df).collect()]
        return sorted({*self._named, *(key for key in typed if key is not None)})

    def _generic(self) -> list[DataFrame]:
        return [df for df in self._frames.values() if is_generic(df.columns)]

    def run(self, encode: EncodeTask, deliver: DeliverTask) -> dict[Target, TaskResult]:
        """Run both tasks in Spark; deliver from this process if the store is in it.

        Raises :class:`~ticdc_emit.errors.MissingDependencyError` if an executor's Python lacks a package.
        """
        with missing_packages_named(), compiled_once(self.session):
            if self._are_short(encode.plan):
                return self._lengths.run(self.session, partial(self._run, encode, deliver))
            return self._run(encode, deliver, checks_length=False)

    def _run(self, encode: EncodeTask, deliver: DeliverTask, *, checks_length: bool) -> dict[Target, TaskResult]:
        if isinstance(deliver.sink, MemorySink):
            chunks = self._mapped(encode, CHUNK_SCHEMA, checks_length=checks_length)
            return read_results(deliver(iter(chunks.toArrow().to_batches())))
        with chunk_folder(self.session) as folder:
            encode, deliver = replace(encode, folder=folder), replace(deliver, folder=folder)
            return read_results(self._delivered(encode, deliver, RESULT_SCHEMA, checks_length=checks_length).toArrow())

    def messages(self, encode: EncodeTask, deliver: DeliverTask) -> DataFrame:
        """Return the messages that tasks without a sink make of the rows."""
        return self._delivered(encode, deliver, MESSAGE_SCHEMA)

    def _delivered(
        self, encode: EncodeTask, deliver: DeliverTask, schema: pa.Schema, *, checks_length: bool = False
    ) -> DataFrame:
        count = self._bucket_count(encode.plan)
        encode = replace(encode, buckets=Buckets(encode.plan.targets, count))
        segments = self._mapped(encode, SEGMENT_SCHEMA, in_segments, checks_length=checks_length)
        return segments.repartitionById(count, "bucket").mapInArrow(in_worker(rejoined, deliver), spark_columns(schema))

    def _mapped(self, task: EncodeTask, schema: pa.Schema, *after: Step, checks_length: bool = False) -> DataFrame:
        """Return the output of a task, and of steps after it, for the rows of every DataFrame, run where the rows are.

        ``checks_length``: whether the job fails at a long row.
        """
        made, tally = [], tally_folder(self.session)
        for name, df in self._frames.items():
            table = typed_table(df.columns, name, task.plan)
            own = replace(task, table=table, plan=task.plan if table is None else task.plan.of_table(*table))
            rows = change_columns(without_ddl(df), "the changefeed" if table is None else ".".join(table))
            work = in_worker(own, *after, tally=tally)
            made.append((refusing_long(rows) if checks_length else rows).mapInArrow(work, spark_columns(schema)))
        return in_pairs(lambda one, other: one.union(other), made)

    def _are_short(self, plan: Plan) -> bool:
        """Return whether all rows are short, as far as the types of their columns tell."""
        tables = [(df, typed_table(df.columns, name, plan)) for name, df in self._frames.items()]
        return all(key is not None and are_short(df, plan.table(*key).versions) for df, key in tables)

    def _bucket_count(self, plan: Plan) -> int:
        """Return the number of delivering tasks: one per topic-partition, limited by Spark's shuffle partitions and to
        a few per core.

        A task costs about as much as a thousand messages, so more than a few per core do not pay. With dynamic
        allocation, and over Spark Connect, the number of cores is unknown.
        """
        most = int(self.session.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        context = getattr(self.session, "sparkContext", None)
        if context is not None and not is_on(self.session, "spark.dynamicAllocation.enabled"):
            most = min(most, _TASKS_PER_CORE * context.defaultParallelism)
        return max(1, min(len(plan.targets), most))


def check_changes(schema: StructType, table: tuple[str, str] | None, plan: Plan) -> None:
    """Raise an error if a DataFrame of this schema cannot be row changes: of ``table``, if it is typed."""
    check_columns(schema.names, "the changefeed" if table is None else ".".join(table))
    if table is None:
        return
    images = [field for field in schema if field.name in ("before", "after")]
    rows = _no_rows(type(schema)(images))
    if rows is not None:
        check_images(rows, plan.table(*table), plan.rendering)


def _no_rows(schema: StructType) -> pa.RecordBatch | None:
    """Return an empty batch with the types that a worker gets from Spark; ``None`` if only Spark knows them."""
    try:
        from pyspark.sql.pandas.types import to_arrow_schema

        types = to_arrow_schema(schema)
        return pa.record_batch([pa.nulls(0, field.type) for field in types], types)
    except Exception:  # not a public function; it raises its own errors for types that Arrow lacks
        return None


def spark_columns(schema: pa.Schema) -> str:
    """Return the columns of an Arrow schema as Spark DDL."""
    return ", ".join(f"`{each.name}` {_KINDS[each.type]}" for each in schema)
