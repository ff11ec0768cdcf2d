"""DataFrames of row changes, routed and put in total order: what the worker stage takes.

Two public forms (design: one DataFrame per table, or one for all):

* **typed**: ``op``, ``commit_ts`` (TSO) or ``commit_time`` (timestamp), optional ``seq`` and what
``changes.attributes`` lists, structs ``before`` and ``after``;
* **generic**: the same with ``schema`` and ``table`` columns, and images as ``map<string, string>`` of canonical text.

Updates of keys are split (``spark.splitting``), rows are shuffled by topic-partition (``spark.routing``) and sorted in
the total order of ``arrange.order``; nothing is collected or cached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.arrange.dispatch import hashed_names
from ticdc_emit.arrange.transactions import HALF, TRANSACTION
from ticdc_emit.changefeed.batch import DDL_OP
from ticdc_emit.changes.attributes import ATTRIBUTES
from ticdc_emit.encode.blocks import PARTITION
from ticdc_emit.errors import MissingColumnError, UnsupportedTypeError
from ticdc_emit.plan.tables import Plan, TablePlan
from ticdc_emit.schema.model import Column as TableColumn
from ticdc_emit.schema.types import INTEGER_TYPES, MySQLType
from ticdc_emit.spark.routing import partition_of_generic, partition_of_typed
from ticdc_emit.spark.splitting import (
    changed_entries,
    changed_fields,
    image_of,
    is_delete,
    is_split,
    key_columns_of,
    marked_names,
    rank,
    with_halves,
)
from ticdc_emit.tso import LOGICAL_BITS, LOGICAL_PER_MICROSECOND

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

__all__ = [
    "SPLIT_COUNT",
    "arrange_generic",
    "arrange_typed",
    "commit_ts_column",
    "is_generic",
    "only_replicated",
    "with_split_counts",
    "without_ddl",
]

SPLIT_COUNT = "_count"

# how the values of a key column, given as text, compare
_NUMBER, _FLOAT, _DOUBLE, _OTHER = "n", "f", "d", "t"
_MARKS = dict.fromkeys((*INTEGER_TYPES, MySQLType.NEWDECIMAL), _NUMBER)
_MARKS |= {MySQLType.FLOAT: _FLOAT, MySQLType.DOUBLE: _DOUBLE}
_WHOLE_DIGITS, _FRACTION_DIGITS = 65, 30  # what a DECIMAL can have


def is_generic(df: DataFrame) -> bool:
    """Return whether the DataFrame is in the generic form."""
    return {"schema", "table"} <= set(df.columns)


def without_ddl(df: DataFrame) -> DataFrame:
    """Return the row changes of a DataFrame that may hold DDL rows (``op = 'ddl'`` with ``query``)."""
    from pyspark.sql import functions as F  # noqa: N812

    return df.filter(~F.lower("op").eqNullSafe(DDL_OP)) if "query" in df.columns else df


def only_replicated(df: DataFrame, plan: Plan) -> DataFrame:
    """Return the rows in generic form but those of table versions that TiCDC does not replicate."""
    from pyspark.sql import functions as F  # noqa: N812

    if not plan.keyless:
        return df
    stamp = commit_ts_column(df)
    left_out = F.lit(False)
    for schema, name in plan.keyless:
        own = F.col("schema").eqNullSafe(schema) & F.col("table").eqNullSafe(name)
        for since, until in plan.tables[schema, name].unreplicated:
            rows = own & (stamp > F.lit(since))
            left_out = left_out | (rows if until is None else rows & (stamp <= F.lit(until)))
    return df.filter(~F.coalesce(left_out, F.lit(False)))


def arrange_typed(df: DataFrame, plan: Plan, table: TablePlan) -> DataFrame:
    """Return one table's changes with their partitions, by topic-partition and in total order."""
    from pyspark.sql import functions as F  # noqa: N812

    columns = _change_columns(df, f"{table.schema}.{table.name}")
    if plan.splits:
        df = with_halves(df, changed_fields(df, key_columns_of(table)))
    columns += _half(df)
    keys = _typed_keys(df, table)
    df, order = _ordered(df, plan, [])
    if table.partition is not None:
        return df.repartition(1).sortWithinPartitions(*order, *keys).select(*columns)
    routed = df.withColumn(PARTITION, partition_of_typed(df, plan, table, commit_ts_column(df), image_of(df)))
    return (
        routed.repartition(PARTITION).sortWithinPartitions(PARTITION, *order, *keys).select(F.col(PARTITION), *columns)
    )


def arrange_generic(df: DataFrame, plan: Plan) -> DataFrame:
    """Return many tables' changes with their partitions, by topic-partition and in total order."""
    from pyspark.sql import functions as F  # noqa: N812

    columns = _change_columns(df, "the changefeed")
    joined = df.join(F.broadcast(_tables(df, plan)), on=["schema", "table"], how="left")
    if plan.splits:
        joined = with_halves(joined, changed_entries(F.col("_unique")))
    image = image_of(joined)
    routed = joined.withColumn(PARTITION, partition_of_generic(plan, commit_ts_column(joined), image))

    def key(marked: Column) -> Column:
        text = F.try_element_at(image, F.substring(marked, 2, 1 << 20))
        number = F.when(marked.startswith(_FLOAT), text.try_cast("float"))
        number = number.when(marked.startswith(_DOUBLE), text.try_cast("double"))
        rest = F.when(marked.startswith(_NUMBER), _sortable_number(text)).when(number.isNull(), text)
        return F.struct(number.alias("number"), rest.alias("text"))

    named = [F.col("schema").alias("_schema"), F.col("table").alias("_table"), F.col(PARTITION)]
    ranked, order = _ordered(routed, plan, [F.col("schema"), F.col("table")])
    return (
        ranked.withColumn("_key", F.transform("_key_names", key))
        .repartition("_topic", PARTITION)
        .sortWithinPartitions("_topic", PARTITION, *order, "_key")
        .select(*named, *columns, *_half(joined))
    )


