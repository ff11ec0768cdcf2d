"""Column defaults in the schemas of Debezium's messages: one function for each form that the table of types names.

In: a column with the default that TiDB stores. Out: JSON text, ``None`` where a schema shows none. Rule sources:
semantics 2.4, 1.3 (D1); reference ``pingcap/tiflow: pkg/sink/codec/debezium/codec.go`` (writeDebeziumFieldSchema).
"""

from __future__ import annotations

import re

import pyarrow as pa

from ticdc_emit.columnar.binary_text import little_endian_base64
from ticdc_emit.columnar.epochs import EARLIEST_ZONED, clock_micros, date_days, datetime_ticks, zoned_text
from ticdc_emit.columnar.jsoniter import number_text
from ticdc_emit.columnar.value_errors import ValueFault
from ticdc_emit.protocols.connect.jsontext import json_string
from ticdc_emit.schema.defaults import normalise_duration, parse_moment
from ticdc_emit.schema.model import Column

__all__ = [
    "NOW",
    "NUMBER",
    "as_text",
    "bit",
    "bit_content",
    "bit_number",
    "date",
    "datetime",
    "days_of",
    "duration",
    "literal",
    "moment_of",
    "number",
    "printed",
    "timestamp",
    "year",
]

NOW = "CURRENT_TIMESTAMP"
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TURN, _CENTURY = 70, 100  # a YEAR below 70 is of 2000, one below 100 of 1900


def literal(column: Column) -> bytes:
    """Return the default of text, labels, JSON and vectors as it is stored."""
    return json_string(_stored(column))


def number(column: Column) -> bytes | None:
    """Return the default of a number, read as a double."""
    return _double(as_text(column), turn=False)


def year(column: Column) -> bytes | None:
    """Return the default of a YEAR, which may have two digits."""
    return _double(as_text(column), turn=True)


def date(column: Column) -> bytes | None:
    """Return the default of a DATE in days."""
    return days_of(column) or _zero_unless_nullable(column)


def datetime(column: Column) -> bytes | None:
    """Return the default of a DATETIME in ms or us; an expression is 0."""
    moment = moment_of(column)
    if moment is None:  # CURRENT_TIMESTAMP, and any other expression
        return b"0"
    try:
        return printed(datetime_ticks(column, moment)) or _zero_unless_nullable(column)
    except ValueFault:  # partly zero
        return b"0"


def timestamp(column: Column) -> bytes | None:
    """Return the default of a TIMESTAMP in UTC; an expression other than CURRENT_TIMESTAMP is 0."""
    now = as_text(column) == NOW
    moment = None if now else moment_of(column)
    if moment is None and not now:
        return b"0"
    zoned = EARLIEST_ZONED if moment is None else zoned_text(column, moment, "UTC")[0].as_py()
    if zoned == EARLIEST_ZONED and column.nullable:
        return None
    return b'"%sZ"' % zoned.encode()


def duration(column: Column) -> bytes | None:
    """Return the default of a TIME in us."""
    try:
        clock = normalise_duration(as_text(column), max(column.decimal, 0))
    except ValueError:
        return None
    return printed(clock_micros(pa.array([clock], pa.string())))


def bit(column: Column) -> bytes:
    """Return the default of a BIT: a flag, or base64."""
    return bit_content(column) if column.flen == 1 else b'"%s"' % bit_content(column)


def bit_number(column: Column) -> int:
    """Return the default of a BIT as a number."""
    stored = _stored(column)
    return int.from_bytes(stored.encode() if isinstance(stored, str) else stored, "big")


def bit_content(column: Column) -> bytes:
    """Return the default of a BIT without quotes."""
    if column.flen == 1:
        return b"true" if bit_number(column) else b"false"
    return printed(little_endian_base64(pa.array([bit_number(column)], pa.uint64()), column.flen)) or b""


def as_text(column: Column) -> str:
    """Return the default as text, with any bytes."""
    stored = _stored(column)
    return stored if isinstance(stored, str) else stored.decode("utf-8", "replace")


def days_of(column: Column) -> bytes | None:
    """Return the default of a DATE in days, ``None`` if it is not a day."""
    text = as_text(column)
    try:
        return printed(date_days(pa.array([text], pa.string()))) if _DATE.fullmatch(text) else None
    except pa.ArrowInvalid:  # not a calendar day
        return None


def moment_of(column: Column) -> pa.Array | None:
    """Return a stored DATETIME or TIMESTAMP default as one canonical text, ``None`` for an expression."""
    fsp = max(column.decimal, 0)
    try:
        return pa.array([parse_moment(as_text(column), fsp).text(fsp)], pa.string())
    except ValueError:
        return None


def printed(one: pa.Array) -> bytes | None:
    """Return the text of an array's one value, ``None`` for null."""
    value = one.cast(pa.string())[0].as_py()
    return None if value is None else value.encode()


def _stored(column: Column) -> str | bytes:
    default = column.default
    assert default is not None
    return default


def _zero_unless_nullable(column: Column) -> bytes | None:
    return None if column.nullable else b"0"


def _double(text: str, *, turn: bool) -> bytes | None:
    if not NUMBER.fullmatch(text):
        return None
    value = float(text)
    if turn and value < _CENTURY:
        value += 2000 if value < _TURN else 1900
    return printed(number_text(pa.array([value], pa.float64())))
