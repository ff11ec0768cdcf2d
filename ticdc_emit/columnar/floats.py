"""FLOAT and DOUBLE columns, and the float text of Go. NaN and infinity are refused, because TiDB cannot store them.

Text is Go's ``FormatFloat(v, 'f', -1, bits)`` (semantics 2.0.2): the shortest digits that read back, never an exponent,
no ``.0``. The digits come from one ``orjson`` dump; the few values that it would print with an exponent (from 1e16, of
a float32 from 1e13, and below 1e-5) are printed one by one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.assemble import Mask, enclosed
from ticdc_emit.columnar.buffers import FEW, as_text, fixed_values, from_bytes, null_mask, text_buffers
from ticdc_emit.columnar.value_errors import ValueRefused, read_each
from ticdc_emit.errors import shown
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import MySQLType

Numbers: TypeAlias = "npt.NDArray[Any]"


class Precision(NamedTuple):
    """What a float keeps: whole numbers below 2 to the ``whole_bits``, and decimal numbers of at most ``digits``
    digits. From ``fixed_below`` on, orjson may print an exponent.
    """

    whole_bits: int
    digits: int
    fixed_below: float


PRECISIONS = {4: Precision(24, 6, 1e13), 8: Precision(53, 15, 1e15)}
"""By item size: of ``float32`` and ``float64``."""
_COMMA = 0x2C
_EXPONENT = b"e"
_EXPONENT_BELOW, _EXPONENT_FROM = 1e-6, 1e21  # in JSON
_FIXED_FROM, _GENERAL_BELOW = 1e-4, 1e6
_GO_TIE = 2.0**-12  # the one float32 whose shortest digits are a tie that Go does not round to even
_GO_TIE_TEXT = "0.00024414063"
_NUMBER_TEXT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)


def accept_float(column: Column, array: pa.Array) -> pa.Array:
    """Return finite ``float32``/``float64`` values; :class:`ValueRefused` for any other, or a sign under UNSIGNED."""
    single = column.type == MySQLType.FLOAT
    if len(array) <= FEW and array.type == (pa.float32() if single else pa.float64()) and _are_finite(column, array):
        return array
    values = _as_double(array) if array.type != pa.float32() else array
    nulls = null_mask(values)
    with np.errstate(over="ignore"):
        numbers = _numbers(values).astype(np.float32 if single else np.float64, copy=False)
    bad = ~np.isfinite(numbers)
    if column.unsigned:
        bad |= np.less(numbers, 0)
    if nulls is not None:
        bad &= ~nulls
    if bad.any():
        index = int(bad.argmax())
        number = numbers[index]
        was = array[index].as_py()
        reason = f"{shown(was)} is negative" if number < 0 and np.isfinite(number) else _not_finite(was)
        raise ValueRefused(index, reason, bad=bad)
    if numbers.dtype == np.float32 and array.type == pa.float32():
        return array
    return pa.array(numbers, mask=nulls)


def _are_finite(column: Column, few: pa.Array) -> bool:
    held = [value for value in few.to_pylist() if value is not None]
    return all(map(math.isfinite, held)) and not (column.unsigned and min(held, default=0) < 0)


def _not_finite(value: object) -> str:
    infinite = isinstance(value, float) and not np.isfinite(value)
    return f"{value} is not a number that TiDB stores" if infinite else f"{shown(value)} is too large"


def _numbers(values: pa.Array) -> Numbers:
    return fixed_values(values, np.float32 if values.type == pa.float32() else np.float64)


def _as_double(array: pa.Array) -> pa.Array:
    kind = array.type
    if kind == pa.float64():
        return array
    if pa.types.is_null(kind) or pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return array.cast(pa.float64(), safe=False)
    if pa.types.is_decimal(kind):  # Arrow's cast from decimal to double is not correctly rounded, so cast to text first
        return array.cast(pa.string()).cast(pa.float64())
    text = as_text(array)
    if pa.types.is_binary(text.type):
        raise TypeError("binary is not a number")
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        return _by_row(text.to_pylist())


def _by_row(items: list[str | None]) -> pa.Array:
    def read(item: str) -> float:
        if not _NUMBER_TEXT.fullmatch(item.strip()):
            raise ValueError(f"{shown(item)} is not a number")
        return float(item)

    return pa.array(read_each(items, read), pa.float64())


def floats_to_integers(array: pa.Array) -> pa.Array:
    """Return floats as ``int64``. Raises :class:`ValueRefused` for fractions and where a float is several numbers."""
    if not pa.types.is_floating(array.type):
        return array
    array = array.cast(pa.float32()) if pa.types.is_float16(array.type) else array
    numbers, nulls = _numbers(array), null_mask(array)
    with np.errstate(invalid="ignore"):
        bad = _is_inexact(numbers) | (np.rint(numbers) != numbers)
    if nulls is not None:
        bad &= ~nulls
        numbers = np.where(nulls, 0, numbers)
    _refuse_inexact(numbers, bad, "an integer type", "is not a whole number")
    return pa.array(numbers.astype(np.int64), mask=nulls)


def floats_to_decimal_text(array: pa.Array) -> pa.Array:
    """Return the shortest decimal text of each float; :class:`ValueRefused` where that need not be the number meant."""
    array = array.cast(pa.float32()) if pa.types.is_float16(array.type) else array
    numbers, nulls = _numbers(array), null_mask(array)
    known = True if nulls is None else ~nulls
    _refuse_inexact(numbers, _is_inexact(numbers) & known, "decimal", "is not a number that TiDB stores")
    text, most_digits = fixed_text(array), PRECISIONS[numbers.itemsize].digits
    long = text_buffers(text).lengths > most_digits
    if long.any():
        digits = pc.utf8_ltrim(pc.replace_substring(text, ".", ""), "-0")
        bad = long & (text_buffers(digits).lengths > most_digits) & (np.rint(numbers) != numbers) & known
        if bad.any():
            index = int(bad.argmax())
            reason = f"{text[index]} has more than the {most_digits} digits that a {array.type} keeps"
            raise ValueRefused(index, reason, "Round it, or cast it to decimal, first", bad)
    return text


def _is_inexact(numbers: Numbers) -> Mask:
    exact: Mask = np.abs(numbers) < 1 << PRECISIONS[numbers.itemsize].whole_bits
    return ~exact


def _refuse_inexact(numbers: Numbers, bad: Mask, exact_type: str, otherwise: str) -> None:
    """Raise :class:`ValueRefused` for ``bad``: too large to be exact (cast to ``exact_type``), or ``otherwise``."""
    if not bad.any():
        return
    index = int(bad.argmax())
    number = numbers[index]
    bits = PRECISIONS[numbers.itemsize].whole_bits
    if np.isfinite(number) and abs(number) >= 1 << bits:
        kind = pa.from_numpy_dtype(numbers.dtype)
        reason = f"{number} is a {kind} of 2^{bits} or more: digits may be lost"
        raise ValueRefused(index, reason, f"Cast it to {exact_type} where it is still exact", bad)
    raise ValueRefused(index, f"{number} {otherwise}", bad=bad)


def number_text(values: pa.Array, *, exponent_digits: int = 2) -> pa.Array:
    """Return json-iterator's text, with an exponent (two digits or more; Go's own: one) below 1e-6 and from 1e21 on."""
    return _shortest_text(values, _with_exponent(_EXPONENT_BELOW, _EXPONENT_FROM, exponent_digits))


def general_text(values: pa.Array, before: bytes = b"") -> pa.Array:
    """Return the text of Go's ``%v``, with an exponent of two digits or more below 0.0001 and from 1000000 on."""
    printed = _with_exponent(_FIXED_FROM, _GENERAL_BELOW, 2)
    return _shortest_text(values, printed, fixed_below=_GENERAL_BELOW, before=before)


