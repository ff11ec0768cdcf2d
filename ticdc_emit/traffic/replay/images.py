"""Images of rows as structs, and their comparison; shared by all kinds of history.

In: DataFrames with one column per column of the table. Out: struct columns of the typed form of row changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from ticdc_emit.errors import MissingColumnError
from ticdc_emit.hints import names as names_of
from ticdc_emit.traffic.replay.moments import named, require

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

__all__ = ["change", "comparable", "differs", "exploded", "image", "image_columns"]


def image_columns(df: DataFrame, columns: str | Iterable[str] | None, but: Collection[str | None]) -> list[str]:
    """Return the names of the table's columns: the given ones, else all of ``df`` except ``but``."""
    if columns is not None:
        columns = list(names_of(columns))
        require(df, columns)
        return columns
    names = [name for name in df.columns if name not in but]
    if not names:
        raise MissingColumnError("the input has no column of a table", remedy="Give columns=")
    return names


def image(columns: Sequence[str]) -> Column:
    """Return a row's image: a struct of these columns."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.struct(*(named(name).alias(name) for name in columns))


def change(op: Column, stamp: str, before: Column, after: Column) -> Column:
    """Return a row change as a struct; ``stamp``: the column with its commit_ts."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.struct(op.alias("op"), F.col(stamp).alias("commit_ts"), before.alias("before"), after.alias("after"))


def exploded(rows: DataFrame, *changes: Column) -> DataFrame:
    """Return the row changes of each row; a NULL is none."""
    from pyspark.sql import functions as F  # noqa: N812

    one_each = rows.select(F.explode(F.array(*changes)).alias("_change"))
    return one_each.filter(F.col("_change").isNotNull()).select("_change.*")


def differs(one: Column, other: Column, kind: StructType) -> Column:
    """Return whether two images (structs of ``kind``) differ in any column, where NULL equals only NULL."""
    from pyspark.sql import functions as F  # noqa: N812

    unequal = (
        ~comparable(one[field.name], field.dataType).eqNullSafe(comparable(other[field.name], field.dataType))
        for field in kind.fields
    )
    return reduce(lambda left, right: left | right, unequal, F.lit(False))


def comparable(value: Column, kind: DataType) -> Column:
    """Return a comparable form of the value: text for floats, because -0 is not 0; entries for maps."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import DecimalType, FractionalType, MapType, VariantType

    if isinstance(kind, FractionalType) and not isinstance(kind, DecimalType):
        return value.cast("string")
    if isinstance(kind, MapType):
        return F.sort_array(F.map_entries(value))
    return F.to_json(value) if isinstance(kind, VariantType) else value
