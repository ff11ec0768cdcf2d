"""Canonical text of the Simple protocol's values, in either encoding.

In: a column as the table's schema has it, and values as :class:`~ticdc_emit.decode.simple.records.SimpleRow` shows
them. A TIMESTAMP names its time zone; the text is converted to the changefeed's zone if that differs. Rule source:
"TiCDC Simple Protocol" (mysqlType reference table).
"""

from __future__ import annotations

from typing import Any

from ticdc_emit.decode.simple.records import SimpleColumn, SimpleTableSchema, SimpleTimestamp
from ticdc_emit.decode.text_values import BINARY_TYPES, Convert, enum_label, in_zone, raw_text, set_labels
from ticdc_emit.schema.defaults import float_text
from ticdc_emit.schema.model import Column, Index, TableInfo
from ticdc_emit.sql.types import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    ColumnFlag,
    MySQLType,
)

__all__ = ["simple_convert", "simple_table"]

_WORD = (1 << 64) - 1
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
