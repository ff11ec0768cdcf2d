"""Type names of a column, as TiDB and TiCDC print them.

Rule source: semantics 2.0.4 and pingcap/tidb ``pkg/parser/types`` (``TypeToStr``, ``FieldType.CompactStr``,
``ColumnInfo.GetTypeDesc``). TiCDC does not enable the strict integer display width, so integers always have their
width.
"""

from __future__ import annotations

from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import INTEGER_TYPES, LABEL_TYPES, TYPES, UNSPECIFIED_LENGTH, MySQLType, type_name

__all__ = ["mysql_type_name", "sql_type", "type_desc"]


_LABEL_ESCAPES = str.maketrans({"'": "''", "\0": "\\0", "\n": "\\n", "\r": "\\r"})  # parser/format: OutputFormat
_UNSIGNED_IS_SILENT = frozenset({MySQLType.BIT, MySQLType.YEAR})
_LENGTH_ONLY = frozenset({MySQLType.BIT, MySQLType.VARCHAR, MySQLType.STRING, MySQLType.VAR_STRING, MySQLType.YEAR})
_FSP_ONLY = frozenset({MySQLType.TIMESTAMP, MySQLType.DATETIME, MySQLType.DURATION})


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
    default_flen, default_decimal = TYPES[kind].length, TYPES[kind].decimals
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
