"""Slowly changing dimensions (type 2) as row changes: versions of rows with the begin and end of their validity.

In: one row per version, any order. Out: row changes in the typed form: a key's first version is an insert, each next
one an update with the version before it as before image; a version that ends without a next one at that time is a
delete, and a version after such a gap is an insert again.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import names as names_of
from ticdc_emit.traffic.replay.images import change, differs, exploded, image, image_columns
from ticdc_emit.traffic.replay.moments import TimeUnit, commit_ts_of, end_ts_of, named, require

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["from_validity"]


def from_validity(
    df: DataFrame,
    keys: str | Iterable[str],
    valid_from: str,
    valid_to: str,
    *,
    columns: str | Iterable[str] | None = None,
    step: dt.timedelta = dt.timedelta(0),
    unit: TimeUnit = "tso",
) -> DataFrame:
    """Return the changes that made the versions. ``valid_to``: when a version ended; NULL, or a time from the year 9999
    on (or 2^63-1 and more), if it is still valid.

    ``step``: the time from ``valid_to`` to the next version, if the version includes its end (a day for dates that
    include the last day). ``columns``: the table's; default: all but the two. ``unit``: the unit of whole numbers. A
    version that is replaced early ends then. A version that ends when it begins, or that changes nothing, gives no
    change. Raises :class:`~ticdc_emit.errors.MissingColumnError`, :class:`~ticdc_emit.errors.UnsupportedTypeError`.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StructType

    keys = names_of(keys)
    if not keys:
        raise ConfigError("versions need keys", remedy="Name the columns that identify a row", option="keys")
    require(df, [*keys, valid_from, valid_to])
    versions = df.select(
        *(named(key).alias(f"_key{place}") for place, key in enumerate(keys)),
        commit_ts_of(df, valid_from, unit).alias("_from"),
        end_ts_of(df, valid_to, unit, step).alias("_to"),
        image(image_columns(df, columns, [valid_from, valid_to])).alias("_image"),
    ).filter(F.col("_to").isNull() | F.col("_from").isNull() | (F.col("_to") > F.col("_from")))
    kind = versions.schema["_image"].dataType
    assert isinstance(kind, StructType)
    window = Window.partitionBy(*(f"_key{place}" for place in range(len(keys)))).orderBy("_from")
    seen = versions.select(
        "*",
        F.lag("_from").over(window).alias("_earlier"),
        F.lag("_to").over(window).alias("_earlier_to"),
        F.lag("_image").over(window).alias("_earlier_image"),
        F.lead("_from").over(window).alias("_later"),
    )
    earlier, current = F.col("_earlier_image"), F.col("_image")
    goes_on = F.col("_earlier").isNotNull() & (F.col("_earlier_to").isNull() | (F.col("_earlier_to") >= F.col("_from")))
    changed = ~goes_on | differs(earlier, current, kind)
    ends = F.col("_to").isNotNull() & (F.col("_later").isNull() | (F.col("_later") > F.col("_to")))
    begin = change(F.when(goes_on, "u").otherwise("c"), "_from", F.when(goes_on, earlier), current)
    end = change(F.lit("d"), "_to", current, F.lit(None).cast(kind))
    return exploded(seen, F.when(changed, begin), F.when(ends, end))
