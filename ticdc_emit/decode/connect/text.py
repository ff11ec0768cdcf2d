"""Canonical text of Debezium's values.

In: a column and values as JSON has them. Out: text. The column is the table's own, or made from the message's schema
(:func:`debezium_column`). docs/consumer.md lists the losses of the protocol: a DECIMAL is the double nearest to it,
dates that do not exist are NULL or 1970-01-01, NULL in a column with a DEFAULT is that default. Rule sources: "TiCDC
Debezium Protocol" (data types); reference ``pingcap/tiflow: pkg/sink/codec/debezium/codec.go``
(writeDebeziumFieldValue).
"""

from __future__ import annotations

import datetime as dt
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from ticdc_emit.decode.connect.records import DebeziumField
from ticdc_emit.decode.text_values import BINARY_TYPES, Convert, clock_text, decimal_text, fsp_of, in_zone, moment_text
from ticdc_emit.schema.defaults import float_text
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import (
    DATE_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    ColumnFlag,
    MySQLType,
)

__all__ = ["debezium_column", "debezium_convert"]

_WORD = (1 << 64) - 1
_EPOCH = dt.datetime(1970, 1, 1)
_DAY_ZERO = dt.date(1970, 1, 1)
_MILLIS_FSP = 3
_ZERO_MOMENT = "0000-00-00 00:00:00"
_BEFORE_ALL = "1970-01-01T00:00:00"  # one second before the first TIMESTAMP
_SEMANTIC: Mapping[str, tuple[MySQLType, int]] = {
    "io.debezium.data.Bits": (MySQLType.BIT, 0),
    "io.debezium.data.Enum": (MySQLType.ENUM, 0),
    "io.debezium.data.EnumSet": (MySQLType.SET, 0),
    "io.debezium.data.Json": (MySQLType.JSON, 0),
    "io.debezium.data.TiDBVectorFloat32": (MySQLType.VECTOR_FLOAT32, 0),
    "io.debezium.time.Date": (MySQLType.DATE, 0),
    "io.debezium.time.Timestamp": (MySQLType.DATETIME, _MILLIS_FSP),
    "io.debezium.time.MicroTimestamp": (MySQLType.DATETIME, 6),
    "io.debezium.time.ZonedTimestamp": (MySQLType.TIMESTAMP, 6),
    "io.debezium.time.MicroTime": (MySQLType.DURATION, 6),
    "io.debezium.time.Year": (MySQLType.YEAR, 0),
}
_PLAIN = {
    "boolean": MySQLType.BIT,
    "int16": MySQLType.SHORT,
    "int32": MySQLType.LONG,
    "int64": MySQLType.LONGLONG,
    "float": MySQLType.FLOAT,
    "double": MySQLType.DOUBLE,
    "string": MySQLType.LONG_BLOB,
}


def debezium_convert(column: Column, zone: str) -> Convert | None:
    """Return a function that converts a column's values to canonical text. ``zone``: the changefeed's."""
    kind, fsp = column.type, fsp_of(column)
    if kind in INTEGER_TYPES:
        return (lambda value: str(value & _WORD)) if column.unsigned else str
    if kind in FLOAT_TYPES:
        single = kind is MySQLType.FLOAT
        return lambda value: float_text(value, single=single)
    if kind is MySQLType.NEWDECIMAL:
        return lambda value: decimal_text(repr(value), fsp)
    if kind is MySQLType.BIT:
        return _bits
    if kind is MySQLType.YEAR:
        return lambda value: str(int(value))
    if kind in DATE_TYPES:
        return _day
    if kind is MySQLType.DATETIME:
        unit = "milliseconds" if fsp <= _MILLIS_FSP else "microseconds"
        return lambda value: moment_text(_EPOCH + dt.timedelta(**{unit: value}), fsp)
    if kind is MySQLType.TIMESTAMP:
        return lambda value: _zoned(value, zone, fsp)
    return (lambda value: clock_text(value, fsp)) if kind is MySQLType.DURATION else None


def debezium_column(field: DebeziumField) -> Column:
    """Return a column from a message's schema. Fraction digits are those of Debezium's unit; UNSIGNED and binary types
    are known only with ``enable-tidb-extension``.
    """
    known = field.tidb_type or ""
    kind, decimal = _SEMANTIC.get(field.semantic_type or "", (_PLAIN.get(field.type, MySQLType.UNSPECIFIED), 0))
    unsigned = known.endswith("unsigned") or " unsigned" in known
    flags = ColumnFlag.UNSIGNED if unsigned else ColumnFlag.NONE
    flags |= ColumnFlag.NONE if field.optional else ColumnFlag.NOT_NULL
    charset = "binary" if known in BINARY_TYPES or kind is not MySQLType.LONG_BLOB else "utf8mb4"
    return Column(0, field.name, kind, -1, decimal, charset=charset, flags=flags)


def _bits(value: Any) -> str:
    return str(int(value) if isinstance(value, bool) else int.from_bytes(b64decode(value, validate=True), "little"))


def _day(value: int) -> str:
    return (_DAY_ZERO + dt.timedelta(days=value)).isoformat()


def _zoned(text: str, zone: str, fsp: int) -> str:
    if text.startswith(_BEFORE_ALL):
        return _ZERO_MOMENT + ("." + "0" * fsp if fsp else "")
    return in_zone(text.rstrip("Z").replace("T", " "), "UTC", zone, fsp)
