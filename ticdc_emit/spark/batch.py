"""DataFrames as a batch of a changefeed (``changefeed.batch.Batch``).

In: a DataFrame of row changes in a public form (``changes.forms``), or a typed one for each of many tables, with or
without DDL rows. Out: what PLAN must know of it, and the changefeed's two tasks run over it in one Spark job: rows are
encoded where they are, chunks of messages are shuffled, and each delivering task has whole topic-partitions. The
shuffle is the barrier: nothing is sent before every row is encoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ticdc_emit.changefeed.batch import ddl_statement, null_in_ddl, typed_table
from ticdc_emit.changefeed.count_task import COUNT_SCHEMA, CountTask
from ticdc_emit.changefeed.deliver_task import DeliverTask
from ticdc_emit.changefeed.encode_task import EncodeTask
from ticdc_emit.changefeed.results import RESULT_SCHEMA, TaskResult, read_results
from ticdc_emit.changefeed.state import DdlStatement
from ticdc_emit.changes.forms import DDL_OP, check_columns
from ticdc_emit.delivery.contract import MESSAGE_SCHEMA
from ticdc_emit.delivery.memory import MemorySink
from ticdc_emit.encode.chunks import CHUNK_SCHEMA, Buckets
from ticdc_emit.encode.fit import check_images
from ticdc_emit.errors import ConfigError
from ticdc_emit.plan.tables import Plan
from ticdc_emit.routing.topic import Target
from ticdc_emit.schedule.bootstrap_replay import CountedRows
from ticdc_emit.spark.frame import change_columns, commit_ts_column, without_ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["SparkBatch", "check_changes", "spark_columns"]

_KINDS = {pa.string(): "string", pa.int32(): "int", pa.int64(): "long", pa.binary(): "binary"}


class SparkBatch:
    """``changes``: one DataFrame, or several typed ones by the ``schema.name`` of their tables.

    ``table``: ``schema.name`` of one typed DataFrame, needed if the plan has several tables.
    """

    def __init__(self, changes: DataFrame | Mapping[str, DataFrame], table: str | None) -> None:
        self._frames: Mapping[Any, DataFrame] = changes if isinstance(changes, Mapping) else {table: changes}
        if not self._frames:
            raise ConfigError("there is no DataFrame", remedy="Give one DataFrame for each table", option="changes")
        self.session: SparkSession = next(iter(self._frames.values())).sparkSession
        if self.session.conf.get("spark.speculation", "false") == "true":
            raise ConfigError(
                "spark.speculation would send a task's messages twice",
                remedy="Set spark.speculation=false",
                option="spark.speculation",
            )

    def ddl_rows(self, database: str) -> list[DdlStatement]:
        """Collect the rows with ``op = 'ddl'`` and a ``query``; their current database is their ``schema``, if any."""
        return sorted(row for df in self._frames.values() for row in _ddl_rows(df, database))

    def check(self, plan: Plan) -> None:
        """Check columns and their types; no Spark job. Names of tables in rows would need a pass over them."""
        for name, df in self._frames.items():
            check_changes(df.schema, typed_table(df.columns, name, plan), plan)

    def tables(self, plan: Plan) -> list[tuple[str, str]]:
        """Return the tables of the rows; for the generic form one small pass over two columns."""
        return sorted({key for name, df in self._frames.items() for key in _tables(df, name, plan)})

    def count_rows(self, task: CountTask) -> list[CountedRows]:
        """Count rows where they are."""
        return task.read(self._mapped(task, COUNT_SCHEMA).toArrow())

    def run(self, encode: EncodeTask, deliver: DeliverTask) -> dict[Target, TaskResult]:
        """Run both tasks in Spark; deliver to a store that lives in this process from here."""
        if isinstance(deliver.sink, MemorySink):
            return read_results(deliver(iter(self._mapped(encode, CHUNK_SCHEMA).toArrow().to_batches())))
        return read_results(self._delivered(encode, deliver, RESULT_SCHEMA).toArrow())

    def messages(self, encode: EncodeTask, deliver: DeliverTask) -> DataFrame:
        """Return the messages that tasks without a sink make of the rows."""
        return self._delivered(encode, deliver, MESSAGE_SCHEMA)

    def _delivered(self, encode: EncodeTask, deliver: DeliverTask, schema: pa.Schema) -> DataFrame:
        count = self._bucket_count(encode.plan)
        encode = replace(encode, buckets=Buckets(encode.plan.targets, count))
        chunks = self._mapped(encode, CHUNK_SCHEMA)
        return chunks.repartitionById(count, "bucket").mapInArrow(
            lambda batches: deliver(batches), spark_columns(schema)
        )

    def _mapped(self, task: EncodeTask | CountTask, schema: pa.Schema) -> DataFrame:
        """Return what a task gives for the rows of every DataFrame, each where it is."""
        made = (self._of_one(task, *each, schema) for each in self._frames.items())
        return reduce(lambda one, other: one.union(other), made)

    def _of_one(self, task: EncodeTask | CountTask, name: str | None, df: DataFrame, schema: pa.Schema) -> DataFrame:
        table = typed_table(df.columns, name, task.plan)
        own = replace(task, table=table, plan=task.plan if table is None else task.plan.of_table(*table))
        rows = change_columns(without_ddl(df), "the changefeed" if table is None else ".".join(table))
        return rows.mapInArrow(lambda batches: own(batches), spark_columns(schema))

    def _bucket_count(self, plan: Plan) -> int:
        """Return how many tasks deliver: one for each topic-partition, up to what Spark shuffles to."""
        most = int(self.session.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        return max(1, min(len(plan.targets), most))


def check_changes(schema: StructType, table: tuple[str, str] | None, plan: Plan) -> None:
    """Raise the error of a DataFrame of this schema that cannot be row changes: of ``table``, if it is typed."""
    check_columns(schema.names, "the changefeed" if table is None else ".".join(table))
    if table is None:
        return
    images = [field for field in schema if field.name in ("before", "after")]
    rows = _no_rows(type(schema)(images))
    if rows is not None:
        check_images(rows, plan.table(*table), plan.rendering)


def _no_rows(schema: StructType) -> pa.RecordBatch | None:
    """Return no rows of the types in which Spark hands them to a worker; ``None`` where only Spark can tell these."""
    try:
        from pyspark.sql.pandas.types import to_arrow_schema

        types = to_arrow_schema(schema)
        return pa.record_batch([pa.nulls(0, field.type) for field in types], types)
    except Exception:  # not a public function, and of types that Arrow does not have it raises its own errors
        return None


def spark_columns(schema: pa.Schema) -> str:
    """Return the columns of an Arrow schema in the words of Spark's DDL."""
    return ", ".join(f"`{each.name}` {_KINDS[each.type]}" for each in schema)


def _ddl_rows(df: DataFrame, database: str) -> list[DdlStatement]:
    if "query" not in df.columns:
        return []
    from pyspark.sql import functions as F  # noqa: N812

    schema = F.col("schema") if "schema" in df.columns else F.lit(None).cast("string")
    rows = df.filter(F.lower("op") == F.lit(DDL_OP)).select(commit_ts_column(df), schema, "query").collect()
    time = "commit_ts" if "commit_ts" in df.columns else "commit_time"
    for commit_ts, _, query in rows:
        if commit_ts is None or query is None:
            raise null_in_ddl(time if commit_ts is None else "query", commit_ts, query)
    return [ddl_statement(commit_ts, schema, query, database) for commit_ts, schema, query in rows]


def _tables(df: DataFrame, name: str | None, plan: Plan) -> list[tuple[str, str]]:
    table = typed_table(df.columns, name, plan)
    if table is not None:
        return [table]
    rows = without_ddl(df).select("schema", "table").distinct().collect()
    return [(schema, name) for schema, name in rows if schema is not None and name is not None]
