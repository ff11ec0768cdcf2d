"""Snapshots as row changes: one as inserts, two as the changes from the first to the second, or a series of them.

In: DataFrames with one column per column of the table, one row per row (of each version). Out: row changes in the typed
form, all in one commit unless a column has each row's time; of a series, one commit per version.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from ticdc_emit.errors import ConfigError, InvalidValueError
from ticdc_emit.hints import names as names_of
from ticdc_emit.spark.frames import in_pairs
from ticdc_emit.traffic.replay.images import change, differs, exploded, image, image_columns
from ticdc_emit.traffic.replay.moments import (
    Moment,
    TimeUnit,
    commit_ts_of,
    named,
    refusing_rows,
    require,
    tso_of,
    twice,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["from_snapshots", "snapshot_diff", "snapshot_inserts"]

_MOST_VERSIONS = 100_000  # more are times of rows
_VERSION = "_version_ts"


def snapshot_inserts(
    df: DataFrame, at: Moment, *, columns: str | Iterable[str] | None = None, unit: TimeUnit = "tso"
) -> DataFrame:
    """Return the rows as inserts. ``at``: the time of all rows, or the column with each row's time.

    ``columns``: the table's; default: all but the time column, so give them if that one belongs to the table too.
    Raises :class:`~ticdc_emit.errors.MissingColumnError`, :class:`~ticdc_emit.errors.UnsupportedTypeError`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    names = image_columns(df, columns, [at if isinstance(at, str) else None])
    return df.select(F.lit("c").alias("op"), commit_ts_of(df, at, unit).alias("commit_ts"), image(names).alias("after"))


