"""Type names of a column, as TiDB and TiCDC print them.

Rule source: semantics 2.0.4 and pingcap/tidb ``pkg/parser/types`` (``TypeToStr``, ``FieldType.CompactStr``,
``ColumnInfo.GetTypeDesc``). TiCDC does not enable the strict integer display width, so integers always have their
width.
"""

from __future__ import annotations

from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import BINARY_CHARSET, INTEGER_TYPES, LABEL_TYPES, MySQLType

__all__ = ["UNSPECIFIED_LENGTH", "default_length", "mysql_type_name", "sql_type", "type_desc", "type_name"]


UNSPECIFIED_LENGTH = -1

_NAMES = {
    MySQLType.UNSPECIFIED: "unspecified",
    MySQLType.TINY: "tinyint",
    MySQLType.SHORT: "smallint",
    MySQLType.INT24: "mediumint",
    MySQLType.LONG: "int",
    MySQLType.LONGLONG: "bigint",
    MySQLType.FLOAT: "float",
    MySQLType.DOUBLE: "double",
    MySQLType.NULL: "null",
    MySQLType.TIMESTAMP: "timestamp",
    MySQLType.DATE: "date",
    MySQLType.NEWDATE: "date",
    MySQLType.DURATION: "time",
    MySQLType.DATETIME: "datetime",
    MySQLType.YEAR: "year",
    MySQLType.VARCHAR: "varchar",
    MySQLType.VAR_STRING: "var_string",
    MySQLType.STRING: "char",
    MySQLType.BIT: "bit",
    MySQLType.VECTOR_FLOAT32: "vector",
    MySQLType.JSON: "json",
    MySQLType.NEWDECIMAL: "decimal",
    MySQLType.ENUM: "enum",
    MySQLType.SET: "set",
    MySQLType.TINY_BLOB: "tinytext",
    MySQLType.BLOB: "text",
    MySQLType.MEDIUM_BLOB: "mediumtext",
    MySQLType.LONG_BLOB: "longtext",
    MySQLType.GEOMETRY: "geometry",
}
_BINARY_NAMES = {
    MySQLType.VARCHAR: "varbinary",
    MySQLType.STRING: "binary",
    MySQLType.TINY_BLOB: "tinyblob",
    MySQLType.BLOB: "blob",
    MySQLType.MEDIUM_BLOB: "mediumblob",
    MySQLType.LONG_BLOB: "longblob",
}
# (length, decimals) that TiDB fills in if the DDL has none
_DEFAULT_LENGTHS = {
    MySQLType.BIT: (1, 0),
    MySQLType.TINY: (4, 0),
    MySQLType.SHORT: (6, 0),
    MySQLType.INT24: (9, 0),
    MySQLType.LONG: (11, 0),
    MySQLType.LONGLONG: (20, 0),
    MySQLType.DOUBLE: (22, UNSPECIFIED_LENGTH),
    MySQLType.FLOAT: (12, UNSPECIFIED_LENGTH),
    MySQLType.NEWDECIMAL: (10, 0),
    MySQLType.DURATION: (10, 0),
    MySQLType.DATE: (10, 0),
    MySQLType.TIMESTAMP: (19, 0),
    MySQLType.DATETIME: (19, 0),
    MySQLType.YEAR: (4, 0),
    MySQLType.STRING: (1, 0),
    MySQLType.VARCHAR: (5, 0),
    MySQLType.VAR_STRING: (5, 0),
    MySQLType.TINY_BLOB: (255, 0),
    MySQLType.BLOB: (65535, 0),
    MySQLType.MEDIUM_BLOB: (16777215, 0),
    MySQLType.LONG_BLOB: (4294967295, 0),
    MySQLType.JSON: (4294967295, 0),
    MySQLType.NULL: (0, 0),
    MySQLType.SET: (UNSPECIFIED_LENGTH, 0),
    MySQLType.ENUM: (UNSPECIFIED_LENGTH, 0),
    MySQLType.VECTOR_FLOAT32: (UNSPECIFIED_LENGTH, 0),
}
_LABEL_ESCAPES = str.maketrans({"'": "''", "\0": "\\0", "\n": "\\n", "\r": "\\r"})  # parser/format: OutputFormat
_UNSIGNED_IS_SILENT = frozenset({MySQLType.BIT, MySQLType.YEAR})
_LENGTH_ONLY = frozenset({MySQLType.BIT, MySQLType.VARCHAR, MySQLType.STRING, MySQLType.VAR_STRING, MySQLType.YEAR})
_FSP_ONLY = frozenset({MySQLType.TIMESTAMP, MySQLType.DATETIME, MySQLType.DURATION})


def default_length(kind: MySQLType) -> tuple[int, int]:
    """Return (flen, decimal) that TiDB gives a type without a length; -1 is "unspecified"."""
    return _DEFAULT_LENGTHS.get(kind, (UNSPECIFIED_LENGTH, UNSPECIFIED_LENGTH))


def type_name(kind: MySQLType, charset: str) -> str:
    """Return the bare type name: ``varchar``, ``blob`` (charset ``binary`` makes text a blob and char a binary) ..."""
    if charset == BINARY_CHARSET and kind in _BINARY_NAMES:
        return _BINARY_NAMES[kind]
    return _NAMES[kind]


def sql_type(column: Column) -> str:
    """Return the type with its length but without UNSIGNED and ZEROFILL: ``decimal(10,2)``, ``enum('a','b')`` ..."""
    return type_name(column.type, column.charset) + _length_suffix(column)


def type_desc(column: Column) -> str:
    """Return the full type text (``int(10) unsigned zerofill``), as Canal-JSON's ``content-compatible`` prints it."""
    return sql_type(column) + _sign_suffix(column)


def mysql_type_name(column: Column) -> str:
    """Return the type without its length but with UNSIGNED and ZEROFILL: Canal-JSON's ``mysqlType``."""
    return type_name(column.type, column.charset) + _sign_suffix(column)


def _sign_suffix(column: Column) -> str:
    suffix = " unsigned" if column.unsigned and column.type not in _UNSIGNED_IS_SILENT else ""
    if column.zerofill and column.type is not MySQLType.YEAR:
        suffix += " zerofill"
    return suffix


def _length_suffix(column: Column) -> str:
    kind = column.type
    if kind in LABEL_TYPES:
        return "(" + ",".join("'" + label.translate(_LABEL_ESCAPES) + "'" for label in column.elems) + ")"
    default_flen, default_decimal = default_length(kind)
    flen = default_flen if column.flen == UNSPECIFIED_LENGTH else column.flen
    decimal = default_decimal if column.decimal == UNSPECIFIED_LENGTH else column.decimal
    has_decimal = column.decimal not in (default_decimal, 0, UNSPECIFIED_LENGTH)
    if kind in _FSP_ONLY:
        return f"({decimal})" if has_decimal else ""
    if kind in (MySQLType.DOUBLE, MySQLType.FLOAT):
        return f"({flen},{decimal})" if has_decimal else ""
    if kind is MySQLType.NEWDECIMAL:
        return f"({flen},{decimal})"
    if kind in _LENGTH_ONLY or kind in INTEGER_TYPES:
        return f"({flen})"
    if kind is MySQLType.VECTOR_FLOAT32 and column.flen != UNSPECIFIED_LENGTH:
        return f"({column.flen})"
    return ""
