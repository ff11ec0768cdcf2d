"""Values and defaults in Debezium's messages, also those that replace NULL: one row for each MySQL type.

Rule sources: protocol document "Data type mapping"; semantics 2.4; ``pingcap/tiflow: pkg/sink/codec/debezium/codec.go``
(writeDebeziumFieldValue).
"""

from __future__ import annotations

import base64
import datetime as dt
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.binary_text import base64_text, hex_text, little_endian_base64, url_safe_base64_text
from ticdc_emit.columnar.buffers import FEW, to_text
from ticdc_emit.columnar.decimals import decimal_as_double
from ticdc_emit.columnar.epochs import EARLIEST_ZONED, clock_micros, date_days, datetime_ticks, zoned_text
from ticdc_emit.columnar.escape import JSONITER, escape_one, escape_text, quoted
from ticdc_emit.columnar.floats import number_text
from ticdc_emit.columnar.strings import labels_of
from ticdc_emit.columnar.value_errors import ValueRefused, refuse_any
from ticdc_emit.columnar.values import plain_text, text_content
from ticdc_emit.config.switches import DebeziumSwitches
from ticdc_emit.protocols.debezium_common.schema import DebeziumSettings, is_numeric_text
from ticdc_emit.schema.defaults import normalise_duration, parse_moment
from ticdc_emit.schema.model import NOW, Column
from ticdc_emit.sql.types import (
    DATE_TYPES,
    INTEGER_TYPES,
    INTEGERS_AND_YEAR,
    LABEL_TYPES,
    MOMENT_TYPES,
    STRING_TYPES,
    MySQLType,
)

_BOOLEANS = pa.array(["false", "true"])


def label_content(column: Column, values: pa.Array, settings: DebeziumSettings) -> pa.Array:
    """Labels of an ENUM or SET, made once for each distinct value."""
    if len(values) <= FEW:
        return escape_text(pa.array(labels_of(column, values), pa.string()), JSONITER)
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    labels = pa.array(labels_of(column, encoded.dictionary), pa.string())
    return escape_text(labels, JSONITER).take(encoded.indices)


def zoned(column: Column, values: pa.Array, settings: DebeziumSettings) -> pa.Array:
    return zoned_text(column, values, settings.zone, "Z", early=settings.switches.early_timestamps)


def days(column: Column, values: pa.Array, settings: DebeziumSettings) -> pa.Array:
    """Return DATE text as days since the epoch, ``int32``; an invalid day is null, or 0 if NOT NULL."""
    return _filled(column, date_days(values, settings.switches.short_years))


def ticks(column: Column, values: pa.Array, settings: DebeziumSettings) -> pa.Array:
    """Return DATETIME text as ms or us since the epoch, ``int64``; an invalid day as in :func:`days`."""
    switches = settings.switches
    return _filled(column, datetime_ticks(column, values, switches.partly_zero, switches.short_years))


def _filled(column: Column, numbers: pa.Array) -> pa.Array:
    return numbers if column.nullable else numbers.fill_null(0)


NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TURN, _CENTURY = 70, 100  # a YEAR below 70 is of 2000, one below 100 of 1900


def literal_default(column: Column) -> bytes:
    """Return the default of text, labels, JSON and vectors as it is stored."""
    return quoted(_stored(column), JSONITER)


def number_default(column: Column) -> bytes | None:
    """Return the default of a number, read as a double."""
    return _double(default_text(column), turn=False)


def datetime_default(column: Column) -> bytes | None:
    """Return the default of a DATETIME in ms or us; an expression is 0."""
    moment = default_moment(column)
    if moment is None:  # CURRENT_TIMESTAMP, and any other expression
        return b"0"
    try:
        return printed(datetime_ticks(column, moment)) or _zero_unless_nullable(column)
    except ValueRefused:  # partly zero
        return b"0"


def timestamp_default(column: Column) -> bytes | None:
    """Return the default of a TIMESTAMP in UTC; an expression other than CURRENT_TIMESTAMP is 0."""
    now = default_text(column) == NOW
    moment = None if now else default_moment(column)
    if moment is None and not now:
        return b"0"
    zoned = EARLIEST_ZONED if moment is None else zoned_text(column, moment, "UTC")[0].as_py()
    if zoned == EARLIEST_ZONED and column.nullable:
        return None
    return b'"%sZ"' % zoned.encode()


def duration_default(column: Column) -> bytes | None:
    """Return the default of a TIME in us."""
    try:
        clock = normalise_duration(default_text(column), column.fraction_digits)
    except ValueError:
        return None
    return printed(clock_micros(pa.array([clock], pa.string())))


