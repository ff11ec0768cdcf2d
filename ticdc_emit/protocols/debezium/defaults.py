"""Column defaults in Debezium messages: in a field's schema, and in place of NULL.

In: a column with the default that TiDB stores. Out: JSON text. Rule sources: semantics 2.4, 1.3 (D1); reference
``pingcap/tiflow: pkg/sink/codec/debezium/codec.go`` (writeDebeziumFieldSchema, writeDebeziumFieldValue). The reference
prints a nullable column's default where a row has NULL, and reads it as if it were a value of the row: a TIMESTAMP's
default, stored in UTC, by the changefeed's clocks.
"""

from __future__ import annotations

import base64
import re

import pyarrow as pa

from ticdc_emit.columnar.bits import little_endian_base64
from ticdc_emit.columnar.epochs import EARLIEST_ZONED, clock_micros, date_days, datetime_ticks, zoned_text
from ticdc_emit.columnar.faults import ValueFault
from ticdc_emit.columnar.jsoniter import number_text
from ticdc_emit.protocols.debezium.jsontext import json_content, json_string
from ticdc_emit.protocols.debezium.options import DebeziumOptions
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.temporal import normalise_duration, parse_moment
from ticdc_emit.schema.types import INTEGER_TYPES, STRING_TYPES, MySQLType

__all__ = ["null_content", "schema_default"]

_NOW = "CURRENT_TIMESTAMP"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_LABELS = {MySQLType.ENUM, MySQLType.SET}
_TEXTS = STRING_TYPES | _LABELS | {MySQLType.JSON, MySQLType.VECTOR_FLOAT32}
_MOMENTS = {MySQLType.DATETIME, MySQLType.TIMESTAMP}
_DATES = {MySQLType.DATE, MySQLType.NEWDATE}
_INT64 = 1 << 63
_READABLE_BYTES = 2  # of a binary default; at one more TiCDC panics
_TURN, _CENTURY = 70, 100  # a YEAR below 70 is of 2000, one below 100 of 1900


def schema_default(column: Column) -> bytes | None:
    """Return the ``default`` of a field's schema, ``None`` where it shows none."""
    default, kind = column.default, column.type
    if default is None:
        return None
    if kind is MySQLType.BIT:
        return _bit(column) if column.flen == 1 else b'"%s"' % _bit(column)
    if kind in _TEXTS:
        return json_string(default)
    text = _as_text(default)
    if kind in _DATES:
        return _days(text) or _zero_unless_nullable(column)
    if kind is MySQLType.DATETIME:
        return _schema_datetime(column, text)
    if kind is MySQLType.TIMESTAMP:
        return _schema_timestamp(column, text)
    if kind is MySQLType.DURATION:
        return _micros(column, text)
    return _number(text, turn=kind is MySQLType.YEAR)


def _schema_datetime(column: Column, text: str) -> bytes | None:
    moment = _moment(column, text)
    if moment is None:  # CURRENT_TIMESTAMP, and any other expression
        return b"0"
    try:
        return _printed(datetime_ticks(column, moment)) or _zero_unless_nullable(column)
    except ValueFault:  # zero in part
        return b"0"


def _schema_timestamp(column: Column, text: str) -> bytes | None:
    moment = None if text == _NOW else _moment(column, text)
    if moment is None and text != _NOW:
        return b"0"
    zoned = EARLIEST_ZONED if moment is None else zoned_text(column, moment, "UTC")[0].as_py()
    if zoned == EARLIEST_ZONED and column.nullable:
        return None
    return b'"%sZ"' % zoned.encode()


def null_content(column: Column, options: DebeziumOptions) -> bytes | None:
    """Return what a message shows where the column is NULL, without the quotes of a value; ``None`` is ``null``.

    Raises :class:`ValueFault` (of row 0) for a default that is no value of the column, such as an expression.
    """
    default, kind = column.default, column.type
    if default is None:
        return None
    as_value = options.switches.null_default == "value"
    if kind is MySQLType.BIT:
        if not default and not as_value:
            raise _no_value(column)
        return _bit(column)
    if column.is_binary:
        return _null_binary(column, default.encode() if isinstance(default, str) else default, as_value=as_value)
    if kind is MySQLType.VECTOR_FLOAT32:
        raise _no_value(column)
    if kind in _TEXTS:
        return json_content(default)
    text = _as_text(default)
    if as_value and kind not in _MOMENTS:
        return _null_value(column, text)
    if kind is MySQLType.YEAR:
        return json_string(text)
    if kind in _DATES:
        return _days(text)
    return _null_moment(column, text, options.zone) if kind in _MOMENTS else _null_number(column, text)


