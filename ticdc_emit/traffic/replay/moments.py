"""Event time as TSO: the commit time of rows that come from a table's own columns.

In: a DataFrame and a moment: a datetime, a TSO, or the name of a column (timestamp, date, text, or a number in a given
unit). Out: a column of TSO, a long. A wall clock (date, timestamp without zone, text without offset) is in the time
zone of the Spark session. Microseconds keep their order (``tso.tso_from_micros``).
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Literal, TypeAlias

from ticdc_emit.errors import ConfigError, MissingColumnError, UnsupportedTypeError
from ticdc_emit.tso import LOGICAL_BITS, LOGICAL_PER_MICROSECOND, MAX_TSO, tso_from_datetime

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Moment", "TimeUnit", "commit_ts_of", "named", "require", "tso_of"]

Moment: TypeAlias = "dt.datetime | int | str"
"""An aware datetime, a TSO, or the name of a column that holds the moment of each row."""

TimeUnit: TypeAlias = Literal["tso", "s", "ms", "us"]
"""What a column of whole numbers holds: TSO, or seconds, ms or microseconds since 1970 in UTC."""

_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def tso_of(moment: dt.datetime | int) -> int:
    """Return the TSO of an aware datetime or of a TSO; :class:`ConfigError` for anything else."""
    if isinstance(moment, dt.datetime) and moment.tzinfo is not None:
        return tso_from_datetime(moment)
    if isinstance(moment, int) and 0 < moment <= MAX_TSO >> 1:
        return moment
    raise ConfigError(
        f"{moment!r} is no moment", remedy="Give a datetime with a time zone, or a TSO", option="at", moment=str(moment)
    )


def commit_ts_of(df: DataFrame, moment: Moment, unit: TimeUnit = "tso") -> Column:
    """Return the TSO column of ``df`` for a moment; a value that is no moment gives NULL or Spark's own error.

    Raises :class:`MissingColumnError`, :class:`UnsupportedTypeError` for a column that cannot tell a time.
    """
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import DateType, IntegralType, StringType, TimestampNTZType, TimestampType

    if not isinstance(moment, str):
        return F.lit(tso_of(moment)).cast("long")
    require(df, [moment])
    column, kind = named(moment), df.schema[moment].dataType
    if isinstance(kind, IntegralType):
        if unit == "tso":
            return column.cast("long")
        return _tso(column.cast("long") * F.lit(_MICROS[unit]))
    if isinstance(kind, TimestampType | TimestampNTZType | DateType | StringType):
        return _tso(F.unix_micros(column.cast("timestamp")))
    raise UnsupportedTypeError(
        f"{kind.simpleString()} tells no time",
        remedy="Give a timestamp, a date, text, or a whole number with its unit",
        column=moment,
    )


def named(column: str) -> Column:
    """Return the column of exactly this name, whatever characters it has."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.col("`" + column.replace("`", "``") + "`")


def require(df: DataFrame, columns: list[str]) -> None:
    """Raise :class:`MissingColumnError` for the first of the columns that ``df`` lacks."""
    for column in columns:
        if column not in df.columns:
            raise MissingColumnError(
                "the input lacks a column", remedy=f"It has: {', '.join(df.columns)}", column=column
            )


def _tso(micros: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    rest = F.pmod(micros, F.lit(1000))
    physical = ((micros - rest) / F.lit(1000)).cast("long")
    return physical * F.lit(1 << LOGICAL_BITS) + rest * F.lit(LOGICAL_PER_MICROSECOND)
