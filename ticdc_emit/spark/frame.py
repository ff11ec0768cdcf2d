"""DataFrames of row changes, routed and put in total order: what the worker stage takes.

Two public forms (design: one DataFrame per table, or one for all):

* **typed**: ``op``, ``commit_ts`` (TSO) or ``commit_time`` (timestamp), optional ``seq`` and what
``encode.attributes`` lists, structs ``before`` and ``after``;
* **generic**: the same with ``schema`` and ``table`` columns, and images as ``map<string, string>`` of canonical text.

Rows are shuffled by topic-partition and sorted by (commit_ts, table, seq, key) as ``encode.order`` says; nothing is
collected or cached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.encode.attributes import ATTRIBUTES
from ticdc_emit.encode.plan import Plan, TablePlan
from ticdc_emit.errors import MissingColumnError, UnsupportedTypeError
from ticdc_emit.schema.model import Column as TableColumn
from ticdc_emit.schema.types import INTEGER_TYPES
from ticdc_emit.tso import LOGICAL_BITS, LOGICAL_PER_MICROSECOND

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["DDL_OP", "arrange_generic", "arrange_typed", "commit_ts_column", "is_generic", "without_ddl"]

DDL_OP = "ddl"
_INTEGER, _OTHER = "i", "t"


def is_generic(df: DataFrame) -> bool:
    """Return whether the DataFrame is in the generic form."""
    return {"schema", "table"} <= set(df.columns)


def without_ddl(df: DataFrame) -> DataFrame:
    """Return the row changes of a DataFrame that may hold DDL rows (``op = 'ddl'`` with ``query``)."""
    from pyspark.sql import functions as F  # noqa: N812

    return df.filter(~F.lower("op").eqNullSafe(DDL_OP)) if "query" in df.columns else df


def arrange_typed(df: DataFrame, table: TablePlan) -> DataFrame:
    """Return one table's changes in total order, in one Spark partition (they all go to one topic-partition)."""
    columns = _change_columns(df, f"{table.schema}.{table.name}")
    keys = _typed_keys(df, table)
    return df.repartition(1).sortWithinPartitions(*_by_time(df), *keys).select(*columns)


def arrange_generic(df: DataFrame, plan: Plan) -> DataFrame:
    """Return many tables' changes, shuffled by topic-partition and sorted."""
    from pyspark.sql import functions as F  # noqa: N812

    changes = _change_columns(df, "the changefeed")
    topic = plan.router.default_topic
    routed = df.withColumn(
        "_partition", (F.crc32(F.concat("schema", "table")) % F.lit(plan.router.partitions[topic])).cast("int")
    )
    keyed = routed.join(F.broadcast(_key_names(df, plan)), on=["schema", "table"], how="left")
    images = [F.col(name) for name in ("after", "before") if name in df.columns]

    def key(marked: Column) -> Column:
        name = F.substring(marked, 2, 1 << 20)
        text = F.coalesce(*(F.try_element_at(image, name) for image in images))
        return F.when(marked.startswith(_INTEGER), _sortable_integer(text)).otherwise(text)

    columns = [F.col("schema").alias("_schema"), F.col("table").alias("_table"), F.col("_partition")]
    time, *rest = _by_time(df)
    return (
        keyed.withColumn("_key", F.transform("_key_names", key))
        .repartition("_partition")
        .sortWithinPartitions("_partition", time, "schema", "table", *rest, "_key")
        .select(*columns, *changes)
    )


def _sortable_integer(text: Column) -> Column:
    """Return text that sorts as the integer that ``text`` writes; any other text as it is."""
    from pyspark.sql import functions as F  # noqa: N812

    mirrored = F.translate(F.lpad(F.substring(text, 2, 20), 20, "0"), "0123456789", "9876543210")
    return (
        F.when(text.rlike("^[0-9]{1,20}$"), F.concat(F.lit("1"), F.lpad(text, 20, "0")))
        .when(text.rlike("^-[0-9]{1,20}$"), F.concat(F.lit("0"), mirrored))
        .otherwise(text)
    )


def _key_names(df: DataFrame, plan: Plan) -> DataFrame:
    rows = [
        (schema, name, [_marked(column) for column in table.order_columns])
        for (schema, name), table in plan.tables.items()
        if any(table.encoders)
    ]
    return df.sparkSession.createDataFrame(rows, "schema string, table string, _key_names array<string>")


def _marked(column: TableColumn) -> str:
    return (_INTEGER if column.type in INTEGER_TYPES else _OTHER) + column.name


def _by_time(df: DataFrame) -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812

    return [commit_ts_column(df), *([F.col("seq")] if "seq" in df.columns else [])]


def commit_ts_column(df: DataFrame) -> Column:
    """Return the TSO column; from ``commit_time`` as ``tso.tso_from_micros`` does it."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import DecimalType, IntegralType

    if "commit_ts" in df.columns:
        kind = df.schema["commit_ts"].dataType
        if not isinstance(kind, IntegralType | DecimalType):
            raise UnsupportedTypeError(
                f"commit_ts is {kind.simpleString()}, not a whole number",
                remedy="Give commit_ts as long, or commit_time as timestamp",
                column="commit_ts",
            )
        return F.col("commit_ts").cast("long")
    if "commit_time" not in df.columns:
        raise MissingColumnError(
            "the changes have neither commit_ts nor commit_time",
            remedy="Add commit_ts (TSO, long) or commit_time (timestamp)",
            column="commit_ts",
        )
    micros = F.unix_micros(F.col("commit_time").cast("timestamp"))
    physical = F.floor(micros / F.lit(1000)).cast("long")
    return physical * F.lit(1 << LOGICAL_BITS) + (micros - physical * F.lit(1000)) * F.lit(LOGICAL_PER_MICROSECOND)


def _change_columns(df: DataFrame, where: str) -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812

    if "op" not in df.columns:
        raise MissingColumnError("the changes have no op", remedy="Add op: c, u or d", table=where, column="op")
    given = [name for name in ("before", "after") if name in df.columns]
    if not given:
        raise MissingColumnError("the changes have neither before nor after", table=where, column="after")
    seq = [F.col("seq").cast("long").alias("seq")] if "seq" in df.columns else []
    known = [F.col(name) for name in ATTRIBUTES if name in df.columns]
    return [F.col("op"), commit_ts_column(df).alias("commit_ts"), *seq, *known, *(F.col(name) for name in given)]


def _typed_keys(df: DataFrame, table: TablePlan) -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import MapType, StructType

    kinds = {field.name: field.dataType for field in df.schema.fields if field.name in ("after", "before")}
    keys = []
    for column in table.order_columns:
        images = []
        for name in ("after", "before"):
            kind = kinds.get(name)
            if isinstance(kind, StructType) and column.name in kind.names:
                images.append(F.col(name)[column.name])
            elif isinstance(kind, MapType):
                text = F.try_element_at(name, F.lit(column.name))
                images.append(_sortable_integer(text) if column.type in INTEGER_TYPES else text)
        if images:
            keys.append(F.coalesce(*images))
    return keys