def default_bits(column: Column) -> int:
    stored = _stored(column)
    return int.from_bytes(stored.encode() if isinstance(stored, str) else stored, "big")


def bit_content(column: Column) -> bytes:
    """Return the default of a BIT without quotes."""
    if column.flen == 1:
        return b"true" if default_bits(column) else b"false"
    return printed(little_endian_base64(pa.array([default_bits(column)], pa.uint64()), column.flen)) or b""


def default_text(column: Column) -> str:
    """Return the default as text, with any bytes."""
    stored = _stored(column)
    return stored if isinstance(stored, str) else stored.decode("utf-8", "replace")


def default_days(column: Column) -> bytes | None:
    """Return the default of a DATE in days, ``None`` if it is not a day."""
    text = default_text(column)
    try:
        return printed(date_days(pa.array([text], pa.string()))) if _DATE.fullmatch(text) else None
    except pa.ArrowInvalid:  # not a calendar day
        return None


def default_moment(column: Column) -> pa.Array | None:
    """Return a stored DATETIME or TIMESTAMP default as one canonical text, ``None`` for an expression."""
    fsp = column.fraction_digits
    try:
        return pa.array([parse_moment(default_text(column), fsp).text(fsp)], pa.string())
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


Content: TypeAlias = Callable[[Column, pa.Array, DebeziumSettings], pa.Array]
Default: TypeAlias = Callable[[Column], "bytes | None"]


@dataclass(frozen=True)
class _Row:
    """``content``: a member's value; ``quotes``: the bytes before and after it. ``default``: the member of a schema."""

    content: Content
    default: Default
    quotes: tuple[bytes, bytes] = (b"", b"")


_BINARY_FORMS = {"base64": base64_text, "bytes": base64_text, "base64-url-safe": url_safe_base64_text, "hex": hex_text}
_TEXT, _ZULU = (b'"', b'"'), (b'"', b'Z"')
_INTEGER_ROW = _Row(lambda column, values, settings: to_text(values), number_default)
_FLOAT_ROW = _Row(lambda column, values, settings: number_text(values), number_default)
_DATE_ROW = _Row(
    lambda column, values, settings: to_text(days(column, values, settings)),
    lambda column: default_days(column) or _zero_unless_nullable(column),
)
_TYPES = {
    **dict.fromkeys(INTEGER_TYPES, _INTEGER_ROW),
    # beyond int64 they wrap
    MySQLType.LONGLONG: _Row(lambda column, values, settings: to_text(values.view(pa.int64())), number_default),
    MySQLType.FLOAT: _FLOAT_ROW,
    MySQLType.DOUBLE: _FLOAT_ROW,
    MySQLType.NEWDECIMAL: _Row(lambda column, values, settings: decimal_as_double(values), number_default),
    MySQLType.YEAR: replace(_INTEGER_ROW, default=lambda column: _double(default_text(column), turn=True)),
    MySQLType.DATE: _DATE_ROW,
    MySQLType.NEWDATE: _DATE_ROW,
    MySQLType.DATETIME: _Row(
        lambda column, values, settings: to_text(ticks(column, values, settings)), datetime_default
    ),
    MySQLType.TIMESTAMP: _Row(
        lambda column, values, settings: zoned_text(
            column, values, settings.zone, early=settings.switches.early_timestamps
        ),
        timestamp_default,
        _ZULU,
    ),
    MySQLType.DURATION: _Row(lambda column, values, settings: to_text(clock_micros(values)), duration_default),
    **dict.fromkeys(
        STRING_TYPES | {MySQLType.JSON},
        _Row(
            lambda column, values, settings: (
                _BINARY_FORMS[settings.codec.debezium_binary_handling_mode](values)
                if column.is_binary
                else text_content(column, values, JSONITER)
            ),
            literal_default,
            _TEXT,
        ),
    ),
    MySQLType.ENUM: _Row(label_content, literal_default, _TEXT),
    MySQLType.SET: _Row(label_content, literal_default, _TEXT),
    MySQLType.BIT: _Row(
        lambda column, values, settings: little_endian_base64(values, column.flen),
        lambda column: b'"%s"' % bit_content(column),
        _TEXT,
    ),
    MySQLType.VECTOR_FLOAT32: _Row(lambda column, values, settings: values, literal_default, _TEXT),
}
_ONE_BIT = _Row(lambda column, values, settings: _BOOLEANS.take(values), bit_content)
_NUMBER_AS_TEXT = _Row(lambda column, values, settings: plain_text(column, values), literal_default, _TEXT)


