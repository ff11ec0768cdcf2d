"""DataFrames of row changes, routed and put in total order: what the worker stage takes.

Two public forms (design: one DataFrame per table, or one for all):

* **typed**: ``op``, ``commit_ts`` (TSO) or ``commit_time`` (timestamp), optional ``seq``, ``before`` and ``after``
structs;
* **generic**: the same with ``schema`` and ``table`` columns, and images as ``map<string, string>`` of canonical text.

Rows are shuffled by topic-partition and sorted by (commit_ts, table, seq, handle key); nothing is collected or cached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.encode.plan import Plan, TablePlan
from ticdc_emit.errors import MissingColumnError
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import LOGICAL_BITS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["DDL_OP", "arrange_generic", "arrange_typed", "commit_ts_column", "is_generic", "without_ddl"]

DDL_OP = "ddl"
_LOGICAL_PER_MICROSECOND = 262  # 999 of them stay below the 2**18 of a millisecond


def is_generic(df: DataFrame) -> bool:
    """Return whether the DataFrame is in the generic form."""
    return {"schema", "table"} <= set(df.columns)


def without_ddl(df: DataFrame) -> DataFrame:
    """Return the row changes of a DataFrame that may hold DDL rows (``op = 'ddl'`` with ``query``)."""
    from pyspark.sql import functions as F  # noqa: N812

    return df.filter(F.lower("op") != F.lit(DDL_OP)) if "query" in df.columns else df


def arrange_typed(df: DataFrame, table: TablePlan) -> DataFrame:
    """Return one table's changes in total order, in one Spark partition (they all go to one topic-partition)."""
    columns = _change_columns(df, f"{table.schema}.{table.name}")
    keys = _typed_keys(df, table.newest)
    return df.repartition(1).sortWithinPartitions(*_by_time(df), *keys).select(*columns)


def arrange_generic(df: DataFrame, plan: Plan) -> DataFrame:
    """Return many tables' changes, shuffled by topic-partition and sorted."""
    from pyspark.sql import functions as F  # noqa: N812

    topic = plan.router.default_topic
    routed = df.withColumn(
        "_partition", (F.crc32(F.concat("schema", "table")) % F.lit(plan.router.partitions[topic])).cast("int")
    )
    keyed = routed.join(F.broadcast(_key_names(df, plan)), on=["schema", "table"], how="left")
    images = [F.col(name) for name in ("after", "before") if name in df.columns]
    values = F.transform("_key_names", lambda name: F.coalesce(*(F.try_element_at(image, name) for image in images)))
    padded = F.transform(
        values, lambda text: F.when(text.rlike("^[0-9]{1,20}$"), F.lpad(text, 20, "0")).otherwise(text)
    )
    columns = [F.col("schema").alias("_schema"), F.col("table").alias("_table"), F.col("_partition")]
    time, *rest = _by_time(df)
    return (
        keyed.withColumn("_key", padded)
        .repartition("_partition")
        .sortWithinPartitions("_partition", time, "schema", "table", *rest, "_key")
        .select(*columns, *_change_columns(df, "the changefeed"))
    )


def _key_names(df: DataFrame, plan: Plan) -> DataFrame:
    rows = [
        (schema, name, [column.name for column in table.newest.handle_key])
        for (schema, name), table in plan.tables.items()
        if any(table.encoders)
    ]
    return df.sparkSession.createDataFrame(rows, "schema string, table string, _key_names array<string>")


def _by_time(df: DataFrame) -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812

    return [commit_ts_column(df), *([F.col("seq")] if "seq" in df.columns else [])]


def commit_ts_column(df: DataFrame) -> Column:
    """Return the TSO column; from ``commit_time``, microseconds go into the logical part, so that order is kept."""
    from pyspark.sql import functions as F  # noqa: N812

    if "commit_ts" in df.columns:
        return F.col("commit_ts").cast("long")
    if "commit_time" not in df.columns:
        raise MissingColumnError(
            "the changes have neither commit_ts nor commit_time",
            remedy="Add commit_ts (TSO, long) or commit_time (timestamp)",
            column="commit_ts",
        )
    micros = F.unix_micros(F.col("commit_time").cast("timestamp"))
    physical = F.floor(micros / F.lit(1000)).cast("long")
    return physical * F.lit(1 << LOGICAL_BITS) + (micros - physical * F.lit(1000)) * F.lit(_LOGICAL_PER_MICROSECOND)


def _change_columns(df: DataFrame, where: str) -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812

    if "op" not in df.columns:
        raise MissingColumnError("the changes have no op", remedy="Add op: c, u or d", table=where, column="op")
    given = [name for name in ("before", "after") if name in df.columns]
    if not given:
        raise MissingColumnError("the changes have neither before nor after", table=where, column="after")
    seq = [F.col("seq").cast("long").alias("seq")] if "seq" in df.columns else []
    return [F.col("op"), commit_ts_column(df).alias("commit_ts"), *seq, *(F.col(name) for name in given)]


def _typed_keys(df: DataFrame, info: TableInfo) -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StructType

    fields = {field.name: field.dataType for field in df.schema.fields}
    keys = []
    for column in info.handle_key:
        images = []
        for name in ("after", "before"):
            kind = fields.get(name)
            if isinstance(kind, StructType) and column.name in kind.names:
                images.append(F.col(name)[column.name])
        if images:
            keys.append(F.coalesce(*images))
    return keys
