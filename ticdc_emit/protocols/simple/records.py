"""The content of messages of the Simple protocol, the same for both encodings.

Rule source: "TiCDC Simple Protocol" (message format, TableSchema, Column, Index definitions). ``commit_ts`` is a TSO,
``build_ts`` the wall clock of the encoder in ms. A ``version`` of a table is the TSO of its last schema change; rows
name it as ``schema_version``.
"""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

from ticdc_emit.protocols.canonical_text import (
    BINARY_TYPES,
    Convert,
    enum_label,
    in_zone,
    raw_text,
    set_labels,
)
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.schema.defaults import float_text
from ticdc_emit.schema.model import Column, Index, TableInfo
from ticdc_emit.sql.types import FLOAT_TYPES, INTEGER_TYPES, ColumnFlag, MySQLType

__all__ = [
    "BINARY",
    "INTEGERS",
    "TEXTS",
    "SimpleBootstrap",
    "SimpleChecksum",
    "SimpleColumn",
    "SimpleDdl",
    "SimpleIndex",
    "SimpleMessage",
    "SimpleRow",
    "SimpleTableSchema",
    "SimpleTimestamp",
    "SimpleWatermark",
    "row_values",
    "simple_convert",
    "simple_table",
]


@dataclass(frozen=True)
class SimpleTimestamp:
    """A TIMESTAMP: its text in the time zone ``location``."""

    location: str
    value: str


@dataclass(frozen=True)
class SimpleChecksum:
    """The CRC32 of a row: ``current`` of its data, ``previous`` of its old values, 0 where there are none."""

    version: int
    corrupted: bool
    current: int
    previous: int


@dataclass(frozen=True)
class SimpleColumn:
    """A column. ``decimal``: digits of a DECIMAL's fraction (JSON: also those of a time); ``elements``: labels.

    ``default``: as TiDB stores it; ``None`` for none; a number for BIT.
    """

    name: str
    mysql_type: str
    charset: str
    collate: str
    nullable: bool
    default: str | int | None
    length: int = 0
    decimal: int = 0
    elements: tuple[str, ...] = ()
    unsigned: bool = False
    zerofill: bool = False


@dataclass(frozen=True)
class SimpleIndex:
    """An index; ``nullable``: one of its columns can be NULL."""

    name: str
    unique: bool
    primary: bool
    nullable: bool
    columns: tuple[str, ...]


@dataclass(frozen=True)
class SimpleTableSchema:
    """A table at one version. ``table_id`` is the table's own id, even if rows have that of their partition."""

    schema: str
    table: str
    table_id: int
    version: int
    columns: tuple[SimpleColumn, ...]
    indexes: tuple[SimpleIndex, ...]

    def column(self, name: str) -> SimpleColumn:
        """Return the column of that name; :class:`DecodeError` if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise DecodeError(
            "the table's schema has no such column",
            remedy="Give the schema of the version that the row names",
            table=f"{self.schema}.{self.table}",
            field=name,
        )


@dataclass(frozen=True)
class SimpleRow:
    """A row change. ``op``: ``INSERT``, ``UPDATE`` or ``DELETE``; ``data`` is the row after it, ``old`` before it.

    Values are those of the encoding; :func:`row_values` reads them by the table's
    schema. JSON: text, :class:`SimpleTimestamp` or ``None``. Avro: numbers, text, bytes, :class:`SimpleTimestamp` or
    ``None``.

    ``handle_key_only``: the message was too large and has only the handle key's columns; ``claim_check`` is where the
    whole one is stored, if it is.
    """

    database: str
    table: str
    table_id: int
    op: str
    commit_ts: int
    build_ts: int
    schema_version: int
    checksum: SimpleChecksum | None = None
    data: Mapping[str, Any] | None = None
    old: Mapping[str, Any] | None = None
    handle_key_only: bool = False
    claim_check: str | None = None


@dataclass(frozen=True)
class SimpleDdl:
    """A statement. ``type``: ``CREATE``, ``RENAME``, ``CINDEX``, ``DINDEX``, ``ERASE``, ``TRUNCATE``, ``ALTER`` or
    ``QUERY``. Both schemas are ``None`` for a database's DDL, ``pre_table_schema`` for a table that is new.
    """

    type: str
    sql: str
    commit_ts: int
    build_ts: int
    table_schema: SimpleTableSchema | None = None
    pre_table_schema: SimpleTableSchema | None = None


@dataclass(frozen=True)
class SimpleWatermark:
    """Everything up to ``commit_ts`` has been sent to this partition."""

    commit_ts: int
    build_ts: int


@dataclass(frozen=True)
class SimpleBootstrap:
    """The schema of a table whose rows are being sent."""

    build_ts: int
    table_schema: SimpleTableSchema


SimpleMessage: TypeAlias = "SimpleRow | SimpleDdl | SimpleWatermark | SimpleBootstrap"


INTEGERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint", "year", "bit"})
TEXTS = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})
BINARY = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
_PRINTED = frozenset({"json", "vector", "date", "time", "datetime"})
_WORD = (1 << 64) - 1


def row_values(schema: SimpleTableSchema, image: Mapping[str, Any]) -> dict[str, Any]:
    """Return an image's values. Raises :class:`DecodeError` for a column or value that does not fit the schema."""
    columns = {column.name: column for column in schema.columns}
    values = {}
    for name, value in image.items():
        column = columns.get(name) or schema.column(name)
        try:
            values[name] = None if value is None else _value(column, value)
        except (ValueError, TypeError, LookupError, InvalidOperation, OverflowError) as fault:
            raise DecodeError(
                f"{value!r:.100} is not a value of a column of type {column.mysql_type}: {fault}",
                remedy="Give the schema of the version that the row names",
                table=f"{schema.schema}.{schema.table}",
                field=name,
            ) from fault
    return values


