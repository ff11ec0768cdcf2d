"""A column's type in the user's words, and the remedy for a value or an Arrow type that does not fit it.

In: a column. Out: text for errors, made only where one is raised.
"""

from __future__ import annotations

import pyarrow as pa

from ticdc_emit.columnar.faults import shown
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.type_names import sql_type, type_name
from ticdc_emit.sql.types import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    STRING_TYPES,
    MySQLType,
    integer_range,
)

__all__ = ["cast_remedy", "mismatch", "user_type", "value_remedy"]

_MOST_LABELS = 8
_PLAIN_NAMES = INTEGER_TYPES | {MySQLType.YEAR, MySQLType.ENUM, MySQLType.SET}
_CASTS = {
    MySQLType.YEAR: "Cast it to an integer type first",
    MySQLType.BIT: "Cast it to an integer type first",
    MySQLType.NEWDECIMAL: "Cast it to decimal first",
    MySQLType.FLOAT: "Cast it to float first",
    MySQLType.DOUBLE: "Cast it to double first",
    MySQLType.DATE: "Cast it to date first",
    MySQLType.NEWDATE: "Cast it to date first",
    MySQLType.DATETIME: "Cast it to timestamp first",
    MySQLType.TIMESTAMP: "Cast it to timestamp first",
    MySQLType.DURATION: "Cast it to duration, or to text such as 12:34:56, first",
    MySQLType.ENUM: "Cast it to string (a label) or to an integer type (its number) first",
    MySQLType.SET: "Cast it to string (labels with commas) or to an integer type (the bit mask) first",
    MySQLType.JSON: "Cast it to the text of a JSON document first",
    MySQLType.VECTOR_FLOAT32: "Cast it to a list of floats, or to text such as [1,2.5], first",
}


def user_type(column: Column) -> str:
    """Return the column's type as in its DDL: ``TEXT``, ``DECIMAL(6,2)``, ``BIGINT UNSIGNED``, ``ENUM``."""
    is_plain = column.type in _PLAIN_NAMES  # without display width or labels
    name = (type_name(column.type, column.charset) if is_plain else sql_type(column)).upper()
    return f"{name} UNSIGNED" if column.unsigned and column.type not in (MySQLType.YEAR, MySQLType.BIT) else name


def mismatch(column: Column, kind: pa.DataType) -> str:
    """Return the error message for an Arrow type that cannot hold the column's values."""
    return f"Column `{column.name}` is {user_type(column)}, but the input is {kind}"


def cast_remedy(column: Column) -> str:
    """Return the remedy for an Arrow type that cannot hold the column's values."""
    kind = column.type
    if kind in INTEGER_TYPES:
        return "Cast it to an integer type first"
    if kind in STRING_TYPES:
        return "Cast it to binary first" if column.is_binary else "Cast it to string first"
    return _CASTS.get(kind, "See the types in docs/types.md")


def value_remedy(column: Column) -> str:
    """Return the values that the column accepts, as an instruction."""
    kind, size = column.type, column.flen
    if kind in INTEGER_TYPES:
        low, high = integer_range(kind, unsigned=column.unsigned)
        return f"Give a whole number in {low}..{high}"
    if kind == MySQLType.YEAR:
        return "Give 0 or a year in 1901..2155"
    if kind == MySQLType.BIT:
        return f"Give a whole number in 0..{(1 << max(size, 1)) - 1}, or its bytes"
    if kind == MySQLType.NEWDECIMAL:
        scale = max(column.decimal, 0)
        most = "9" * ((size if size > 0 else 10) - scale) or "0"
        digits = " without a fraction"
        if scale:
            most, digits = f"{most}.{'9' * scale}", f" with at most {scale} digits after the point"
        return f"Give a number in {'0' if column.unsigned else f'-{most}'}..{most}{digits}"
    if kind in FLOAT_TYPES:
        return "Give a finite number from 0 on" if column.unsigned else "Give a finite number"
    if kind in STRING_TYPES:
        return _text_remedy(column)
    if kind in LABEL_TYPES:
        known = ", ".join(map(shown, column.elems[:_MOST_LABELS])) + (", ..." if column.elems[_MOST_LABELS:] else "")
        limit = len(column.elems) if kind == MySQLType.ENUM else (1 << len(column.elems)) - 1
        return f"Give {'one' if kind == MySQLType.ENUM else 'any'} of {known}, or a number in 0..{limit}"
    moment = "2024-05-05 12:34:56" + ("." + "123456"[: column.decimal] if column.decimal > 0 else "")
    return {
        MySQLType.DATE: "Give a day such as 2024-05-05",
        MySQLType.NEWDATE: "Give a day such as 2024-05-05",
        MySQLType.DATETIME: f"Give a moment such as {moment}",
        MySQLType.TIMESTAMP: f"Give a moment such as {moment}, from 1970 to 2038-01-19 03:14:07 UTC",
        MySQLType.DURATION: f"Give a time within 838:59:59, such as -{moment[11:]}",
        MySQLType.JSON: 'Give a JSON document such as {"a": 1}',
        MySQLType.VECTOR_FLOAT32: f"Give {size if size > 0 else 'a list of'} finite numbers, such as [1,2.5]",
    }.get(kind, "")


def _text_remedy(column: Column) -> str:
    counts_characters = column.type in (MySQLType.VARCHAR, MySQLType.VAR_STRING, MySQLType.STRING)
    unit = "characters" if counts_characters and not column.is_binary else "bytes"
    limit = f" of at most {column.flen} {unit}" if column.flen >= 0 else ""
    return f"Give binary data (or its base64 text){limit}" if column.is_binary else f"Give UTF-8 text{limit}"
