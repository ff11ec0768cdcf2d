"""Values of row images: what stands for each column in ``before``, ``after`` and keys.

In: accepted values (``columnar.values``). Out: the content of each member, and what stands around it where it is not
``null``. Rule sources: protocol document "Data type mapping"; semantics 2.4; reference ``pingcap/tiflow:
pkg/sink/codec/debezium/codec.go`` (writeDebeziumFieldValue).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.binaries import base64_text
from ticdc_emit.columnar.bits import little_endian_base64
from ticdc_emit.columnar.buffers import to_text
from ticdc_emit.columnar.epochs import clock_micros, date_days, datetime_ticks, zoned_text
from ticdc_emit.columnar.escape import JSONITER, escape_text
from ticdc_emit.columnar.faults import ValueFault, refuse_any
from ticdc_emit.columnar.jsoniter import decimal_as_double, number_text
from ticdc_emit.columnar.labels import label_text
from ticdc_emit.columnar.values import text_content
from ticdc_emit.protocols.debezium.defaults import null_content
from ticdc_emit.protocols.debezium.options import DebeziumOptions
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.types import STRING_TYPES, MySQLType

__all__ = ["around", "content"]

_LABELS = {MySQLType.ENUM, MySQLType.SET}
_QUOTED = STRING_TYPES | _LABELS | {MySQLType.JSON, MySQLType.VECTOR_FLOAT32}
_FLOATS = {MySQLType.FLOAT, MySQLType.DOUBLE}
_BOOLEANS = pa.array(["false", "true"])


def around(column: Column) -> tuple[bytes, bytes]:
    """Return what opens and closes a value of the column; every TIMESTAMP ends in ``Z``."""
    if column.type is MySQLType.TIMESTAMP:
        return b'"', b'Z"'
    if column.type in _QUOTED or (column.type is MySQLType.BIT and column.flen != 1):
        return b'"', b'"'
    return b"", b""


def content(column: Column, values: pa.Array, options: DebeziumOptions) -> pa.Array:
    """Return the content of each value, null for ``null``; where there is a default, it stands for NULL.

    Raises :class:`ValueFault` for a TIMESTAMP that the changefeed's clocks never show, and for a NULL whose default is
    no value.
    """
    text = _content(column, values, options)
    if values.null_count == 0 or column.default is None:
        return text
    nulls = pc.is_null(values)
    try:
        shown = null_content(column, options)
    except ValueFault as fault:
        refuse_any(np.asarray(nulls.to_numpy(zero_copy_only=False)), fault.reason, fault.remedy)
        raise
    # binary: a default may be no UTF-8
    return text if shown is None else pc.if_else(nulls, pa.scalar(shown, pa.binary()), text.cast(pa.binary()))


def _content(column: Column, values: pa.Array, options: DebeziumOptions) -> pa.Array:
    kind = column.type
    if kind in STRING_TYPES:
        return base64_text(values) if column.is_binary else text_content(column, values, JSONITER)
    if kind is MySQLType.JSON:
        return text_content(column, values, JSONITER)
    if kind in _LABELS:
        return _labels(column, values)
    if kind is MySQLType.BIT:
        return _BOOLEANS.take(values) if column.flen == 1 else little_endian_base64(values, column.flen)
    if kind is MySQLType.NEWDECIMAL:
        return decimal_as_double(values)
    if kind in _FLOATS:
        return number_text(values)
    if kind is MySQLType.TIMESTAMP:
        return zoned_text(column, values, options.zone)
    if kind is MySQLType.VECTOR_FLOAT32:
        return values
    return to_text(_counted(column, values, options))


def _counted(column: Column, values: pa.Array, options: DebeziumOptions) -> pa.Array:
    kind = column.type
    if kind is MySQLType.DURATION:
        return clock_micros(values)
    if kind in (MySQLType.DATE, MySQLType.NEWDATE, MySQLType.DATETIME):
        partly_zero = options.switches.partly_zero
        numbers = datetime_ticks(column, values, partly_zero) if kind is MySQLType.DATETIME else date_days(values)
        return numbers if column.nullable else numbers.fill_null(0)  # no day: zero where it cannot be null
    return values.view(pa.int64()) if kind is MySQLType.LONGLONG else values  # beyond int64 the number wraps


def _labels(column: Column, values: pa.Array) -> pa.Array:
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    return escape_text(label_text(column, encoded.dictionary), JSONITER).take(encoded.indices)