def _value(column: SimpleColumn, value: Any) -> Any:
    kind = column.mysql_type
    if kind in INTEGERS:
        return int(value) & _WORD if column.unsigned else int(value)
    if kind in TEXTS or kind in _PRINTED:
        return _of(str, value)
    if kind in BINARY:
        return value if isinstance(value, bytes) else b64decode(_of(str, value), validate=True)
    return _READ[kind](column, value)


def _of(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"a {type(value).__name__}")
    return value


def _single(column: SimpleColumn, value: Any) -> float:
    return float(struct.unpack("<f", struct.pack("<f", float(value)))[0])


def _label(column: SimpleColumn, value: Any) -> str:
    """Number 0 is the empty text of an invalid value."""
    number = int(value)
    if number < 0:
        raise ValueError("a negative number")
    return column.elements[number - 1] if number else ""


def _labels(column: SimpleColumn, value: Any) -> str:
    mask = int(value) & _WORD
    if mask >> len(column.elements):
        raise ValueError("a bit without label")
    return ",".join(label for place, label in enumerate(column.elements) if mask >> place & 1)


_READ: Mapping[str, Callable[[SimpleColumn, Any], Any]] = {
    "float": _single,
    "double": lambda column, value: float(value),
    "decimal": lambda column, value: Decimal(_of(str, value)),
    "enum": _label,
    "set": _labels,
    "timestamp": lambda column, value: _of(SimpleTimestamp, value),
}


_TYPES = {
    "tinyint": MySQLType.TINY,
    "smallint": MySQLType.SHORT,
    "mediumint": MySQLType.INT24,
    "int": MySQLType.LONG,
    "bigint": MySQLType.LONGLONG,
    "year": MySQLType.YEAR,
    "bit": MySQLType.BIT,
    "float": MySQLType.FLOAT,
    "double": MySQLType.DOUBLE,
    "decimal": MySQLType.NEWDECIMAL,
    "date": MySQLType.DATE,
    "time": MySQLType.DURATION,
    "datetime": MySQLType.DATETIME,
    "timestamp": MySQLType.TIMESTAMP,
    "enum": MySQLType.ENUM,
    "set": MySQLType.SET,
    "json": MySQLType.JSON,
    "vector": MySQLType.VECTOR_FLOAT32,
    "char": MySQLType.STRING,
    "varchar": MySQLType.VARCHAR,
    "tinytext": MySQLType.TINY_BLOB,
    "text": MySQLType.BLOB,
    "mediumtext": MySQLType.MEDIUM_BLOB,
    "longtext": MySQLType.LONG_BLOB,
    "binary": MySQLType.STRING,
    "varbinary": MySQLType.VARCHAR,
    "tinyblob": MySQLType.TINY_BLOB,
    "blob": MySQLType.BLOB,
    "mediumblob": MySQLType.MEDIUM_BLOB,
    "longblob": MySQLType.LONG_BLOB,
}


def simple_convert(column: Column, zone: str) -> Convert | None:
    """Return a function that converts a column's values to canonical text. ``zone``: the changefeed's."""
    kind = column.type
    if kind in INTEGER_TYPES or kind in (MySQLType.YEAR, MySQLType.BIT):
        unsigned = column.unsigned or kind is MySQLType.BIT
        return lambda value: value if type(value) is str else str(value & _WORD if unsigned else value)
    if kind in FLOAT_TYPES:
        single = kind is MySQLType.FLOAT
        return lambda value: float_text(float(value), single=single)
    if kind is MySQLType.ENUM:
        return enum_label(column)
    if kind is MySQLType.SET:
        return set_labels(column)
    if kind is MySQLType.TIMESTAMP:
        return lambda value: _timestamp(value, zone)
    return _binary if column.is_binary else None


def simple_table(schema: SimpleTableSchema) -> TableInfo:
    """Return the table that a message's schema describes, for readers without another one."""
    primary = {name for index in schema.indexes if index.primary for name in index.columns}
    return TableInfo(
        schema.schema,
        schema.table,
        schema.table_id,
        tuple(_column(number, column, primary) for number, column in enumerate(schema.columns, 1)),
        tuple(
            Index(number, index.name, index.columns, unique=index.unique, primary=index.primary)
            for number, index in enumerate(schema.indexes, 1)
        ),
        version=schema.version,
        update_ts=schema.version,
    )


def _column(number: int, column: SimpleColumn, primary: set[str]) -> Column:
    flags = ColumnFlag.NONE if column.nullable else ColumnFlag.NOT_NULL
    flags |= ColumnFlag.UNSIGNED if column.unsigned else ColumnFlag.NONE
    flags |= ColumnFlag.PRIMARY_KEY if column.name in primary else ColumnFlag.NONE
    binary = column.mysql_type in BINARY_TYPES
    return Column(
        number,
        column.name,
        _TYPES.get(column.mysql_type, MySQLType.UNSPECIFIED),
        column.length,
        column.decimal,
        charset="binary" if binary else column.charset or "utf8mb4",
        collate="binary" if binary else column.collate or "utf8mb4_bin",
        flags=flags,
        elems=column.elements,
        default=None if column.default is None else str(column.default),
    )


def _timestamp(value: SimpleTimestamp, zone: str) -> str:
    return in_zone(value.value, value.location, zone)


def _binary(value: Any) -> str:
    return value if isinstance(value, str) else raw_text(value)
