"""DataFrames of row changes as the columns that an encoding task reads.

Two public forms (``changes.arrow_input``): **typed**, one DataFrame of one table, and **generic**, one for many. Nothing is
shuffled, collected or cached here. Rules of order, splitting and routing are elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from ticdc_emit.changes.arrow_input import (
    DDL_OP,
    GENERIC_NAMES,
    check_columns,
    is_generic,
)
from ticdc_emit.changes.attributes import ATTRIBUTES
from ticdc_emit.errors import MissingColumnError, UnsupportedTypeError
from ticdc_emit.tso import LOGICAL_BITS, LOGICAL_PER_MICROSECOND

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["change_columns", "commit_ts_column", "in_pairs", "without_ddl"]

_Part = TypeVar("_Part")


def without_ddl(df: DataFrame) -> DataFrame:
    """Return the row changes of a DataFrame that may hold DDL rows (``op = 'ddl'`` with ``query``)."""
    from pyspark.sql import functions as F  # noqa: N812

    return df.filter(~F.lower("op").eqNullSafe(DDL_OP)) if "query" in df.columns else df


def change_columns(df: DataFrame, where: str) -> DataFrame:
    """Return the columns of row changes. ``where``: the table for errors.

    Raises :class:`MissingColumnError`, :class:`~ticdc_emit.errors.SchemaError` and :class:`UnsupportedTypeError`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    check_columns(df.columns, where)
    names = [*(GENERIC_NAMES if is_generic(df.columns) else ()), *ATTRIBUTES, "before", "after"]
    others = [name for name in names if name in df.columns]
    longs = [name for name in ("commit_ts", "seq") if (name, "bigint") in df.dtypes]
    if "commit_ts" in longs and df.columns == ["op", *longs, *others]:
        return df  # Spark analyses and compiles each projection anew, for each table
    seq = [F.col("seq").cast("long").alias("seq")] if "seq" in df.columns else []
    return df.select("op", commit_ts_column(df).alias("commit_ts"), *seq, *others)


def in_pairs(join: Callable[[_Part, _Part], _Part], parts: Sequence[_Part]) -> _Part:
    """Join parts in their order, neighbours first: a tree of little depth, which Spark walks at each step."""
    while len(parts) > 1:
        parts = [reduce(join, parts[place : place + 2]) for place in range(0, len(parts), 2)]
    return parts[0]


def commit_ts_column(df: DataFrame) -> Column:
    """Return the TSO column; ``commit_time`` is converted like in ``tso.tso_from_micros``."""
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
