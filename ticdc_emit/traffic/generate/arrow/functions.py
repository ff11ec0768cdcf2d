"""Functions of text, lists and times as Spark computes them, in Arrow.

In: the number of rows, and Arrow arrays or scalars. Out: arrays, or scalars if all operands are scalars. Only ASCII
text is converted to upper or lower case. Rule source: Spark's SQL reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.traffic.generate.arrow.integers import ints
from ticdc_emit.traffic.needs_spark import NeedsSparkError

__all__ = ["FUNCTIONS"]

Value = Any
_DIGITS_OF_36 = 13  # of the greatest bigint
_SIGNS = np.frombuffer(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", np.uint8)


def _get(_: int, values: pa.Scalar, place: Value) -> Value:
    """Return the element at an index from 0 on; NULL outside of the list."""
    if not isinstance(values, pa.ListScalar):
        raise NeedsSparkError("get of a list that is not constant")
    inside = pc.and_(pc.greater_equal(place, 0), pc.less(place, len(values)))
    return values.values.take(pc.if_else(inside, place, pa.scalar(None, place.type)))


def _split(_: int, text: pa.Scalar, pattern: pa.Scalar) -> pa.Scalar:
    return pa.scalar(re.split(pattern.as_py(), text.as_py()), pa.list_(pa.string()))


def _list(_: int, *values: Value) -> Value:
    """Return a list of constants; anything else is the value of ``element_at(array(value), 1)``."""
    if all(isinstance(value, pa.StringScalar) for value in values):
        return pa.scalar([value.as_py() for value in values], pa.list_(pa.string()))
    if len(values) != 1:
        raise NeedsSparkError("a list that is not constant")
    return values[0]


def _element_at(_: int, values: Value, place: pa.Scalar) -> Value:
    if isinstance(values, pa.ListScalar) or place.as_py() != 1:
        raise NeedsSparkError("element_at")
    return values


def _concat(_: int, *texts: Value) -> Value:
    return pc.binary_join_element_wise(*texts, "")


def _concat_ws(_: int, separator: pa.Scalar, *texts: Value) -> Value:
    """Join the texts that are not NULL. (Arrow's own ``skip`` loses rows in which all are NULL.)"""
    headed = [pc.fill_null(pc.binary_join_element_wise(separator, text, ""), "") for text in texts]
    return pc.utf8_slice_codeunits(pc.binary_join_element_wise(*headed, ""), len(separator.as_py()))


def _left(_: int, text: Value, length: pa.Scalar) -> Value:
    return pc.utf8_slice_codeunits(text, 0, length.as_py())


def _right(_: int, text: Value, length: pa.Scalar) -> Value:
    return pc.utf8_slice_codeunits(text, -length.as_py(), None) if length.as_py() else _left(_, text, length)


def _substring(count: int, text: Value, start: Value, length: pa.Scalar) -> Value:
    if isinstance(start, pa.Scalar):
        return pc.utf8_slice_codeunits(text, start.as_py() - 1, start.as_py() - 1 + length.as_py())
    if not isinstance(text, pa.Scalar) or length.as_py() != 1:
        raise NeedsSparkError("substring at a place of its own in each row")
    return _get(count, pa.scalar(list(text.as_py()), pa.list_(pa.string())), pc.subtract(start, 1))


def _lpad(_: int, text: Value, width: pa.Scalar, fill: pa.Scalar) -> Value:
    """Pad on the left; longer text is cut on the right."""
    return _left(_, pc.utf8_lpad(text, width.as_py(), fill.as_py()), width)


def _rpad(_: int, value: Value, width: pa.Scalar, fill: pa.Scalar) -> Value:
    if not pa.types.is_binary(value.type):
        return _left(_, pc.utf8_rpad(value, width.as_py(), fill.as_py()), width)
    size, byte = width.as_py(), fill.as_py()
    return pa.array([None if each is None else each.ljust(size, byte)[:size] for each in value.to_pylist()], value.type)


def _rtrim(_: int, text: Value) -> Value:
    return pc.utf8_rtrim(text, " ")


def _lower(_: int, text: Value) -> Value:
    return pc.ascii_lower(text)


def _upper(_: int, text: Value) -> Value:
    return pc.ascii_upper(text)


def _texts(signs: np.ndarray[Any, np.dtype[np.uint8]], of: Value) -> pa.Array:
    """Return rows of ASCII digits as text without leading zeros (``0`` for zero), NULL where ``of`` is NULL."""
    rows, width = signs.shape
    text = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), rows, [None, pa.py_buffer(signs.tobytes())])
    short = pc.ascii_ltrim(text.cast(pa.binary()).cast(pa.string()), "0")
    short = pc.if_else(pc.equal(short, ""), "0", short)
    return pc.if_else(pc.is_valid(of), short, pa.scalar(None, pa.string()))


def _hex(count: int, number: Value) -> pa.Array:
    """Return a bigint in upper-case hexadecimal; a negative one has 16 digits."""
    octets = np.frombuffer(ints(number, count).astype(">i8").tobytes(), np.uint8).reshape(count, 8)
    nibbles = np.stack([octets >> 4, octets & 15], axis=2).reshape(count, 16)
    return _texts(_SIGNS[nibbles], number)


def _unhex(_: int, text: Value) -> pa.Array:
    return pa.array([None if each is None else bytes.fromhex(each) for each in text.to_pylist()], pa.binary())


def _conv(count: int, text: Value, base: pa.Scalar, target: pa.Scalar) -> pa.Array:
    """Return a non-negative number in base 36."""
    if (base.as_py(), target.as_py()) != (10, 36):
        raise NeedsSparkError("conv between other bases than 10 and 36")
    rest = ints(text.cast(pa.int64()), count).copy()
    signs = np.empty((count, _DIGITS_OF_36), np.uint8)
    for place in reversed(range(_DIGITS_OF_36)):
        signs[:, place] = _SIGNS[rest % 36]
        rest //= 36
    return _texts(signs, text)


def _date_add(_: int, date: Value, days: Value) -> Value:
    return pc.add(date.cast(pa.int32()), days).cast(pa.date32())


def _timestampadd(_: int, unit: Value, amount: Value, moment: pa.Scalar) -> Value:
    return pc.add(moment.cast(pa.int64()), amount).cast(pa.timestamp("us"))


def _timestamp_micros(_: int, micros: Value) -> Value:
    return micros.cast(pa.timestamp("us", "UTC"))


def _floor(_: int, number: Value) -> Value:
    return pc.floor(number).cast(pa.int64())


def _least(_: int, *values: Value) -> Value:
    return pc.min_element_wise(*values)


def _greatest(_: int, *values: Value) -> Value:
    return pc.max_element_wise(*values)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "array": _list,
    "concat": _concat,
    "concat_ws": _concat_ws,
    "conv": _conv,
    "date_add": _date_add,
    "element_at": _element_at,
    "floor": _floor,
    "get": _get,
    "greatest": _greatest,
    "hex": _hex,
    "least": _least,
    "left": _left,
    "lower": _lower,
    "lpad": _lpad,
    "right": _right,
    "rpad": _rpad,
    "rtrim": _rtrim,
    "split": _split,
    "substring": _substring,
    "timestamp_micros": _timestamp_micros,
    "timestampadd": _timestampadd,
    "unhex": _unhex,
    "upper": _upper,
}
"""Functions by Spark's names. ``pow`` is missing, because the JVM's result can differ in the last digit."""