def with_split_counts(df: DataFrame, plan: Plan, table: tuple[str, str] | None) -> DataFrame:
    """Return the rows with the column ``_count``: 2 for an update of a key, which is split, else 1."""
    from pyspark.sql import functions as F  # noqa: N812

    if not plan.splits or not {"before", "after"} <= set(df.columns):
        return df.withColumn(SPLIT_COUNT, F.lit(1))
    if table is not None:
        changed = changed_fields(df, key_columns_of(plan.table(*table)))
    else:
        df = df.join(F.broadcast(_tables(df, plan)), on=["schema", "table"], how="left")
        changed = changed_entries(F.col("_unique"))
    return df.withColumn(SPLIT_COUNT, F.lit(1) if changed is None else F.when(is_split(changed), 2).otherwise(1))


def _ordered(df: DataFrame, plan: Plan, table: list[Column]) -> tuple[DataFrame, list[Column]]:
    """Return the rows with what their order needs, and the order but for the key.

    That is commit_ts, table, transaction, rank, seq. A rank may be a window over the transaction, which no sort takes
    as it is, hence the column.
    """
    from pyspark.sql import functions as F  # noqa: N812

    transaction = [commit_ts_column(df), *table, *_transaction(df)]
    seq = [F.col("seq")] if "seq" in df.columns else []
    return df.withColumn("_rank", rank(df, plan, transaction)), [*transaction, F.col("_rank"), *seq]


def _half(df: DataFrame) -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812

    return [F.col(HALF)] if HALF in df.columns else []


def _transaction(df: DataFrame) -> list[Column]:
    """Return the optional columns that tell transactions apart, as numbers; what is none, the worker refuses."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import NullType, NumericType, StringType

    found = []
    for name in TRANSACTION:
        if name in df.columns:
            kind = df.schema[name].dataType
            if not isinstance(kind, NumericType | StringType | NullType):
                raise UnsupportedTypeError(
                    f"{name} is {kind.simpleString()}, not a whole number of 64 bits",
                    remedy=f"Give {name} as a long, or as the text of one",
                    column=name,
                )
            found.append(F.col(name).try_cast("decimal(38,0)").try_cast("long"))
    return found


def _sortable_number(text: Column) -> Column:
    """Return text that sorts as the integer or decimal that ``text`` writes; any other text as it is."""
    from pyspark.sql import functions as F  # noqa: N812

    trimmed = F.trim(text)
    digits = F.regexp_replace(trimmed, "^[+-]", "")
    whole = F.regexp_replace(F.substring_index(digits, ".", 1), "^0+", "")
    fraction = F.when(digits.contains("."), F.substring_index(digits, ".", -1)).otherwise("")
    padded = F.concat(F.lpad(whole, _WHOLE_DIGITS, "0"), F.rpad(fraction, _FRACTION_DIGITS, "0"))
    mirrored = F.translate(padded, "0123456789", "9876543210")
    negative = trimmed.startswith("-") & digits.rlike("[1-9]")
    sortable = F.when(negative, F.concat(F.lit("0"), mirrored)).otherwise(F.concat(F.lit("1"), padded))
    return F.when(trimmed.rlike(r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$"), sortable).otherwise(text)


def _tables(df: DataFrame, plan: Plan) -> DataFrame:
    """Return what routing and order need to know of each table, one row per table."""
    rows = [
        (
            *key,
            [_marked(column) for column in table.order_columns],
            marked_names(key_columns_of(table)),
            table.topic,
            table.partition,
            hashed_names(table),
        )
        for key, table in plan.tables.items()
        if any(table.encoders)
    ]
    return df.sparkSession.createDataFrame(
        rows,
        "schema string, table string, _key_names array<string>, _unique array<string>, _topic string, _fixed int, "
        "_hashed array<string>",
    )


def _marked(column: TableColumn) -> str:
    return _MARKS.get(column.type, _OTHER) + column.name


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
    from pyspark.sql.types import MapType, StringType, StructType

    kinds = {field.name: field.dataType for field in df.schema.fields if field.name in ("after", "before")}
    keys = []
    for column in table.order_columns:
        images: dict[str, tuple[Column, DataType]] = {}
        for name, kind in kinds.items():
            if isinstance(kind, StructType) and column.name in kind.names:
                images[name] = F.col(name)[column.name], kind[column.name].dataType
            elif isinstance(kind, MapType):
                images[name] = F.try_element_at(name, F.lit(column.name)), kind.valueType
        held = {kind for _, kind in images.values()}
        if not held:
            continue
        values = {name: value.cast("string") if len(held) > 1 else value for name, (value, _) in images.items()}
        if len(values) == 2:
            key = F.when(is_delete(df), values["before"]).otherwise(values["after"])
        else:
            (key,) = values.values()
        keys.append(_of_text(column, key) if len(held) > 1 or isinstance(held.pop(), StringType) else key)
    return keys


def _of_text(column: TableColumn, text: Column) -> Column:
    """Return what text sorts by in a column of this type."""
    mark = _MARKS.get(column.type, _OTHER)
    if mark == _NUMBER:
        return _sortable_number(text)
    return text if mark == _OTHER else text.try_cast("float" if mark == _FLOAT else "double")
