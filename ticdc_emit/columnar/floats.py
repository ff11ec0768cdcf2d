"""FLOAT and DOUBLE columns, and the float text of Go.

In: float32, float64, integers, decimals or text. Out: ``float32`` for FLOAT, ``float64`` for DOUBLE. NaN and infinity
are refused, for TiDB cannot store them.

Text is Go's ``FormatFloat(v, 'f', -1, bits)`` (semantics 2.0.2 "fixed32"/"fixed64"): the shortest digits that read
back, never an exponent, no ``.0``. The digits come from one ``orjson`` dump of the column; the few values that it
would print with an exponent are printed one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import as_text, fixed_values, from_bytes, null_mask
from ticdc_emit.columnar.faults import ValueFault, refuse_any
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.types import MySQLType

__all__ = ["accept_float", "fixed_text"]

_COMMA = 0x2C


def accept_float(column: Column, array: pa.Array) -> pa.Array:
    """Return finite ``float32``/``float64`` values; :class:`ValueFault` for any other, or a sign under UNSIGNED."""
    single = column.type == MySQLType.FLOAT
    values = _as_double(array) if array.type != pa.float32() else array
    nulls = null_mask(values)
    with np.errstate(over="ignore"):
        numbers = _numbers(values).astype(np.float32 if single else np.float64, copy=False)
    bad = ~np.isfinite(numbers)
    if column.unsigned:
        bad |= numbers < 0
    if nulls is not None:
        bad &= ~nulls
    refuse_any(bad, "NaN, infinity, an overflow or the wrong sign", "TiDB stores finite numbers only")
    if numbers.dtype == np.float32 and array.type == pa.float32():
        return array
    return pa.array(numbers, mask=nulls)


def _numbers(values: pa.Array) -> npt.NDArray[Any]:
    return fixed_values(values, np.float32 if values.type == pa.float32() else np.float64)


def _as_double(array: pa.Array) -> pa.Array:
    kind = array.type
    if kind == pa.float64():
        return array
    if pa.types.is_null(kind) or pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return array.cast(pa.float64(), safe=False)
    if pa.types.is_decimal(kind):  # decimal -> double of Arrow is not correctly rounded: go through text
        return array.cast(pa.string()).cast(pa.float64())
    text = as_text(array)
    if pa.types.is_binary(text.type):
        raise TypeError("binary is not a number")
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        for index, item in enumerate(text.to_pylist()):
            try:
                float(item or 0)
            except ValueError as fault:
                raise ValueFault(index, f"{item!r} is not a number") from fault
        raise


def fixed_text(values: pa.Array) -> pa.Array:
    """Return the fixed-notation text of ``float32``/``float64`` values; nulls stay null."""
    if len(values) == 0:
        return pa.array([], pa.string())
    numbers = np.ascontiguousarray(_numbers(values))
    raw = orjson.dumps(numbers, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1] + b","
    raw = raw.replace(b".0,", b",")
    ends = np.flatnonzero(np.frombuffer(raw, np.uint8) == _COMMA)
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends - np.arange(len(ends))
    text = from_bytes(offsets, raw.translate(None, delete=b","), like=values)
    if b"e" not in raw and b"E" not in raw:
        return text
    size = np.abs(numbers)
    exponent = ((size >= 1e15) | (size < 1e-4)) & (numbers != 0)
    fixed = [np.format_float_positional(number, unique=True, trim="-") for number in numbers[exponent]]
    return pc.replace_with_mask(text, pa.array(exponent), pa.array(fixed, pa.string())) if fixed else text
