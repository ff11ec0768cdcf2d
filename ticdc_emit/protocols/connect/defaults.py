"""How Debezium's protocols read values: the time zone of TIMESTAMP values, and differences of the lineages."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from ticdc_emit.columnar.binary_text import little_endian_base64
from ticdc_emit.columnar.epochs import EARLIEST_ZONED, clock_micros, date_days, datetime_ticks, zoned_text
from ticdc_emit.columnar.escape import JSONITER
from ticdc_emit.columnar.jsoniter import number_text
from ticdc_emit.columnar.value_errors import ValueRefused, refuse_any
from ticdc_emit.config.lineages import DebeziumSwitches
from ticdc_emit.schema.defaults import normalise_duration, parse_moment
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import (
    DATE_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    MOMENT_TYPES,
    STRING_TYPES,
    MySQLType,
)

__all__ = [
    "NOW",
    "NUMBER",
    "Json",
    "Reading",
    "Value",
    "as_text",
    "bit",
    "bit_content",
    "bit_number",
    "date",
    "datetime",
    "days_of",
    "duration",
    "json_content",
    "json_object",
    "json_string",
    "json_text",
    "literal",
    "moment_of",
    "null_content",
    "null_value",
    "number",
    "printed",
    "refused_at",
    "timestamp",
    "year",
]


@dataclass(frozen=True)
class Reading:
    """``zone``: the changefeed's time zone, an IANA name."""

    zone: str = "UTC"
    switches: DebeziumSwitches = DebeziumSwitches()


Json: TypeAlias = "str | bytes | bool | int | Sequence[Json] | Mapping[str, Json] | None"

_ESCAPED = re.compile(rb'["\\\x00-\x1f]')


def json_content(text: str | bytes) -> bytes:
    """Return text as the content of a JSON string."""
    raw = text.encode() if isinstance(text, str) else text
    return _ESCAPED.sub(lambda match: JSONITER.replacement(match[0][0]), raw)


def json_string(text: str | bytes) -> bytes:
    """Return text as a JSON string with quotes."""
    return b'"%s"' % json_content(text)


