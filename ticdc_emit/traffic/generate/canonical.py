"""Canonical text (docs/types.md) of a native value, as Spark SQL, for the images of the generic form.

In: SQL of a value and its column. Out: SQL of type string, NULL for NULL. The session's time zone has no effect.
"""

from __future__ import annotations

from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import FLOAT_TYPES, STRING_TYPES, MySQLType
from ticdc_emit.traffic.generate.sql import EPOCH, text_of

__all__ = ["canonical_text"]


def canonical_text(column: Column, value: str, time_zone: str) -> str:
    """Return the text; TIMESTAMP as the wall clock in ``time_zone``."""
    kind = column.type
    if kind in STRING_TYPES:
        return f"base64({value})" if column.is_binary else value
    if kind in FLOAT_TYPES:
        whole = f"cast(cast({value} as bigint) as string)"
        return f"if({value} = floor({value}), {whole}, cast({value} as string))"
    if kind is MySQLType.DATETIME:
        return _clock(column, value)
    if kind is MySQLType.TIMESTAMP:
        utc = f"timestampadd(MICROSECOND, unix_micros({value}), {EPOCH})"
        local = utc if time_zone == "UTC" else f"convert_timezone('UTC', {text_of(time_zone)}, {utc})"
        return _clock(column, local)
    if kind in (MySQLType.ENUM, MySQLType.SET, MySQLType.JSON, MySQLType.DURATION, MySQLType.VECTOR_FLOAT32):
        return value
    return f"cast({value} as string)"


def _clock(column: Column, value: str) -> str:
    """Return a timestamp_ntz with all its fraction digits; a cast drops trailing zeros."""
    fsp = max(column.decimal, 0)
    text = f"cast({value} as string)"
    return text if fsp == 0 else f"rpad(if(length({text}) = 19, concat({text}, '.'), {text}), {20 + fsp}, '0')"