def _row(column: Column, settings: DebeziumSettings) -> _Row:
    if is_numeric_text(column, settings.codec):
        return _NUMBER_AS_TEXT
    return _ONE_BIT if column.type is MySQLType.BIT and column.flen == 1 else _TYPES[column.type]


def around(column: Column, settings: DebeziumSettings) -> tuple[bytes, bytes]:
    """Return the bytes before and after a value of the column; every TIMESTAMP ends with ``Z``."""
    return _row(column, settings).quotes


def content(column: Column, values: pa.Array, settings: DebeziumSettings) -> pa.Array:
    """Return the content of values, defaults for NULL. Raises :class:`ValueRefused`, also for missing local times."""
    text = _row(column, settings).content(column, values, settings)
    if values.null_count == 0 or not replaces_null(column, settings.switches):
        return text
    nulls = pc.is_null(values)
    with refused_at(nulls):
        shown = null_content(column, settings)
    # binary: a default may not be UTF-8
    return text if shown is None else pc.if_else(nulls, pa.scalar(shown, pa.binary()), text.cast(pa.binary()))


def schema_default(column: Column, settings: DebeziumSettings) -> bytes | None:
    """Return the ``default`` of a field's schema; ``None`` if it has none."""
    switches = settings.switches
    if column.default is None or switches.defaults == "none":
        return None
    if switches.defaults == "stored":
        return _stored_default(column)
    if switches.exact_defaults and column.is_binary:
        return b'"%s"' % _shown_binary(_raw(column.default), settings)
    if switches.exact_defaults and column.type is MySQLType.LONGLONG and not column.unsigned:
        return _integer(default_text(column))
    return _row(column, settings).default(column)


_GO_MOMENT = re.compile(r"(\d{4})-(\d{2}-\d{2} \d{1,2}:\d{2}:\d{2}(?:\.\d+)?)", re.ASCII)
_LEAP_YEAR = "2000"


def _stored_default(column: Column) -> bytes | None:
    """Return the default as TiDB stores it, number or text. DATE and TIME have none, because they are not numbers."""
    if column.type in MOMENT_TYPES:
        text = default_text(column)
        if _is_go_moment(text):
            return quoted(text, JSONITER)
        return b"0" if text == NOW or not column.nullable else None
    if column.type in _TEXTS or column.type in (MySQLType.BIT, MySQLType.VECTOR_FLOAT32):
        return literal_default(column)
    return number_default(column)