def json_text(value: Json) -> bytes:
    """Return any value as JSON text."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return json_string(value)
    if value is None:
        return b"null"
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, int):
        return b"%d" % value
    if isinstance(value, Mapping):
        return json_object(*value.items())
    return b"[" + b",".join(map(json_text, value)) + b"]"


def json_object(*members: tuple[str, Json]) -> bytes:
    """Return an object of members, in this order."""
    return b"{" + b",".join(json_string(name) + b":" + json_text(value) for name, value in members) + b"}"


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
    except ValueRefused:  # partly zero
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


Value: TypeAlias = "int | float | Decimal | str | bytes | None"

_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_TEXTS = STRING_TYPES | LABEL_TYPES | {MySQLType.JSON}
_INT64 = 1 << 63
_READABLE_BYTES = 2  # length of a binary default; classic panics for longer ones


def null_value(column: Column, reading: Reading) -> Value:
    """Return the value that replaces NULL in ``next``; ``None`` is NULL itself.

    A BIT is a number, binary data ``bytes``, labels and text are text as it is stored, a DATETIME is ms or us, a
    TIMESTAMP is text in UTC without the closing ``Z``. Raises :class:`ValueRefused` (of row 0) for a default that is
    not a value of the column, such as an expression, and if TiCDC panics.
    """
    kind = column.type
    if column.default is None:
        return None
    if kind is MySQLType.BIT:
        return bit_number(column)
    if kind in _TEXTS:
        return _raw(column.default) if column.is_binary else column.default
    if kind in MOMENT_TYPES:
        return _moment(column, reading.zone)
    if kind in DATE_TYPES or kind is MySQLType.VECTOR_FLOAT32:
        raise _no_value(column)
    if kind is MySQLType.DURATION:
        return 0
    return _number(column, as_text(column))


def _number(column: Column, text: str) -> Value:
    """Return a number; 0 for text that TiDB does not read as one."""
    if column.type in INTEGER_TYPES or column.type is MySQLType.YEAR:
        number = int(text) if _INTEGER.fullmatch(text) else 0
        return number if -_INT64 <= number < _INT64 else 0
    if not NUMBER.fullmatch(text):
        return 0
    return float(text) if column.type in FLOAT_TYPES else Decimal(text)


def _moment(column: Column, zone: str) -> int | str | None:
    if as_text(column) == NOW:
        return 0 if column.type is MySQLType.DATETIME else None
    moment = moment_of(column)
    if moment is None:
        raise _no_value(column)
    if column.type is MySQLType.DATETIME:
        ticks: int | None = datetime_ticks(column, moment)[0].as_py()
        return ticks
    zoned: str = zoned_text(column, moment, zone)[0].as_py()
    return None if zoned == EARLIEST_ZONED else zoned


def null_content(column: Column, reading: Reading) -> bytes | None:
    """Return the replacement of NULL in a JSON message, without quotes; ``None`` is ``null``.

    Raises the errors of :func:`null_value`.
    """
    if column.default is None:
        return None
    if reading.switches.null_default == "value":
        return _shown_value(column, null_value(column, reading))
    return _shown_text(column, reading)


@contextmanager
def refused_at(nulls: pa.Array) -> Iterator[None]:
    """If there is no value to replace NULL, refuse the rows that are NULL (a boolean for each row)."""
    try:
        yield
    except ValueRefused as fault:
        refuse_any(np.asarray(nulls.to_numpy(zero_copy_only=False)), fault.reason, fault.remedy)
        raise


def _shown_value(column: Column, value: Value) -> bytes | None:
    if value is None:
        return None
    if column.type is MySQLType.BIT:
        return bit_content(column)
    if isinstance(value, bytes) and column.is_binary:
        return base64.b64encode(value)
    if isinstance(value, str | bytes):
        return json_content(value)
    if isinstance(value, int):
        return b"%d" % value
    width = pa.float32() if column.type is MySQLType.FLOAT else pa.float64()
    return printed(number_text(pa.array([float(value)], width)))


def _shown_text(column: Column, reading: Reading) -> bytes | None:
    default, kind = column.default, column.type
    assert default is not None
    if kind is MySQLType.BIT:
        if not default:
            raise _no_value(column)
        return bit_content(column)
    if column.is_binary:
        return _twice(column, _raw(default))
    if kind is MySQLType.VECTOR_FLOAT32:
        raise _no_value(column)
    if kind in _TEXTS:
        return json_content(default)
    if kind is MySQLType.YEAR:
        return json_string(as_text(column))
    if kind in DATE_TYPES:
        return days_of(column)
    if kind in MOMENT_TYPES:
        moment = _moment(column, reading.zone)
        return None if moment is None else str(moment).encode()
    return _shown_number(column)


def _shown_number(column: Column) -> bytes:
    shown: bytes | None
    if column.type in INTEGER_TYPES:
        shown = _integer(as_text(column))
    elif column.type is MySQLType.DURATION:
        shown = duration(column)
    else:
        shown = number(column)
    if shown is None:
        raise _no_value(column)
    return shown


def _integer(text: str) -> bytes | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return b"%d" % (number - 2 * _INT64 if number >= _INT64 else number)


def _twice(column: Column, raw: bytes) -> bytes:
    """Return ``classic``'s form of binary data: the member twice, first as a value, then as in the schema."""
    if len(raw) > _READABLE_BYTES:
        raise _no_value(column)
    if not column.name:
        raise TypeError("this default shows its column's name, which columns of one kind do not share")
    return base64.b64encode(raw) + b'",%s:"%s' % (json_string(column.name), json_content(raw))


def _raw(default: str | bytes) -> bytes:
    return default.encode() if isinstance(default, str) else default


def _no_value(column: Column) -> ValueRefused:
    return ValueRefused(
        0,
        f"Debezium messages show the default in place of NULL, and {column.default!r} is not a value",
        "Give the column a literal default, or no NULL",
    )