def snapshot_diff(
    before: DataFrame, after: DataFrame, keys: str | Iterable[str], at: Moment, *, unit: TimeUnit = "tso"
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

    keys = names_of(keys)
    if not keys:
        raise ConfigError("a difference needs keys", remedy="Name the columns that identify a row", option="keys")
    require(before, keys)
    require(after, keys)
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


def from_snapshots(
    snapshots: DataFrame | Mapping[dt.datetime | int, DataFrame],
    keys: str | Iterable[str],
    at: str | None = None,
    *,
    columns: str | Iterable[str] | None = None,
    versions: Iterable[dt.datetime | int] = (),
    unit: TimeUnit = "tso",
) -> DataFrame:
    """Return the changes between consecutive snapshots of one table: the first one's rows are inserts, and each later
    one sends the inserts, updates and deletes since the one before it, at its own time.

    ``snapshots``: one DataFrame with the rows of all snapshots, in which the column ``at`` has their time (such as the
    partition column of folders ``dt=2026-01-05``); or a DataFrame by its time, an aware datetime or a TSO. ``keys``:
    the columns that identify a row. ``columns``: the table's; default: all but ``at``. ``versions``: the times of
    further snapshots, which have no rows, so that everything is deleted there. ``unit``: of whole numbers in ``at``.

    A row that does not change sends nothing. A snapshot that is missing is not empty: rows stay as they were. A column
    that one of several DataFrames lacks is NULL there. Reads the column ``at`` once. Raises :class:`ConfigError`
    without keys or a time, :class:`~ticdc_emit.errors.MissingColumnError`,
    :class:`~ticdc_emit.errors.UnsupportedTypeError`, :class:`InvalidValueError` for a row without a time, and in
    ``replay`` :class:`~ticdc_emit.errors.DuplicateChangeError` for a key that is twice in one snapshot.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StructType

    keys = names_of(keys)
    if not keys:
        raise ConfigError("snapshots need keys", remedy="Name the columns that identify a row", option="keys")
    if isinstance(snapshots, Mapping):
        whole, stamp, known = _of_each(snapshots, keys, at)
    else:
        whole, stamp, known = _of_one(snapshots, keys, at, unit)
    stamps = sorted(known | {tso_of(moment) for moment in versions})
    names = image_columns(whole, columns, [at, _VERSION])
    numbers = whole.sparkSession.createDataFrame(
        [(ts, number, later) for number, (ts, later) in enumerate(zip(stamps, [*stamps[1:], None], strict=True))],
        "_ts long, _number int, _later_ts long",
    )
    rows = whole.select(
        stamp.alias("_ts"),
        *(named(key).alias(f"_key{place}") for place, key in enumerate(keys)),
        image(names).alias("_image"),
    ).join(F.broadcast(numbers), "_ts")
    kind = rows.schema["_image"].dataType
    assert isinstance(kind, StructType)
    key_columns = [F.col(f"_key{place}") for place in range(len(keys))]
    by_key = Window.partitionBy(*key_columns).orderBy("_number")
    seen = rows.select(
        "*",
        F.lag("_number").over(by_key).alias("_earlier"),
        F.lag("_image").over(by_key).alias("_earlier_image"),
        F.lead("_number").over(by_key).alias("_later"),
    )
    earlier, current, number = F.col("_earlier_image"), F.col("_image"), F.col("_number")
    goes_on = F.col("_earlier").isNotNull() & (F.col("_earlier") == number - 1)
    op = F.when(F.col("_earlier") == number, twice(key_columns, F.col("_ts"))).when(goes_on, "u").otherwise("c")
    ends = F.col("_later_ts").isNotNull() & (F.col("_later").isNull() | (F.col("_later") > number + 1))
    return exploded(
        seen,
        F.when(~goes_on | differs(earlier, current, kind), change(op, "_ts", F.when(goes_on, earlier), current)),
        F.when(ends, change(F.lit("d"), "_later_ts", current, F.lit(None).cast(kind))),
    )


def _of_one(rows: DataFrame, keys: Sequence[str], at: str | None, unit: TimeUnit) -> tuple[DataFrame, Column, set[int]]:
    """Return the rows of all snapshots, the column of their TSO, and all TSO."""
    if not isinstance(at, str):
        raise ConfigError(
            "snapshots need a time",
            remedy="Give at=, the name of the column with it, or a DataFrame by its time",
            option="at",
        )
    require(rows, [*keys, at])
    stamp = commit_ts_of(rows, at, unit)
    with refusing_rows():
        found = [ts for (ts,) in rows.select(stamp).distinct().limit(_MOST_VERSIONS + 1).collect()]
    if None in found:
        raise InvalidValueError(
            "a row has no time", remedy="Give every row the time of its snapshot, or leave it out", column=at
        )
    if len(found) > _MOST_VERSIONS:
        raise ConfigError(
            f"the column {at!r} has more than {_MOST_VERSIONS:,} times",
            remedy="Name the column with the time of the snapshot, which all its rows share",
            option="at",
        )
    return rows, stamp, set(found)


def _of_each(
    snapshots: Mapping[dt.datetime | int, DataFrame], keys: Sequence[str], at: str | None
) -> tuple[DataFrame, Column, set[int]]:
    """Return the rows of all snapshots, the column of their TSO, and all TSO."""
    from pyspark.sql import functions as F  # noqa: N812

    if at is not None:
        raise ConfigError("at= and the mapping both give the time", remedy="Leave out at=", option="at")
    by_ts = {tso_of(moment): rows for moment, rows in snapshots.items()}
    if len(by_ts) < len(snapshots) or not by_ts:
        cause = "two snapshots have one time" if by_ts else "there is no snapshot"
        raise ConfigError(cause, remedy="Give each snapshot by its own time", option="snapshots")
    for rows in by_ts.values():
        require(rows, keys)
    stamped = [rows.withColumn(_VERSION, F.lit(ts).cast("long")) for ts, rows in sorted(by_ts.items())]
    whole = in_pairs(lambda one, other: one.unionByName(other, allowMissingColumns=True), stamped)
    return whole, F.col(_VERSION), set(by_ts)


def _with_last(before: DataFrame, after: DataFrame, at: Moment, stamp: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    if not isinstance(at, str):
        return stamp
    with refusing_rows():
        newest = after.agg(F.max(stamp)).first()
    last = None if newest is None else newest[0]
    if last is None and not before.isEmpty():
        raise ConfigError(
            f"the time of the deletes is not known: the second snapshot has no {at!r}",
            remedy="Give at= as a datetime with a time zone, or as a TSO",
            option="at",
        )
    return F.coalesce(F.col("_ts"), F.lit(last).cast("long"))