def _null_binary(column: Column, raw: bytes, *, as_value: bool) -> bytes:
    if as_value:
        return base64.b64encode(raw)
    if len(raw) > _READABLE_BYTES:
        raise _no_value(column)
    if not column.name:
        raise TypeError("this default shows its column's name, which columns of one kind do not share")
    # TiCDC writes the member twice, first as a value, then as the schema has it
    return base64.b64encode(raw) + b'",%s:"%s' % (json_string(column.name), json_content(raw))


def _null_value(column: Column, text: str) -> bytes:
    """Return what TiCDC shows of a default that it reads as a value: 0 of a TIME and of what is no number."""
    kind = column.type
    if kind in _DATES:
        raise _no_value(column)  # TiCDC panics
    if kind in INTEGER_TYPES or kind is MySQLType.YEAR:
        number = int(text) if _INTEGER.fullmatch(text) else 0
        return b"%d" % (number if -_INT64 <= number < _INT64 else 0)
    if kind is MySQLType.DURATION or not _NUMBER.fullmatch(text):
        return b"0"
    width = pa.float32() if kind is MySQLType.FLOAT else pa.float64()
    return _printed(number_text(pa.array([float(text)], width))) or b"0"


def _null_moment(column: Column, text: str, zone: str) -> bytes | None:
    if text == _NOW:
        return b"0" if column.type is MySQLType.DATETIME else None
    moment = _moment(column, text)
    if moment is None:
        raise _no_value(column)
    if column.type is MySQLType.DATETIME:
        return _printed(datetime_ticks(column, moment))
    zoned: str = zoned_text(column, moment, zone)[0].as_py()
    return None if zoned == EARLIEST_ZONED else zoned.encode()


def _null_number(column: Column, text: str) -> bytes:
    shown: bytes | None
    if column.type in INTEGER_TYPES:
        shown = _integer(text)
    elif column.type is MySQLType.DURATION:
        shown = _micros(column, text)
    else:
        shown = _number(text)
    if shown is None:
        raise _no_value(column)
    return shown


def _as_text(default: str | bytes) -> str:
    return default if isinstance(default, str) else default.decode("utf-8", "replace")


def _zero_unless_nullable(column: Column) -> bytes | None:
    return None if column.nullable else b"0"


def _bit(column: Column) -> bytes:
    default = column.default
    assert default is not None
    number = int.from_bytes(default.encode() if isinstance(default, str) else default, "big")
    if column.flen == 1:
        return b"true" if number else b"false"
    return _printed(little_endian_base64(pa.array([number], pa.uint64()), column.flen)) or b""


def _printed(one: pa.Array) -> bytes | None:
    value = one.cast(pa.string())[0].as_py()
    return None if value is None else value.encode()


def _days(text: str) -> bytes | None:
    try:
        return _printed(date_days(pa.array([text], pa.string()))) if _DATE.fullmatch(text) else None
    except pa.ArrowInvalid:  # no day of the calendar
        return None


def _moment(column: Column, text: str) -> pa.Array | None:
    """Return a stored DATETIME or TIMESTAMP default as one canonical text, ``None`` for an expression."""
    fsp = max(column.decimal, 0)
    try:
        return pa.array([parse_moment(text, fsp).text(fsp)], pa.string())
    except ValueError:
        return None


def _micros(column: Column, text: str) -> bytes | None:
    try:
        clock = normalise_duration(text, max(column.decimal, 0))
    except ValueError:
        return None
    return _printed(clock_micros(pa.array([clock], pa.string())))


def _integer(text: str) -> bytes | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return b"%d" % (number - 2 * _INT64 if number >= _INT64 else number)


def _number(text: str, *, turn: bool = False) -> bytes | None:
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    if turn and value < _CENTURY:
        value += 2000 if value < _TURN else 1900
    return _printed(number_text(pa.array([value], pa.float64())))


def _no_value(column: Column) -> ValueFault:
    return ValueFault(
        0,
        f"Debezium messages show the default in place of NULL, and {column.default!r} is no value",
        "Give the column a literal default, or no NULL",
    )
