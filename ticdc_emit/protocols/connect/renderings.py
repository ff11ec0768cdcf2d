"""Values in Debezium's JSON messages: one function for each form in the table of types.

In: a column and accepted values (``columnar.values``). Out: the content of each member, null for ``null``. Rule
sources: protocol document "Data type mapping"; semantics 2.4; reference ``pingcap/tiflow:
pkg/sink/codec/debezium/codec.go`` (writeDebeziumFieldValue).
"""

from __future__ import annotations

import pyarrow as pa

from ticdc_emit.columnar.binary_text import base64_text, little_endian_base64
from ticdc_emit.columnar.buffers import FEW, to_text
from ticdc_emit.columnar.epochs import clock_micros, date_days, datetime_ticks, zoned_text
from ticdc_emit.columnar.escape import JSONITER, escape_text
from ticdc_emit.columnar.jsoniter import decimal_as_double, number_text
from ticdc_emit.columnar.strings import labels_of
from ticdc_emit.columnar.values import text_content
from ticdc_emit.protocols.connect.reading import Reading
from ticdc_emit.schema.model import Column

__all__ = [
    "as_it_is",
    "days",
    "days_content",
    "decimal_content",
    "flag_content",
    "float_content",
    "integer_content",
    "label_content",
    "little_endian_content",
    "micros_content",
    "string_content",
    "ticks",
    "ticks_content",
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
