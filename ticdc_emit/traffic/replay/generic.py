"""From the typed form of row changes to the generic one, so that tables share a stream.

In: one table's changes with struct images, and the table. Out: the same with ``schema``, ``table`` and images as maps
of canonical text (docs/types.md), made by Spark's own expressions. Values keep what the typed form says of them: an
instant is shown in the changefeed's time zone, binary is base64 where the column is binary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ticdc_emit.changes.attributes import ATTRIBUTES
from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.schema.model import Column as TableColumn
from ticdc_emit.schema.types import MySQLType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

__all__ = ["as_generic"]

_MOMENTS = frozenset({MySQLType.DATETIME, MySQLType.TIMESTAMP})
_DAYS = frozenset({MySQLType.DATE, MySQLType.NEWDATE})


def as_generic(
    changes: DataFrame, schema: str, table: str, columns: Mapping[str, TableColumn], time_zone: str = "UTC"
) -> DataFrame:
    """Return the changes of one table in the generic form.

    ``columns``: the table's, of all its versions; ``time_zone``: the changefeed's. Raises
    :class:`~ticdc_emit.errors.UnsupportedTypeError` for a type that no column takes.
    """
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import MapType, StructType

    selected = [F.lit(schema).alias("schema"), F.lit(table).alias("table"), F.col("op")]
    selected += [F.col(name) for name in ("commit_ts", "seq", *ATTRIBUTES) if name in changes.columns]
    for name in ("before", "after"):
        if name not in changes.columns:
            selected.append(F.lit(None).cast("map<string,string>").alias(name))
            continue
        kind = changes.schema[name].dataType
        if isinstance(kind, MapType):
            selected.append(F.col(name))
            continue
        if not isinstance(kind, StructType):
            raise UnsupportedTypeError(
                f"the image {name!r} is {kind.simpleString()}, not a struct or map",
                table=f"{schema}.{table}",
                column=name,
            )
        entries: list[Column] = []
        for field in kind.fields:
            value = F.col(name)[field.name]
            place = f"{schema}.{table}", field.name
            entries += [F.lit(field.name), _text(value, field.dataType, columns.get(field.name), time_zone, place)]
        selected.append(F.when(F.col(name).isNotNull(), F.create_map(*entries)).alias(name))
    return changes.select(*selected)


def _text(value: Column, kind: DataType, column: TableColumn | None, zone: str, place: tuple[str, str]) -> Column:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812

    mysql = None if column is None else column.type
    if isinstance(kind, T.StringType | T.NullType | T.IntegralType | T.DecimalType):
        return value.cast("string")
    if isinstance(kind, T.BooleanType):
        return value.cast("int").cast("string")
    if isinstance(kind, T.FractionalType) and mysql is not MySQLType.NEWDECIMAL:
        return (value if mysql is MySQLType.FLOAT else value.cast("double")).cast("string")
    if isinstance(kind, T.BinaryType):
        if mysql is MySQLType.BIT:
            return F.conv(F.hex(value), 16, 10)
        plain = column is not None and not column.is_binary
        return F.decode(value, "utf-8") if plain else F.translate(F.base64(value), "\r\n", "")
    if isinstance(kind, T.DateType):
        return (value.cast("timestamp_ntz") if mysql in _MOMENTS else value).cast("string")
    if isinstance(kind, T.TimestampNTZType):
        text = value.cast("string")
        return F.regexp_replace(text, " 00:00:00$", "") if mysql in _DAYS else text
    if isinstance(kind, T.TimestampType):
        return _wall_clock(value, zone).cast("string")
    if isinstance(kind, T.DayTimeIntervalType):
        return _clock(value)
    if isinstance(kind, T.ArrayType) and mysql is MySQLType.VECTOR_FLOAT32:
        return F.to_json(value)
    raise UnsupportedTypeError(
        f"{kind.simpleString()} has no canonical text in this column",
        remedy="See the type table in docs/types.md, or give canonical text",
        table=place[0],
        column=place[1],
    )


def _wall_clock(instant: Column, zone: str) -> Column:
    """Return the wall clock of an instant in a zone. By way of UTC, for a session's own zone may have hours twice."""
    from pyspark.sql import functions as F  # noqa: N812

    seconds = F.unix_micros(instant).cast("decimal(20,0)") / F.lit(1_000_000).cast("decimal(7,0)")
    since = F.make_dt_interval(F.lit(0), F.lit(0), F.lit(0), seconds.cast("decimal(18,6)"))
    in_utc = F.lit("1970-01-01 00:00:00").cast("timestamp_ntz") + since
    return F.convert_timezone(F.lit("UTC"), F.lit(zone), in_utc)


def _clock(span: Column) -> Column:
    """Return a TIME's text, with as many fraction digits as there are: ``-51:04:05.5``."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import DayTimeIntervalType

    span = span.cast(DayTimeIntervalType())  # one of hours alone has no day to extract
    negative = span < F.make_dt_interval()
    size = F.when(negative, -span).otherwise(span)

    def part(unit: str) -> Column:
        return F.extract(F.lit(unit), size).cast("int")

    micros = (F.extract(F.lit("SECOND"), size).cast("decimal(8,6)") % 1 * 1_000_000).cast("int")
    fraction = F.regexp_replace(F.format_string(".%06d", micros), r"\.?0+$", "")
    text = F.format_string("%02d:%02d:%02d", part("DAY") * 24 + part("HOUR"), part("MINUTE"), part("SECOND"))
    return F.when(span.isNotNull(), F.concat(F.when(negative, "-").otherwise(""), text, fraction))