def _with_exponent(below: float, since: float, digits: int) -> Callable[[np.floating[Any]], str]:
    def printed(number: np.floating[Any]) -> str:
        kind = type(number)
        if kind(below) <= abs(number) < kind(since):
            return _positional(number)
        return np.format_float_scientific(number, unique=True, trim="-", exp_digits=digits)

    return printed


def fixed_text(values: pa.Array) -> pa.Array:
    return _shortest_text(values, _positional)


def _shortest_text(
    values: pa.Array,
    printed: Callable[[np.floating[Any]], str],
    *,
    fixed_below: float | None = None,
    before: bytes = b"",
) -> pa.Array:
    numbers = np.ascontiguousarray(_numbers(values))
    text = printed_numbers(numbers, values, before)
    size = np.abs(numbers)
    ties = size == _GO_TIE if numbers.dtype == np.float32 else np.zeros(0, np.bool_)
    if fixed_below is None:
        if _EXPONENT not in text_buffers(text).data.tobytes() and not ties.any():
            return text
        fixed_below = PRECISIONS[numbers.itemsize].fixed_below
    outside = (size >= fixed_below) | (size < _FIXED_FROM)
    if len(ties):
        outside |= ties
    (places,) = outside.nonzero()
    places = places[numbers[places] != 0]
    nulls = null_mask(values)
    if nulls is not None:
        places = places[~nulls[places]]
    if not len(places):
        return text
    odd = np.zeros(len(numbers), np.bool_)
    odd[places] = True
    shown = [before.decode() + printed(number) for number in numbers[places]]
    return pc.replace_with_mask(text, pa.array(odd), pa.array(shown, pa.string()))


def printed_numbers(numbers: Numbers, like: pa.Array, before: bytes = b"") -> pa.Array:
    """Return numbers as orjson prints them, whole ones without ``.0``. A single byte ``before`` replaces the commas."""
    if not len(numbers):
        return pa.array([], pa.string())
    printed = memoryview(orjson.dumps(numbers, option=orjson.OPT_SERIALIZE_NUMPY))[1:-1]
    raw = b"".join((b",", printed, b","))
    if numbers.dtype.kind == "f":
        raw = raw.replace(b".0,", b",")
    ends = (np.frombuffer(raw, np.uint8) == _COMMA).nonzero()[0].astype(np.int32)
    if len(before) == 1:
        return from_bytes(ends, raw if before == b"," else raw.replace(b",", before), like=like)
    ends -= np.arange(len(ends), dtype=np.int32)
    text = from_bytes(ends, raw.translate(None, b","), like=like)
    return enclosed(text, (before, b"")).view(pa.string()) if before else text


def _positional(number: np.floating[Any]) -> str:
    if number.dtype == np.float32 and abs(number) == _GO_TIE:
        return _GO_TIE_TEXT if number > 0 else "-" + _GO_TIE_TEXT
    return np.format_float_positional(number, unique=True, trim="-")