def _is_go_moment(text: str) -> bool:
    parts = _GO_MOMENT.fullmatch(text)
    if parts is None:
        return False
    year, rest = parts.groups()
    try:
        dt.datetime.strptime(f"{_LEAP_YEAR if year == '0000' else year}-{rest.partition('.')[0]}", "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return False
    return True


def replaces_null(column: Column, switches: DebeziumSwitches) -> bool:
    """Return whether messages show the default of a column in place of NULL."""
    return column.default is not None and switches.null_values == "default"


Value: TypeAlias = "int | float | Decimal | str | bytes | None"
_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_TEXTS = STRING_TYPES | LABEL_TYPES | {MySQLType.JSON}
_INT64 = 1 << 63
_READABLE_BYTES = 2  # length of a binary default; where longer ones are refused, TiCDC panics


def null_value(column: Column, settings: DebeziumSettings) -> Value:
    """Return the value that replaces NULL in ``next``; ``None`` is NULL itself.

    A BIT is a number, binary data ``bytes``, labels and text are as stored, a DATETIME ms or us, a TIMESTAMP text in
    UTC without ``Z``. Raises :class:`ValueRefused` (of row 0) for a default that is not a value, and if TiCDC panics.
    """
    kind = column.type
    if column.default is None or not replaces_null(column, settings.switches):
        return None
    if kind in LABEL_TYPES and settings.switches.null_labels == "empty":
        return ""
    if kind is MySQLType.BIT:
        return default_bits(column)
    if kind in _TEXTS:
        return _raw(column.default) if column.is_binary else column.default
    if kind in MOMENT_TYPES:
        return _moment(column, settings.zone)
    if kind in DATE_TYPES or kind is MySQLType.VECTOR_FLOAT32:
        raise _no_value(column)
    if kind is MySQLType.DURATION:
        return 0
    return _number(column, default_text(column))


def _number(column: Column, text: str) -> Value:
    """Return a number; 0 for text that TiDB does not read as one."""
    if column.type in INTEGERS_AND_YEAR:
        number = int(text) if _INTEGER.fullmatch(text) else 0
        return number if -_INT64 <= number < _INT64 else 0
    if not NUMBER.fullmatch(text):
        return 0
    if column.type is MySQLType.FLOAT:
        return float(np.float32(text))
    return float(text) if column.type is MySQLType.DOUBLE else Decimal(text)


def _moment(column: Column, zone: str) -> int | str | None:
    if default_text(column) == NOW:
        return 0 if column.type is MySQLType.DATETIME else None
    moment = default_moment(column)
    if moment is None:
        raise _no_value(column)
    if column.type is MySQLType.DATETIME:
        ticks: int | None = datetime_ticks(column, moment)[0].as_py()
        return ticks
    zoned: str = zoned_text(column, moment, zone)[0].as_py()
    return None if zoned == EARLIEST_ZONED else zoned


def null_content(column: Column, settings: DebeziumSettings) -> bytes | None:
    """Return :func:`null_value` in JSON, without quotes; ``None`` is ``null``."""
    if not replaces_null(column, settings.switches):
        return None
    if settings.switches.null_default == "value":
        return _shown_value(column, null_value(column, settings), settings)
    if column.type in LABEL_TYPES and settings.switches.null_labels == "empty":
        return b""
    return _shown_text(column, settings)


@contextmanager
def refused_at(nulls: pa.Array) -> Iterator[None]:
    """If there is no value to replace NULL, refuse the rows that are NULL (a boolean for each row)."""
    try:
        yield
    except ValueRefused as fault:
        refuse_any(np.asarray(nulls.to_numpy(zero_copy_only=False)), fault.reason, fault.remedy)
        raise


def _shown_binary(raw: bytes, settings: DebeziumSettings) -> bytes:
    return printed(_BINARY_FORMS[settings.codec.debezium_binary_handling_mode](pa.array([raw], pa.binary()))) or b""


def decimal_default_text(value: Decimal) -> str:
    """Return the text of a DECIMAL default that replaces NULL: all digits that TiDB stores."""
    return f"{value if value else abs(value):f}"


def _shown_value(column: Column, value: Value, settings: DebeziumSettings) -> bytes | None:
    if value is None:
        return None
    if column.type is MySQLType.BIT:
        return bit_content(column)
    if isinstance(value, bytes) and column.is_binary:
        return _shown_binary(value, settings)
    if isinstance(value, str | bytes):
        return escape_one(value, JSONITER)
    if isinstance(value, int):
        return b"%d" % value
    if isinstance(value, Decimal) and is_numeric_text(column, settings.codec):
        return decimal_default_text(value).encode()
    width = pa.float32() if column.type is MySQLType.FLOAT else pa.float64()
    return printed(number_text(pa.array([float(value)], width)))


def _shown_text(column: Column, settings: DebeziumSettings) -> bytes | None:
    default, kind = column.default, column.type
    assert default is not None
    if kind is MySQLType.BIT:
        if not default:
            raise _no_value(column)
        return bit_content(column)
    if column.is_binary:
        return _twice(column, _raw(default), settings.switches)
    if kind is MySQLType.VECTOR_FLOAT32:
        raise _no_value(column)
    if kind in _TEXTS:
        return escape_one(default, JSONITER)
    if kind is MySQLType.YEAR:
        return quoted(default_text(column), JSONITER)
    if kind in DATE_TYPES:
        return default_days(column)
    if kind in MOMENT_TYPES:
        moment = _moment(column, settings.zone)
        return None if moment is None else str(moment).encode()
    shown = _integer(default_text(column)) if kind in INTEGER_TYPES else _TYPES[kind].default(column)
    if shown is None:
        raise _no_value(column)
    return shown


def _integer(text: str) -> bytes | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return b"%d" % (number - 2 * _INT64 if number >= _INT64 else number)


def _twice(column: Column, raw: bytes, switches: DebeziumSwitches) -> bytes:
    if len(raw) > _READABLE_BYTES and switches.long_binary_default == "refused":
        raise _no_value(column)
    if not column.name:
        raise TypeError("this default shows its column's name, which columns of one kind do not share")
    return base64.b64encode(raw) + b'",%s:"%s' % (quoted(column.name, JSONITER), escape_one(raw, JSONITER))


def _raw(default: str | bytes) -> bytes:
    return default.encode() if isinstance(default, str) else default


def _no_value(column: Column) -> ValueRefused:
    return ValueRefused(
        0,
        f"Debezium messages show the default in place of NULL, and {column.default!r} is not a value",
        "Give the column a literal default, or no NULL",
    )
