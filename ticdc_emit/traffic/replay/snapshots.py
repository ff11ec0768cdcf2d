"""Snapshots as row changes: one as inserts, two as the changes from the first to the second.

In: DataFrames with one column per column of the table, one row per row. Out: row changes in the typed form, all in one
commit unless a column has each row's time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from ticdc_emit.errors import ConfigError
from ticdc_emit.traffic.replay.images import differs, image, image_columns
from ticdc_emit.traffic.replay.moments import Moment, TimeUnit, commit_ts_of, named, refusing_no_moments, require

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["snapshot_diff", "snapshot_inserts"]


def snapshot_inserts(
    df: DataFrame, at: Moment, *, columns: Sequence[str] | None = None, unit: TimeUnit = "tso"
) -> DataFrame:
    """Return the rows as inserts. ``at``: the time of all rows, or the column with each row's time.

    ``columns``: the table's; default: all but the time column, so give them if that one belongs to the table too.
    Raises :class:`~ticdc_emit.errors.MissingColumnError`, :class:`~ticdc_emit.errors.UnsupportedTypeError`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    names = image_columns(df, columns, [at if isinstance(at, str) else None])
    return df.select(F.lit("c").alias("op"), commit_ts_of(df, at, unit).alias("commit_ts"), image(names).alias("after"))


def snapshot_diff(
    before: DataFrame, after: DataFrame, keys: Sequence[str], at: Moment, *, unit: TimeUnit = "tso"
) -> DataFrame:
    """Return the inserts, updates and deletes that turn one snapshot of a table into the next.

    ``keys``: the columns that identify a row. ``at``: the time of all changes; or the column of ``after`` with the time
    at which a row was last written. In that case deletes have the latest of these times. Rows are compared column by
    column, NULL equal to NULL; a column that ``before`` lacks was NULL, one that ``after`` lacks is left out. Values of
    ``before`` are cast to the types of ``after``.

    ``unit``: of whole numbers. Raises :class:`ConfigError` without keys, or if ``at`` is a column and no row of
    ``after`` has a time for the deletes; and the errors of :func:`snapshot_inserts`.
    """
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StructType

    if not keys:
        raise ConfigError("a difference needs keys", remedy="Name the columns that identify a row", option="keys")
    require(before, list(keys))
    require(after, list(keys))
    about = [at] if isinstance(at, str) and at not in before.columns else []
    names = image_columns(after, None, about)
    kinds = {name: after.schema[name].dataType for name in names}
    old_values = [
        (named(name) if name in before.columns else F.lit(None)).cast(kind).alias(name) for name, kind in kinds.items()
    ]
    stamp = commit_ts_of(after, at, unit)
    old = before.select(F.struct(*old_values).alias("before"))
    new = after.select(image(names).alias("after"), stamp.alias("_ts"))
    kind = new.schema["after"].dataType
    assert isinstance(kind, StructType)
    same_key = reduce(
        lambda one, other: one & other,
        (F.col("before")[key].eqNullSafe(F.col("after")[key]) for key in keys),
    )
    joined = old.join(new, same_key, "full_outer")
    op = (
        F.when(F.col("before").isNull(), "c")
        .when(F.col("after").isNull(), "d")
        .when(differs(F.col("before"), F.col("after"), kind), "u")
    )
    return joined.select(
        op.alias("op"), _with_last(before, after, at, stamp).alias("commit_ts"), F.col("before"), F.col("after")
    ).filter(F.col("op").isNotNull())


def _with_last(before: DataFrame, after: DataFrame, at: Moment, stamp: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    if not isinstance(at, str):
        return stamp
    with refusing_no_moments():
        newest = after.agg(F.max(stamp)).first()
    last = None if newest is None else newest[0]
    if last is None and not before.isEmpty():
        raise ConfigError(
            f"the time of the deletes is not known: the second snapshot has no {at!r}",
            remedy="Give at= as a datetime with a time zone, or as a TSO",
            option="at",
        )
    return F.coalesce(F.col("_ts"), F.lit(last).cast("long"))
