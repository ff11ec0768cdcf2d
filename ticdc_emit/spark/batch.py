"""A DataFrame as a batch of a changefeed (``changefeed.batch.Batch``): each question is one Spark job over few columns.

In: a DataFrame of row changes in a public form (``spark.frame``), with or without DDL rows. Out: what PLAN must know of
it, and the worker stage run over it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from ticdc_emit.changefeed.arrow_batch import check_columns
from ticdc_emit.changefeed.batch import DDL_OP, ddl_statement, null_in_ddl
from ticdc_emit.changefeed.state import DdlStatement
from ticdc_emit.changefeed.worker import RESULT_SCHEMA, Task, TaskResult, read_results
from ticdc_emit.delivery.memory import MemorySink
from ticdc_emit.encode.fit import check_images
from ticdc_emit.encoder import split_name
from ticdc_emit.errors import ConfigError
from ticdc_emit.plan.tables import Plan
from ticdc_emit.routing.topic import Target
from ticdc_emit.schedule.bootstrap_replay import CountedRows
from ticdc_emit.spark.frame import (
    arrange_generic,
    arrange_typed,
    commit_ts_column,
    only_replicated,
    without_ddl,
)
from ticdc_emit.spark.survey import count_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["SparkBatch", "check_changes", "typed_table"]

_KINDS = {pa.string(): "string", pa.int32(): "int", pa.int64(): "long", pa.binary(): "binary"}
_RESULT_DDL = ", ".join(f"{each.name} {_KINDS[each.type]}" for each in RESULT_SCHEMA)
_MESSAGE_DDL = "topic string, partition int, key binary, value binary, commit_ts long"


class SparkBatch:
    """``table``: ``schema.name`` of a typed DataFrame, needed if the plan has several tables."""

    def __init__(self, df: DataFrame, table: str | None) -> None:
        if df.sparkSession.conf.get("spark.speculation", "false") == "true":
            raise ConfigError(
                "spark.speculation would send a task's messages twice",
                remedy="Set spark.speculation=false",
                option="spark.speculation",
            )
        self._df = df
        self._rows = without_ddl(df)
        self._table = table

    def ddl_rows(self, database: str) -> list[DdlStatement]:
        """Collect the rows with ``op = 'ddl'`` and a ``query``; their current database is their ``schema``, if any."""
        df = self._df
        if "query" not in df.columns:
            return []
        from pyspark.sql import functions as F  # noqa: N812

        schema = F.col("schema") if "schema" in df.columns else F.lit(None).cast("string")
        rows = df.filter(F.lower("op") == F.lit(DDL_OP)).select(commit_ts_column(df), schema, "query").collect()
        time = "commit_ts" if "commit_ts" in df.columns else "commit_time"
        for commit_ts, _, query in rows:
            if commit_ts is None or query is None:
                raise null_in_ddl(time if commit_ts is None else "query", commit_ts, query)
        return sorted(ddl_statement(commit_ts, schema, query, database) for commit_ts, schema, query in rows)

    def table_of(self, plan: Plan) -> tuple[str, str] | None:
        """Return whose changes a DataFrame in the typed form holds, ``None`` for the generic form."""
        return typed_table(self._df.columns, self._table, plan)

    def check(self, plan: Plan) -> None:
        """Check columns and their types; no Spark job. Names of tables in rows would need a pass over them."""
        check_changes(self._df.schema, self.table_of(plan), plan)

    def tables(self, plan: Plan) -> list[tuple[str, str]]:
        """Return the tables of the rows; for the generic form one small pass over two columns."""
        table = self.table_of(plan)
        if table is not None:
            return [table]
        rows = self._rows.select("schema", "table").distinct().collect()
        return sorted((schema, name) for schema, name in rows if schema is not None and name is not None)

    def count_rows(self, plan: Plan, tick_ms: int, late_until: int | None) -> list[CountedRows]:
        """Count rows by one aggregation (``spark.survey``)."""
        table = self.table_of(plan)
        rows = self._rows if table is not None else only_replicated(self._rows, plan)
        return count_rows(rows, plan, table, tick_ms, late_until)

    def run(self, task: Task) -> dict[Target, TaskResult]:
        """Run the worker stage in Spark; for a store that lives in this process, here."""
        arranged = self._arranged(task)
        if isinstance(task.sink, MemorySink):
            batches = _nullable(arranged).toArrow().combine_chunks().to_batches()
            return read_results(pa.Table.from_batches(list(task(iter(batches))), schema=RESULT_SCHEMA))
        return read_results(arranged.mapInArrow(lambda batches: task(batches), _RESULT_DDL).toArrow())

    def messages(self, task: Task) -> DataFrame:
        """Return the messages that a task without a sink makes of the rows."""
        return self._arranged(task).mapInArrow(lambda batches: task(batches), _MESSAGE_DDL)

    def _arranged(self, task: Task) -> DataFrame:
        if task.table is None:
            return arrange_generic(only_replicated(self._rows, task.plan), task.plan)
        return arrange_typed(self._rows, task.plan, task.plan.table(*task.table))


def typed_table(columns: Sequence[str], table: str | None, plan: Plan) -> tuple[str, str] | None:
    """Return whose changes rows with these columns are: ``table``, or the only one; ``None`` for the generic form."""
    if {"schema", "table"} <= set(columns):
        return None
    return split_name(table, [key for key, planned in plan.tables.items() if any(planned.encoders)])


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


def _nullable(df: DataFrame) -> DataFrame:
    """Return the rows with NULL allowed everywhere: the image that is not there is NULL, whatever its columns are."""
    from pyspark.sql.types import StructType

    text = df.schema.json()
    for name in ("nullable", "containsNull", "valueContainsNull"):
        text = text.replace(f'"{name}":false', f'"{name}":true')
    return df.to(StructType.fromJson(json.loads(text)))
