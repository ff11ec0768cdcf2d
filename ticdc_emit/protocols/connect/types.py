"""Values in Debezium's JSON messages: one function for each form in the table of types.

In: a column and accepted values (``columnar.values``). Out: the content of each member, null for ``null``. Rule
sources: protocol document "Data type mapping"; semantics 2.4; reference ``pingcap/tiflow:
pkg/sink/codec/debezium/codec.go`` (writeDebeziumFieldValue).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.binary_text import base64_text, little_endian_base64
from ticdc_emit.columnar.buffers import FEW, to_text
from ticdc_emit.columnar.epochs import clock_micros, date_days, datetime_ticks, zoned_text
from ticdc_emit.columnar.escape import JSONITER, escape_text
from ticdc_emit.columnar.jsoniter import decimal_as_double, number_text
from ticdc_emit.columnar.strings import labels_of
from ticdc_emit.columnar.values import text_content
from ticdc_emit.protocols.connect import defaults
from ticdc_emit.protocols.connect.defaults import Reading, null_content, refused_at
from ticdc_emit.protocols.names import escaped_label
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import STRING_TYPES, TYPES, MySQLType, type_name

__all__ = [
    "Connect",
    "around",
    "as_it_is",
    "connect_type",
    "content",
    "days",
    "days_content",
    "decimal_content",
    "flag_content",
    "float_content",
    "integer_content",
    "jdbc_type",
    "label_content",
    "little_endian_content",
    "micros_content",
    "schema_default",
    "string_content",
    "ticks",
    "ticks_content",
    "tidb_type",
    "wrapped_content",
    "zoned",
    "zoned_content",
]


_BOOLEANS = pa.array(["false", "true"])


def as_it_is(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """Text without characters that JSON escapes."""
    return values


def integer_content(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """Numbers."""
    return to_text(values)


def wrapped_content(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """Numbers of 64 bits: beyond int64 they wrap."""
    return to_text(values.view(pa.int64()))


def float_content(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """Floating point numbers."""
    return number_text(values)


def decimal_content(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """The doubles nearest to decimals."""
    return decimal_as_double(values)


def string_content(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """Text and JSON; binary data in base64."""
    return base64_text(values) if column.is_binary else text_content(column, values, JSONITER)


def label_content(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """Labels of an ENUM or SET, made once for each distinct value."""
    if len(values) <= FEW:
        return escape_text(pa.array(labels_of(column, values), pa.string()), JSONITER)
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    labels = pa.array(labels_of(column, encoded.dictionary), pa.string())
    return escape_text(labels, JSONITER).take(encoded.indices)


def flag_content(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """BIT(1)."""
    return _BOOLEANS.take(values)


def little_endian_content(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """Longer BIT columns in base64."""
    return little_endian_base64(values, column.flen)


def days_content(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """:func:`days` as text."""
    return to_text(days(column, values, reading))


def ticks_content(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """:func:`ticks` as text."""
    return to_text(ticks(column, values, reading))


def micros_content(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """TIME in us."""
    return to_text(clock_micros(values))


def zoned_content(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """TIMESTAMP in UTC, without the final ``Z``."""
    return zoned_text(column, values, reading.zone)


def zoned(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """Return TIMESTAMP in UTC."""
    return zoned_text(column, values, reading.zone, "Z")


def days(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """Return DATE text as days since the epoch, ``int32``; an invalid day is null, or 0 if NOT NULL."""
    return _filled(column, date_days(values))


def ticks(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """Return DATETIME text as ms or us since the epoch, ``int64``; an invalid day as in :func:`days`."""
    return _filled(column, datetime_ticks(column, values, reading.switches.partly_zero))


def _filled(column: Column, numbers: pa.Array) -> pa.Array:
    return numbers if column.nullable else numbers.fill_null(0)


Content: TypeAlias = Callable[[Column, pa.Array, Reading], pa.Array]
Default: TypeAlias = Callable[[Column], "bytes | None"]


class Connect(NamedTuple):
    """A Kafka Connect type. ``name``: its meaning, Debezium's semantic type."""

    type: str
    name: str | None = None
    version: int | None = None
    parameters: Mapping[str, str] = {}


@dataclass(frozen=True)
class _Row:
    """``content``: a member's value; ``quotes``: the bytes before and after it. ``default``: the member of a schema.
    ``connect``: a function for a type that does not follow from :data:`TYPES` alone. ``unsigned``: the plain type of
    UNSIGNED, if it differs.
    """

    content: Content
    default: Default
    quotes: tuple[bytes, bytes] = (b"", b"")
    connect: Callable[[Column, Connect], Connect] | None = None
    unsigned: str | None = None


_MILLIS_FSP = 3
_TEXT, _ZULU = (b'"', b'"'), (b'"', b'Z"')
_SIGN_IS_SILENT = frozenset({MySQLType.YEAR, MySQLType.BIT, MySQLType.VARCHAR, MySQLType.STRING, MySQLType.NEWDECIMAL})


