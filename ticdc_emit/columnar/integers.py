"""Integer columns, YEAR and BIT: acceptance as ``int64``, or ``uint64`` if unsigned, range checks, decimal text. In:
also ``decimal(p, 0)`` (Spark's BIGINT UNSIGNED), text, whole floats (pandas' integers with NULLs), BIT's bytes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import (
    FEW,
    as_text,
    compact,
    extremes,
    fixed_values,
    is_binary_like,
    null_mask,
    text_buffers,
    to_number,
    to_text,
)
from ticdc_emit.columnar.floats import floats_to_integers, printed_numbers
from ticdc_emit.columnar.value_errors import read_each, refuse_any
from ticdc_emit.errors import shown
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import integer_range

_MOST_DIGITS = 20
_INT64 = -(1 << 63), (1 << 63) - 1
_UINT64 = 0, (1 << 64) - 1


def accept_integer(column: Column, array: pa.Array) -> pa.Array:
    """Return the column's values as ``int64``/``uint64``; :class:`ValueRefused` for the first one out of range."""
    unsigned = column.unsigned
    low, high = integer_range(column.type, unsigned=unsigned)
    values = parse_integers(floats_to_integers(array), unsigned=unsigned, bounds=(low, high))
    return values if _always_within(array.type, low, high) else _within(values, low, high)


def _always_within(kind: pa.DataType, low: int, high: int) -> bool:
    if pa.types.is_signed_integer(kind):
        half = 1 << kind.bit_width - 1
        return bool(low <= -half and half - 1 <= high)
    return bool(pa.types.is_unsigned_integer(kind) and low <= 0 and (1 << kind.bit_width) - 1 <= high)


def accept_year(array: pa.Array) -> pa.Array:
    """Return YEAR values as ``int64``: 0 (for 0000) or 1901 to 2155."""
    values = parse_integers(floats_to_integers(array), unsigned=False, bounds=(0, 2155))
    _within(values, 0, 2155)
    years = np.asarray(pc.fill_null(values, 0))
    refuse_any((years > 0) & (years < 1901), lambda index: f"{years[index]} is neither 0 nor in 1901..2155")
    return values


def accept_bit(column: Column, array: pa.Array) -> pa.Array:
    bits = max(column.flen, 1)
    if is_binary_like(array.type):
        array = _from_big_endian(compact(as_text(array)))
    high = (1 << bits) - 1
    return _within(parse_integers(floats_to_integers(array), unsigned=True, bounds=(0, high)), 0, high)


def integer_text(values: pa.Array, before: bytes = b"") -> pa.Array:
    """Return the decimal text of integers, ``before`` before each; of a dictionary, that of each distinct one once."""
    if len(values) <= FEW:
        mark = before.decode()
        return pa.array([None if value is None else f"{mark}{value}" for value in values.to_pylist()], pa.string())
    if pa.types.is_dictionary(values.type):
        return integer_text(values.dictionary, before).take(values.indices)
    if before:
        return printed_numbers(fixed_values(values, values.type.to_pandas_dtype()), values, before)
    return to_text(values)


def parse_integers(array: pa.Array, *, unsigned: bool, bounds: tuple[int, int] | None = None) -> pa.Array:
    """Return ``uint64`` or ``int64``. ``bounds``: the range in errors beyond 64 bits. Raises ``TypeError``."""
    kind, target = array.type, pa.uint64() if unsigned else pa.int64()
    bounds = bounds or (_UINT64 if unsigned else _INT64)
    if kind == target:
        return array
    if pa.types.is_null(kind):
        return pa.nulls(len(array), target)
    if pa.types.is_decimal(kind):
        return _from_decimal(array, target, bounds)
    if pa.types.is_boolean(kind):
        return array.cast(pa.uint8()).cast(target)
    if pa.types.is_integer(kind):
        if unsigned and pa.types.is_signed_integer(kind):
            _within(array, 0, None, bounds)
        elif not unsigned and kind == pa.uint64():
            _within(array, None, _INT64[1], bounds)
        return to_number(array, target)
    return _from_text(as_text(array), target, bounds)


def _within(
    values: pa.Array, low: int | None, high: int | None, shown_bounds: tuple[int, int] | None = None
) -> pa.Array:
    bounds = extremes(values)
    if bounds is None:
        return values
    if (low is None or bounds[0] >= low) and (high is None or bounds[1] <= high):
        return values
    numbers = np.asarray(values.fill_null(0 if low is None else low))
    bad = np.zeros(len(values), np.bool_)
    if low is not None:
        bad |= numbers < low
    if high is not None:
        bad |= numbers > high
    refuse_any(bad, lambda index: _outside(values[index].as_py(), shown_bounds or (low, high)))
    return values


def _outside(value: object, bounds: tuple[int | None, int | None]) -> str:
    return f"{value} is outside {bounds[0]}..{bounds[1]}"


def _from_decimal(array: pa.Array, target: pa.DataType, bounds: tuple[int, int]) -> pa.Array:
    if array.type.scale != 0 or not pa.types.is_decimal128(array.type):
        try:
            array = array.cast(pa.decimal128(38, 0))
        except pa.ArrowInvalid:
            return _by_row(array.cast(pa.string()), target, bounds)
    words = np.frombuffer(array.buffers()[1], np.uint64, len(array) * 2, array.offset * 16)
    low, high = words[0::2], words[1::2]
    nulls = null_mask(array)
    beyond: npt.NDArray[np.bool_] = high != 0
    if target == pa.int64():
        beyond = (high.view(np.int64) != (low.view(np.int64) >> 63)).astype(np.bool_)
    refuse_any(beyond, lambda index: _outside(array[index].as_py(), bounds), nulls=nulls)
    values = np.ascontiguousarray(low if target == pa.uint64() else low.view(np.int64))
    return pa.array(values, mask=nulls)


def _from_text(array: pa.Array, target: pa.DataType, bounds: tuple[int, int]) -> pa.Array:
    if pa.types.is_binary(array.type):
        raise TypeError("binary is not a number")
    raw = text_buffers(array).data.tobytes()
    if b"x" in raw or b"X" in raw:  # Arrow would read 0x10 as 16
        return _by_row(array, target, bounds)
    try:
        return array.cast(target)
    except pa.ArrowInvalid:
        return _by_row(array, target, bounds)


def _by_row(array: pa.Array, target: pa.DataType, bounds: tuple[int, int]) -> pa.Array:
    def read(text: str) -> int:
        whole, _, fraction = text.strip().partition(".")
        digits = whole.lstrip("+-")
        if not (digits.isascii() and digits.isdigit()) or fraction.strip("0"):
            raise ValueError(f"{shown(text)} is not a whole number")
        if len(digits.lstrip("0")) > _MOST_DIGITS:
            raise ValueError(_outside(shown(text), bounds))
        value = int(whole[: len(whole) - len(digits)] + (digits.lstrip("0") or "0"))
        if not (0 <= value < 1 << 64 if target == pa.uint64() else -(1 << 63) <= value < 1 << 63):
            raise ValueError(_outside(value, bounds))
        return value

    return pa.array(read_each(array.to_pylist(), read), target)


def _from_big_endian(array: pa.Array) -> pa.Array:
    parts = text_buffers(array)
    refuse_any(parts.lengths > 8, "a BIT value has at most 8 bytes")
    values = np.zeros(len(array), np.uint64)
    for place in range(8):
        has = parts.lengths > place
        values[has] |= parts.data[parts.offsets[1:][has] - 1 - place].astype(np.uint64) << np.uint64(8 * place)
    return pa.array(values, mask=null_mask(array))
