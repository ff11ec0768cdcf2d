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
from ticdc_emit.protocols.schema_texts import escaped_label
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.type_names import type_name
from ticdc_emit.sql.types import MySQLType

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
    """``connect``: the type, or a function of the column. ``unsigned``: the plain type of UNSIGNED, if it differs.
    ``content``: a member's value; ``quotes``: the bytes before and after it. ``default``: the member of a schema.
    ``jdbc``, ``binary_jdbc``: the JDBC types of text and other values, and of binary data.
    """

    connect: Connect | Callable[[Column], Connect]
    content: Content
    default: Default
    jdbc: int
    quotes: tuple[bytes, bytes] = (b"", b"")
    unsigned: str | None = None
    binary_jdbc: int = 2004


_MILLIS_FSP = 3
_TEXT, _ZULU = (b'"', b'"'), (b'"', b'Z"')
_SIGN_IS_SILENT = frozenset({MySQLType.YEAR, MySQLType.BIT, MySQLType.VARCHAR, MySQLType.STRING, MySQLType.NEWDECIMAL})


def _time(kind: str, name: str) -> Connect:
    return Connect(kind, f"io.debezium.time.{name}", 1)


def _data(kind: str, name: str, **parameters: str) -> Connect:
    return Connect(kind, f"io.debezium.data.{name}", 1, parameters)


def _float(column: Column) -> Connect:
    return Connect("float" if column.decimal < 0 else "double")


def _datetime(column: Column) -> Connect:
    return _time("int64", "Timestamp" if column.decimal <= _MILLIS_FSP else "MicroTimestamp")


def _bits(column: Column) -> Connect:
    return Connect("boolean") if column.flen == 1 else _data("bytes", "Bits", length=str(column.flen))


def _enum(column: Column) -> Connect:
    return _data("string", "Enum", allowed=",".join(map(escaped_label, column.elems)))


def _set(column: Column) -> Connect:
    return _data("string", "EnumSet", allowed=",".join(column.elems))


_VECTOR = Connect("string", "io.debezium.data.TiDBVectorFloat32")
_INT16, _INT32, _INT64 = Connect("int16"), Connect("int32"), Connect("int64")
_DOUBLE, _STRING = Connect("double"), Connect("string")
_WHOLE, _WRAPPED, _FLOATS = integer_content, wrapped_content, float_content
_STRINGS, _LABELS, _DAYS = string_content, label_content, days_content
_NUMBER, _LITERAL = defaults.number, defaults.literal

_CHARACTERS = _Row(_STRING, _STRINGS, _LITERAL, 12, _TEXT)
_DATE = _Row(_time("int32", "Date"), _DAYS, defaults.date, 91)
_TYPES = {
    MySQLType.TINY: _Row(_INT16, _WHOLE, _NUMBER, 5),
    MySQLType.SHORT: _Row(_INT16, _WHOLE, _NUMBER, 5, unsigned="int32"),
    MySQLType.INT24: _Row(_INT32, _WHOLE, _NUMBER, 4),
    MySQLType.LONG: _Row(_INT32, _WHOLE, _NUMBER, 4, unsigned="int64"),
    MySQLType.LONGLONG: _Row(_INT64, _WRAPPED, _NUMBER, -5),
    MySQLType.FLOAT: _Row(_float, _FLOATS, _NUMBER, 6),
    MySQLType.DOUBLE: _Row(_DOUBLE, _FLOATS, _NUMBER, 8),
    MySQLType.NEWDECIMAL: _Row(_DOUBLE, decimal_content, _NUMBER, 3),
    MySQLType.YEAR: _Row(_time("int32", "Year"), _WHOLE, defaults.year, 4),
    MySQLType.DATE: _DATE,
    MySQLType.NEWDATE: _DATE,
    MySQLType.DATETIME: _Row(_datetime, ticks_content, defaults.datetime, 93),
    MySQLType.TIMESTAMP: _Row(_time("string", "ZonedTimestamp"), zoned_content, defaults.timestamp, 2014, _ZULU),
    MySQLType.DURATION: _Row(_time("int64", "MicroTime"), micros_content, defaults.duration, 92),
    MySQLType.STRING: replace(_CHARACTERS, jdbc=1, binary_jdbc=-2),
    MySQLType.VARCHAR: replace(_CHARACTERS, binary_jdbc=-3),
    MySQLType.VAR_STRING: replace(_CHARACTERS, binary_jdbc=-3),
    MySQLType.TINY_BLOB: _CHARACTERS,
    MySQLType.BLOB: _CHARACTERS,
    MySQLType.MEDIUM_BLOB: _CHARACTERS,
    MySQLType.LONG_BLOB: _CHARACTERS,
    MySQLType.ENUM: _Row(_enum, _LABELS, _LITERAL, 1, _TEXT),
    MySQLType.SET: _Row(_set, _LABELS, _LITERAL, 1, _TEXT),
    MySQLType.BIT: _Row(_bits, little_endian_content, defaults.bit, -7, _TEXT),
    MySQLType.JSON: _Row(_data("string", "Json"), _STRINGS, _LITERAL, 1111, _TEXT),
    MySQLType.VECTOR_FLOAT32: _Row(_VECTOR, as_it_is, _LITERAL, 12, _TEXT),
}
_ONE_BIT = replace(_TYPES[MySQLType.BIT], content=flag_content, quotes=(b"", b""))
_JDBC_WITHOUT_VALUES = {MySQLType.NULL: 0, MySQLType.GEOMETRY: 1111}  # columns of views
_VARCHAR = 12


def _row(column: Column) -> _Row:
    return _ONE_BIT if column.type is MySQLType.BIT and column.flen == 1 else _TYPES[column.type]


def connect_type(column: Column) -> Connect:
    """Return the Kafka Connect type of a column."""
    row = _row(column)
    if column.unsigned and row.unsigned is not None:
        return Connect(row.unsigned)
    return row.connect if isinstance(row.connect, Connect) else row.connect(column)


def around(column: Column) -> tuple[bytes, bytes]:
    """Return the bytes before and after a value of the column; every TIMESTAMP ends with ``Z``."""
    return _row(column).quotes


def content(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    """Return the content of each value, null for ``null``; a default replaces NULL.

    Raises :class:`ValueFault` for a TIMESTAMP that does not exist in the changefeed's time zone, and for a NULL whose
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
    row = _TYPES.get(column.type)
    if row is None:
        return _JDBC_WITHOUT_VALUES.get(column.type, _VARCHAR)
    return row.binary_jdbc if column.is_binary else row.jdbc


def tidb_type(column: Column) -> str:
    """Return the name of the type that the TiDB extension adds to a field."""
    name = type_name(column.type, column.charset)
    return f"{name} unsigned" if column.unsigned and column.type not in _SIGN_IS_SILENT else name
