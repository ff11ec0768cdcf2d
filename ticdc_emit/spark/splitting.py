"""Updates of keys as rows of a DataFrame: each that may have to be split comes twice, and where its rows sort.

What may be split is told by the values as they came; workers decide by what they mean (``arrange.transactions``), and
drop the half that was too much. Rows of a transaction sort by what :func:`rank` gives before their ``seq`` and key.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from ticdc_emit.arrange.transactions import HALF, splitting_columns
from ticdc_emit.plan.tables import Plan, TablePlan
from ticdc_emit.schema.model import Column as TableColumn
from ticdc_emit.schema.types import STRING_TYPES, MySQLType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = [
    "changed_entries",
    "changed_fields",
    "image_of",
    "is_delete",
    "is_split",
    "key_columns_of",
    "marked_names",
    "rank",
    "with_halves",
]

# how values of a column that are given as text, or as they are, compare; in text TiCDC takes NULL and 'null' for equal
_TEXT, _NUMBER, _FLOAT, _AS_IS, _BYTES = "t", "n", "f", "=", "b"


def key_columns_of(table: TablePlan) -> tuple[TableColumn, ...]:
    """Return the columns whose change splits an update in any version of the table."""
    infos = [encoder.table for encoder in table.encoders if encoder is not None]
    return tuple({column.name: column for info in infos for column in splitting_columns(info)}.values())


def with_halves(df: DataFrame, changed: Column | None) -> DataFrame:
    """Return the rows with the column ``_half``; an update for which ``changed`` holds comes twice."""
    from pyspark.sql import functions as F  # noqa: N812

    nothing = F.lit(None).cast("string")
    if changed is None or not {"before", "after"} <= set(df.columns):
        return df
    halves = F.when(is_split(changed), F.array(F.lit("d"), F.lit("i"))).otherwise(F.array(nothing))
    return df.withColumn(HALF, F.explode(halves))


def is_split(changed: Column) -> Column:
    """Return whether a row is an update with both images for which ``changed`` holds."""
    from pyspark.sql import functions as F  # noqa: N812

    update: Column = F.lower("op").isin("u", "update")
    return update & F.col("before").isNotNull() & F.col("after").isNotNull() & changed


def is_delete(df: DataFrame) -> Column:
    """Return whether a row's before image is the one that counts."""
    from pyspark.sql import functions as F  # noqa: N812

    deleted = F.lower("op").isin("d", "delete")
    return (deleted | F.col(HALF).eqNullSafe("d")) if HALF in df.columns else deleted


def image_of(df: DataFrame) -> Column:
    """Return the image that says where a row goes: after, or before of what is deleted."""
    from pyspark.sql import functions as F  # noqa: N812

    given = [F.col(name) for name in ("after", "before") if name in df.columns]
    return given[0] if len(given) == 1 else F.when(is_delete(df), given[1]).otherwise(given[0])


def rank(df: DataFrame, plan: Plan, transaction: list[Column]) -> Column:
    """Return what ``arrange.transactions.ranks`` gives; ``transaction``: what rows of one have in common."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    op, has_seq, has_halves = F.lower("op"), "seq" in df.columns, HALF in df.columns
    half = F.col(HALF) if has_halves else F.lit(None).cast("string")
    kind = F.when(op.isin("u", "update"), 1).when(op.isin("c", "insert"), 2).otherwise(0)
    if plan.split_order == "inserts-last":
        return F.when(half.eqNullSafe("i"), 3).otherwise(F.lit(0) if has_seq else kind)
    by_kind = F.when(half.eqNullSafe("d"), 0).when(half.eqNullSafe("i"), 2).otherwise(kind)
    if not has_seq:
        return by_kind
    if not has_halves:
        return F.lit(0)
    split = F.max(half.isNotNull()).over(Window.partitionBy(*transaction))
    return F.when(split, by_kind).otherwise(0)


def changed_fields(df: DataFrame, columns: tuple[TableColumn, ...]) -> Column | None:
    """Return whether a row's images differ in any of the columns: struct or map images of one table."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import BinaryType, DoubleType, FloatType, MapType, StringType, StructType

    if not {"before", "after"} <= set(df.columns):
        return None
    found = []
    for column in columns:
        pair = []
        for name in ("before", "after"):
            kind = df.schema[name].dataType
            if isinstance(kind, MapType):
                value, held = F.try_element_at(name, F.lit(column.name)), kind.valueType
            elif isinstance(kind, StructType) and column.name in kind.names:
                value, held = F.col(name)[column.name], kind[column.name].dataType
            else:
                continue
            pair.append(value.cast("string") if isinstance(held, FloatType | DoubleType) else value)
        if len(pair) < 2:
            continue
        mark = _mark(column) if isinstance(held, StringType) else _BYTES if isinstance(held, BinaryType) else _AS_IS
        found.append(_differ(mark, *pair))
    return reduce(or_, found) if found else None


def marked_names(columns: tuple[TableColumn, ...]) -> list[str]:
    """Return the names that :func:`changed_entries` looks at."""
    return [_mark(column) + column.name for column in columns]


def changed_entries(names: Column) -> Column:
    """Return whether two maps of canonical text differ in any of the named entries (:func:`marked_names`)."""
    from pyspark.sql import functions as F  # noqa: N812

    def differ(marked: Column) -> Column:
        name = F.substring(marked, 2, 1 << 20)
        pair = [F.try_element_at(F.col(image), name) for image in ("before", "after")]
        found = F.when(pair[0].eqNullSafe(pair[1]), F.lit(False))
        for mark in (_TEXT, _NUMBER, _FLOAT):
            found = found.when(marked.startswith(mark), _differ(mark, *pair))
        return found.otherwise(F.lit(True))

    return F.exists(names, differ)


def _mark(column: TableColumn) -> str:
    if column.type in STRING_TYPES:
        return _AS_IS if column.is_binary else _TEXT
    if column.type in (MySQLType.FLOAT, MySQLType.DOUBLE):
        return _FLOAT
    return _AS_IS if column.type in (MySQLType.ENUM, MySQLType.SET) else _NUMBER


def _differ(mark: str, before: Column, after: Column) -> Column:
    """Return whether two values differ, however each is written."""
    from pyspark.sql import functions as F  # noqa: N812

    def meaning(value: Column) -> Column:
        if mark in (_TEXT, _BYTES):
            return F.coalesce(value, F.lit("null") if mark == _TEXT else F.lit(b"null"))
        if mark == _FLOAT:  # -0 is another text than 0
            return F.coalesce(value.try_cast("double").cast("string"), value)
        if mark == _NUMBER:  # numbers, and times with their fractions
            plain = F.regexp_replace(F.regexp_replace(F.trim(value), r"^\+", ""), r"^(-?)0+(?=\d)", "$1")
            return F.regexp_replace(F.regexp_replace(plain, r"(\.\d*?)0+$", "$1"), r"\.$|^-0$", "")
        return value

    return ~before.eqNullSafe(after) & ~meaning(before).eqNullSafe(meaning(after))