def _float(column: Column, connect: Connect) -> Connect:
    return connect if column.decimal < 0 else Connect("double")


def _datetime(column: Column, connect: Connect) -> Connect:
    return connect if column.decimal <= _MILLIS_FSP else connect._replace(name="io.debezium.time.MicroTimestamp")


def _bits(column: Column, connect: Connect) -> Connect:
    return Connect("boolean") if column.flen == 1 else connect._replace(parameters={"length": str(column.flen)})


def _enum(column: Column, connect: Connect) -> Connect:
    return connect._replace(parameters={"allowed": ",".join(map(escaped_label, column.elems))})


def _set(column: Column, connect: Connect) -> Connect:
    return connect._replace(parameters={"allowed": ",".join(column.elems)})


def _vector(column: Column, connect: Connect) -> Connect:
    return connect._replace(version=None)


_INTEGER = _Row(integer_content, defaults.number)
_CHARACTERS = _Row(string_content, defaults.literal, _TEXT)
_DATE = _Row(days_content, defaults.date)
_TYPES = {
    MySQLType.TINY: _INTEGER,
    MySQLType.SHORT: replace(_INTEGER, unsigned="int32"),
    MySQLType.INT24: _INTEGER,
    MySQLType.LONG: replace(_INTEGER, unsigned="int64"),
    MySQLType.LONGLONG: _Row(wrapped_content, defaults.number),
    MySQLType.FLOAT: _Row(float_content, defaults.number, connect=_float),
    MySQLType.DOUBLE: _Row(float_content, defaults.number),
    MySQLType.NEWDECIMAL: _Row(decimal_content, defaults.number),
    MySQLType.YEAR: _Row(integer_content, defaults.year),
    MySQLType.DATE: _DATE,
    MySQLType.NEWDATE: _DATE,
    MySQLType.DATETIME: _Row(ticks_content, defaults.datetime, connect=_datetime),
    MySQLType.TIMESTAMP: _Row(zoned_content, defaults.timestamp, _ZULU),
    MySQLType.DURATION: _Row(micros_content, defaults.duration),
    **dict.fromkeys(STRING_TYPES | {MySQLType.JSON}, _CHARACTERS),
    MySQLType.ENUM: _Row(label_content, defaults.literal, _TEXT, _enum),
    MySQLType.SET: _Row(label_content, defaults.literal, _TEXT, _set),
    MySQLType.BIT: _Row(little_endian_content, defaults.bit, _TEXT, _bits),
    MySQLType.VECTOR_FLOAT32: _Row(as_it_is, defaults.literal, _TEXT, _vector),
}
_CONNECT = {
    kind: Connect(facts.connect, facts.connect_name, 1) if facts.connect_name else Connect(facts.connect)
    for kind, facts in TYPES.items()
}
_ONE_BIT = replace(_TYPES[MySQLType.BIT], content=flag_content, quotes=(b"", b""))


def _row(column: Column) -> _Row:
    return _ONE_BIT if column.type is MySQLType.BIT and column.flen == 1 else _TYPES[column.type]


def connect_type(column: Column) -> Connect:
    """Return the Kafka Connect type of a column."""
    row = _row(column)
    if column.unsigned and row.unsigned is not None:
        return Connect(row.unsigned)
    connect = _CONNECT[column.type]
    return connect if row.connect is None else row.connect(column, connect)


def around(column: Column) -> tuple[bytes, bytes]:
    """Return the bytes before and after a value of the column; every TIMESTAMP ends with ``Z``."""
    return _row(column).quotes


def content(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """Return the content of each value, null for ``null``; a default replaces NULL.

    Raises :class:`ValueRefused` for a TIMESTAMP that does not exist in the changefeed's time zone, and for a NULL whose
    default is not a value.
    """
    text = _row(column).content(column, values, reading)
    if values.null_count == 0 or column.default is None:
        return text
    nulls = pc.is_null(values)
    with refused_at(nulls):
        shown = null_content(column, reading)
    # binary: a default may not be UTF-8
    return text if shown is None else pc.if_else(nulls, pa.scalar(shown, pa.binary()), text.cast(pa.binary()))


def schema_default(column: Column) -> bytes | None:
    """Return the ``default`` of a field's schema; ``None`` if it has none."""
    return None if column.default is None else _row(column).default(column)


def jdbc_type(column: Column) -> int:
    """Return the number of a column's JDBC type."""
    facts = TYPES[column.type]
    return facts.binary_jdbc if column.is_binary and column.type in _TYPES else facts.jdbc


def tidb_type(column: Column) -> str:
    """Return the name of the type that the TiDB extension adds to a field."""
    name = type_name(column.type, column.charset)
    return f"{name} unsigned" if column.unsigned and column.type not in _SIGN_IS_SILENT else name
