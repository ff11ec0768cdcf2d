"""MySQL types in Debezium's messages: one row for each, used by every part of the messages.

In: columns and accepted values. Out: the Kafka Connect type, the content of values and the bytes around it, the default
in a schema, the JDBC type. Rule sources: protocol document "Data type mapping"; semantics 2.4; reference
``pingcap/tiflow: pkg/sink/codec/debezium/codec.go`` (writeDebeziumFieldSchema, writeDebeziumFieldValue),
``pkg/sink/codec/internal/java.go`` (MySQLType2JdbcType).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.protocols.connect import defaults, renderings
from ticdc_emit.protocols.connect.nulls import null_content, refused_at
from ticdc_emit.protocols.connect.reading import Reading
from ticdc_emit.protocols.naming import escaped_label
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.type_names import type_name
from ticdc_emit.sql.types import MySQLType

__all__ = ["Connect", "around", "connect_type", "content", "jdbc_type", "schema_default", "tidb_type"]

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
_WHOLE, _WRAPPED, _FLOATS = renderings.integer_content, renderings.wrapped_content, renderings.float_content
_STRINGS, _LABELS, _DAYS = renderings.string_content, renderings.label_content, renderings.days_content
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
    MySQLType.NEWDECIMAL: _Row(_DOUBLE, renderings.decimal_content, _NUMBER, 3),
    MySQLType.YEAR: _Row(_time("int32", "Year"), _WHOLE, defaults.year, 4),
    MySQLType.DATE: _DATE,
    MySQLType.NEWDATE: _DATE,
    MySQLType.DATETIME: _Row(_datetime, renderings.ticks_content, defaults.datetime, 93),
    MySQLType.TIMESTAMP: _Row(
        _time("string", "ZonedTimestamp"), renderings.zoned_content, defaults.timestamp, 2014, _ZULU
    ),
    MySQLType.DURATION: _Row(_time("int64", "MicroTime"), renderings.micros_content, defaults.duration, 92),
    MySQLType.STRING: replace(_CHARACTERS, jdbc=1, binary_jdbc=-2),
    MySQLType.VARCHAR: replace(_CHARACTERS, binary_jdbc=-3),
    MySQLType.VAR_STRING: replace(_CHARACTERS, binary_jdbc=-3),
    MySQLType.TINY_BLOB: _CHARACTERS,
    MySQLType.BLOB: _CHARACTERS,
    MySQLType.MEDIUM_BLOB: _CHARACTERS,
    MySQLType.LONG_BLOB: _CHARACTERS,
    MySQLType.ENUM: _Row(_enum, _LABELS, _LITERAL, 1, _TEXT),
    MySQLType.SET: _Row(_set, _LABELS, _LITERAL, 1, _TEXT),
    MySQLType.BIT: _Row(_bits, renderings.little_endian_content, defaults.bit, -7, _TEXT),
    MySQLType.JSON: _Row(_data("string", "Json"), _STRINGS, _LITERAL, 1111, _TEXT),
    MySQLType.VECTOR_FLOAT32: _Row(_VECTOR, renderings.as_it_is, _LITERAL, 12, _TEXT),
}
_ONE_BIT = replace(_TYPES[MySQLType.BIT], content=renderings.flag_content, quotes=(b"", b""))
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
