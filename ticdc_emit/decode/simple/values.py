"""Row values of Simple messages by the table's schema: the same Python values from either encoding.

In: a :class:`SimpleTableSchema` and an image (``data`` or ``old``). Out: a mapping from column to value:

====================================================== ==============================================================
TINYINT to BIGINT, YEAR, BIT                           int, never negative if UNSIGNED
FLOAT, DOUBLE                                          float (FLOAT: the one that 32 bits hold)
DECIMAL                                                Decimal
CHAR, VARCHAR, TEXT, JSON, VECTOR, DATE, TIME, DATETIME str
BINARY, VARBINARY, BLOB                                bytes
ENUM, SET                                              str: the label, the labels with commas between
TIMESTAMP                                              SimpleTimestamp
====================================================== ==============================================================

Rule source: "TiCDC Simple Protocol" (mysqlType reference table).
"""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.simple.records import SimpleColumn, SimpleTableSchema, SimpleTimestamp

__all__ = ["BINARY", "INTEGERS", "TEXTS", "row_values"]

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
