"""The table of renderers: which functions accept and print the values of each MySQL type.

===========================  ==========================================
MySQL type                   accepted form
===========================  ==========================================
integers, YEAR               int64, or uint64 where UNSIGNED
BIT                          uint64
ENUM, SET                    uint64, or a dictionary of it
FLOAT / DOUBLE               float32 / float64
DECIMAL                      decimal128 / decimal256 at precision, scale
DATE, DATETIME, TIMESTAMP,
TIME, JSON, VECTOR, CHAR...  string (latin1: of any bytes)
BINARY, VARBINARY, BLOBs     binary
===========================  ==========================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from ticdc_emit.columnar.binary_text import latin1_json
from ticdc_emit.columnar.buffers import as_text, compact, null_mask, text_buffers
from ticdc_emit.columnar.decimals import accept_decimal
from ticdc_emit.columnar.escape import JsonWriter, escape_bytes, escape_text, first_invalid_utf8
from ticdc_emit.columnar.floats import accept_float, fixed_text
from ticdc_emit.columnar.integers import accept_bit, accept_integer, accept_year, integer_text
from ticdc_emit.columnar.json_text import canonical_json
from ticdc_emit.columnar.nested_json import is_nested, nested_json
from ticdc_emit.columnar.strings import accept_binary, accept_labels, accept_text, accept_vector
from ticdc_emit.columnar.times import accept_date, accept_datetime, accept_time
from ticdc_emit.columnar.value_errors import ValueRefused, refuse_any
from ticdc_emit.config.switches import ValueSwitches
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.evaluation.values import decimal_text
from ticdc_emit.sql.types import (
    DATE_TYPES,
    FLOAT_TYPES,
    INT64_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    LATIN1_CHARSET,
    MOMENT_TYPES,
    STRING_TYPES,
    MySQLType,
)


@dataclass(eq=False, slots=True)
class Rendering:
    """How values are read. ``zone``: the changefeed's, ``session_zone``: that of expressions, by default the same."""

    zone: str = "UTC"
    verbatim_json: bool = False
    switches: ValueSwitches = ValueSwitches()
    session_zone: str = ""

    def __post_init__(self) -> None:
        self.session_zone = self.session_zone or self.zone


def accept(column: Column, array: pa.Array, how: Rendering) -> pa.Array:
    """Return the checked form of values. Raises :class:`ValueRefused`, also for NULL in NOT NULL, ``TypeError``."""
    if pa.types.is_dictionary(array.type) and (column.type not in LABEL_TYPES or array.dictionary.null_count):
        array = array.dictionary_decode()
    if not column.nullable and array.null_count:
        nulls = null_mask(array)
        assert nulls is not None
        refuse_any(nulls, "NULL in a NOT NULL column", "Give a value, or make the column nullable")
    try:
        if column.type not in _ACCEPTED:
            raise TypeError(f"the MySQL type {column.type.name} has no values in row changes")
        return _ACCEPTED[column.type](column, array, how)
    except UnicodeDecodeError:  # text for a column that is not text, such as a number
        parts = text_buffers(as_text(array))
        index = first_invalid_utf8(parts.offsets, parts.data) or 0
        raise ValueRefused(index, "the text is not valid UTF-8") from None


def _accepted_json(column: Column, array: pa.Array, how: Rendering) -> pa.Array:
    text = nested_json(array) if is_nested(array.type) else compact(as_text(array))
    parts = text_buffers(text)
    bad = first_invalid_utf8(parts.offsets, parts.data)
    if bad is not None:
        raise ValueRefused(bad, "the JSON text is not valid UTF-8")
    if pa.types.is_binary(text.type):
        text = text.cast(pa.string())
    return text if how.verbatim_json else canonical_json(text, how.switches.json_doubles)


_ACCEPTED: Mapping[MySQLType, Callable[[Column, pa.Array, Rendering], pa.Array]] = {
    **dict.fromkeys(INTEGER_TYPES, lambda column, array, how: accept_integer(column, array)),
    **dict.fromkeys(
        STRING_TYPES,
        lambda column, array, how: accept_binary(column, array) if column.is_binary else accept_text(column, array),
    ),
    **dict.fromkeys(FLOAT_TYPES, lambda column, array, how: accept_float(column, array)),
    **dict.fromkeys(MOMENT_TYPES, lambda column, array, how: accept_datetime(column, array, how.zone)),
    **dict.fromkeys(DATE_TYPES, lambda column, array, how: accept_date(array)),
    **dict.fromkeys(LABEL_TYPES, lambda column, array, how: accept_labels(column, array)),
    MySQLType.NEWDECIMAL: lambda column, array, how: accept_decimal(column, array),
    MySQLType.DURATION: lambda column, array, how: accept_time(column, array),
    MySQLType.BIT: lambda column, array, how: accept_bit(column, array),
    MySQLType.YEAR: lambda column, array, how: accept_year(array),
    MySQLType.JSON: _accepted_json,
    MySQLType.VECTOR_FLOAT32: lambda column, array, how: accept_vector(column, array),
}


def plain_text(column: Column, values: pa.Array) -> pa.Array:
    """Return the canonical text of accepted values; binary columns have none and are returned as they are."""
    kind = column.type
    if kind in INT64_TYPES:
        return integer_text(values)
    if kind == MySQLType.NEWDECIMAL:
        return decimal_text(values)
    return fixed_text(values) if kind in FLOAT_TYPES else values


def text_content(column: Column, values: pa.Array, writer: JsonWriter) -> pa.Array:
    """Return accepted text or JSON as the content of a JSON string."""
    return escape_bytes(values, writer) if column.charset == LATIN1_CHARSET else escape_text(values, writer)


def json_content(column: Column, values: pa.Array, writer: JsonWriter) -> pa.Array:
    """Return accepted values as the content of a JSON string; binary columns byte by byte as ISO-8859-1."""
    if column.is_binary:
        return latin1_json(values, writer)
    if column.type in STRING_TYPES or column.type == MySQLType.JSON:
        return text_content(column, values, writer)
    return plain_text(column, values)
