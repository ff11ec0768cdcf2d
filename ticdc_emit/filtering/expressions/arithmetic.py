"""Arithmetic: range-checked integers, exact decimals, floats.

In: numbers. Out: numbers of the type that TiDB computes them in; NULL for a division by zero, :class:`EvaluationError`
for a result out of range. Rule source: pingcap/tidb ``pkg/expression/{builtin_arithmetic,builtin_math,builtin_op}.go``,
``pkg/types/mydecimal.go`` (a quotient has a multiple of nine digits).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.faults import shown
from ticdc_emit.columnar.operators import UNCHECKED_ARITHMETIC
from ticdc_emit.filtering.expressions.comparison import aligned_decimals
from ticdc_emit.filtering.expressions.values import (
    MAX_DIGITS,
    Data,
    EvaluationError,
    Kind,
    NotExactError,
    Value,
    mapped,
    null,
    to_decimal,
    to_integer,
    to_real,
)

__all__ = ["absolute", "arithmetic", "bitwise", "cast_decimal", "cast_integer", "negated", "rounded_to_integer"]

_INTEGERS: dict[str, Callable[..., Any]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
}
_EXACT = Context(prec=160)
_WHOLE = re.compile(r"[+-]?0*(\d+)", re.ASCII)
_BIGINT_DIGITS = 20
_WORD = 9
_MORE_DIGITS = 4  # of a quotient
_MAX_PRECISION, _MAX_SCALE = 65, 30
_INT64, _UINT64 = (-(1 << 63), (1 << 63) - 1), (0, (1 << 64) - 1)


def arithmetic(operator: str, left: Value, right: Value) -> Value:
    """Return ``left operator right`` for + - * / div mod."""
    if Kind.NULL in (left.kind, right.kind):
        return null()
    if Kind.DATETIME in (left.kind, right.kind) or Kind.DURATION in (left.kind, right.kind):
        raise NotExactError("arithmetic with a date or time")
    if Kind.REAL in (left.kind, right.kind) or Kind.TEXT in (left.kind, right.kind):
        return _floats(operator, to_real(left), to_real(right))
    if operator == "/" or Kind.DECIMAL in (left.kind, right.kind):
        return _decimals(operator, to_decimal(left), to_decimal(right))
    return _integers(operator, to_integer(left), to_integer(right))


def _integers(operator: str, left: Data, right: Data) -> Value:
    unsigned = pa.types.is_uint64(left.type) or pa.types.is_uint64(right.type)
    kind = pa.uint64() if unsigned else pa.int64()
    if operator in _INTEGERS and left.type == right.type:
        try:
            return Value(Kind.INT, _INTEGERS[operator](left, right))
        except pa.ArrowInvalid:
            raise EvaluationError("BIGINT value is out of range") from None
    limits = _UINT64 if unsigned else _INT64
    compute: dict[str, Callable[[int, int], int | None]] = {
        "+": lambda one, other: one + other,
        "-": lambda one, other: one - other,
        "*": lambda one, other: one * other,
        "div": _quotient,
        "mod": _remainder,
    }

    def of(one: int, other: int) -> int | None:
        result = compute[operator](one, other)
        return None if result is None else _in_range(result, limits)

    if operator == "mod":
        # the remainder has the sign of the dividend, and its type
        kind, limits = left.type, _UINT64 if pa.types.is_uint64(left.type) else _INT64
    return Value(Kind.INT, mapped(of, kind, left, right))


def _quotient(one: int, other: int) -> int | None:
    if other == 0:
        return None
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def _remainder(one: int, other: int) -> int | None:
    if other == 0:
        return None
    remainder = abs(one) % abs(other)
    return -remainder if one < 0 else remainder


def _decimals(operator: str, left: Data, right: Data) -> Value:
    if operator in ("+", "-"):
        one, other = aligned_decimals(left, right)
        if one.type.precision >= MAX_DIGITS:
            raise NotExactError("a sum of decimals with too many digits")
        return Value(Kind.DECIMAL, UNCHECKED_ARITHMETIC[operator](one, other))
    if operator == "*":
        if left.type.scale + right.type.scale > _MAX_SCALE or left.type.precision + right.type.precision >= MAX_DIGITS:
            raise NotExactError("a product of decimals with too many digits")
        wide = [each.cast(pa.decimal256(each.type.precision, each.type.scale)) for each in (left, right)]
        return Value(Kind.DECIMAL, pc.multiply(*wide))
    if operator == "/":
        return _divided(left, right)
    if operator == "mod":
        scale = max(left.type.scale, right.type.scale)
        kind = pa.decimal256(MAX_DIGITS, scale)
        remainder = mapped(lambda one, other: _EXACT.remainder(one, other) if other else None, kind, left, right)
        return Value(Kind.DECIMAL, remainder)

    def whole(one: Decimal, other: Decimal) -> int | None:
        return _in_range(int(_EXACT.divide_int(one, other)), _INT64) if other else None

    return Value(Kind.INT, mapped(whole, pa.int64(), left, right))


def _divided(left: Data, right: Data) -> Value:
    words = [-(-each.type.scale // _WORD) * _WORD for each in (left, right)]
    padding = sum(words) - left.type.scale - right.type.scale
    scale = -(-(sum(words) + max(_MORE_DIGITS - padding, 0)) // _WORD) * _WORD
    step = Decimal(1).scaleb(-scale)

    def of(one: Decimal, other: Decimal) -> Decimal | None:
        if not other:
            return None
        quotient = _EXACT.divide(one, other).quantize(step, ROUND_DOWN, _EXACT)
        if len(quotient.as_tuple().digits) > MAX_DIGITS:
            raise NotExactError(f"a quotient of more than {MAX_DIGITS} digits")
        return quotient

    return Value(Kind.DECIMAL, mapped(of, pa.decimal256(MAX_DIGITS, scale), left, right))


def _floats(operator: str, left: Data, right: Data) -> Value:
    if operator in UNCHECKED_ARITHMETIC:
        result = UNCHECKED_ARITHMETIC[operator](left, right)
        if not pc.all(pc.is_finite(pc.fill_null(result, 0.0)), min_count=0).as_py():
            raise EvaluationError("DOUBLE value is out of range")
        return Value(Kind.REAL, result)
    if operator == "/":
        return Value(Kind.REAL, mapped(_divided_floats, pa.float64(), left, right))
    if operator == "mod":
        result = mapped(lambda one, other: math.fmod(one, other) if other else None, pa.float64(), left, right)
        return Value(Kind.REAL, result)
    raise NotExactError("DIV of floats")


def _divided_floats(one: float, other: float) -> float | None:
    if not other:
        return None
    quotient = one / other
    if math.isinf(quotient):
        raise EvaluationError("DOUBLE value is out of range")
    return quotient


def _in_range(number: int, limits: tuple[int, int]) -> int:
    if not limits[0] <= number <= limits[1]:
        raise EvaluationError("BIGINT value is out of range")
    return number


def negated(value: Value) -> Value:
    """Return ``-value``."""
    if value.kind is Kind.NULL:
        return null()
    if value.kind is Kind.REAL:
        return Value(Kind.REAL, pc.negate(value.data))
    if value.kind is Kind.DECIMAL:
        return Value(Kind.DECIMAL, pc.negate(value.data))
    if value.kind is Kind.TEXT:
        return Value(Kind.REAL, pc.negate(to_real(value)))
    data = to_integer(value)
    if not pa.types.is_int64(data.type):
        return Value(Kind.INT, mapped(lambda number: _in_range(-number, _INT64), pa.int64(), data))
    try:
        return Value(Kind.INT, pc.negate_checked(data))
    except pa.ArrowInvalid:
        raise EvaluationError("BIGINT value is out of range") from None


def absolute(value: Value) -> Value:
    """Return ABS(value)."""
    if value.kind is Kind.NULL:
        return null()
    if value.kind in (Kind.REAL, Kind.DECIMAL):
        return Value(value.kind, pc.abs(value.data))
    if value.kind is Kind.TEXT:
        return Value(Kind.REAL, pc.abs(to_real(value)))
    data = to_integer(value)
    try:
        return Value(Kind.INT, pc.abs_checked(data))
    except pa.ArrowInvalid:
        raise EvaluationError("BIGINT value is out of range") from None


def bitwise(operator: str, left: Value, right: Value) -> Value:
    """Return ``left operator right`` for & | ^ << >>: unsigned numbers of 64 bits."""
    if Kind.NULL in (left.kind, right.kind):
        return null()
    mask = _UINT64[1]
    compute: dict[str, Callable[[int, int], int]] = {
        "&": lambda one, other: one & other,
        "|": lambda one, other: one | other,
        "^": lambda one, other: one ^ other,
        "<<": lambda one, other: one << other if other < 64 else 0,
        ">>": lambda one, other: one >> other,
    }
    result = mapped(
        lambda one, other: compute[operator](one & mask, other & mask) & mask,
        pa.uint64(),
        to_integer(left),
        to_integer(right),
    )
    return Value(Kind.INT, result)


def rounded_to_integer(value: Value, name: str) -> Value:
    """Return CEIL or FLOOR of an integer, or of a float as a float."""
    if value.kind is Kind.INT:
        return value
    if value.kind is Kind.REAL:
        return Value(Kind.REAL, (pc.ceil if name == "ceil" else pc.floor)(value.data))
    raise NotExactError(f"{name.upper()}() of {value.kind.value}")


def cast_integer(value: Value, unsigned: bool) -> Value:
    """Return CAST(value AS SIGNED) or AS UNSIGNED."""
    if value.kind is Kind.NULL:
        return null()
    low, high = _UINT64 if unsigned else _INT64

    def wrapped(number: int) -> int:
        number &= _UINT64[1]
        return number if unsigned or number <= _INT64[1] else number - (1 << 64)

    kind = pa.uint64() if unsigned else pa.int64()
    if value.kind in (Kind.INT, Kind.LABEL, Kind.BIT):
        data = to_integer(value)
        return Value(Kind.INT, data if data.type == kind else mapped(wrapped, kind, data))
    if value.kind is Kind.DECIMAL:

        def of_decimal(number: Decimal) -> int:
            whole = int(number.quantize(Decimal(1), ROUND_HALF_UP, _EXACT))
            if not low <= whole <= high:
                raise EvaluationError("a decimal out of range in CAST")
            return whole

        return Value(Kind.INT, mapped(of_decimal, kind, value.data))
    if value.kind is Kind.TEXT and not value.is_binary:

        def of_text(text: str) -> int:
            stripped = text.strip()
            match = _WHOLE.fullmatch(stripped)
            if match is None or len(match[1]) > _BIGINT_DIGITS or not low <= int(stripped) <= high:
                raise EvaluationError(f"Truncated incorrect INTEGER value: {shown(text)}")
            return int(stripped)

        return Value(Kind.INT, mapped(of_text, kind, value.data))
    raise NotExactError(f"CAST of {value.kind.value} as an integer")


def cast_decimal(value: Value, digits: int, scale: int) -> Value:
    """Return CAST(value AS DECIMAL(digits, scale)) of an integer or a decimal."""
    if value.kind not in (Kind.INT, Kind.DECIMAL):
        raise NotExactError(f"CAST of {value.kind.value} as a decimal")
    if digits > _MAX_PRECISION:
        raise NotExactError(f"a DECIMAL of more than {_MAX_PRECISION} digits")
    step, limit = Decimal(1).scaleb(-scale), Decimal(10) ** (digits - scale)

    def of(number: Decimal) -> Decimal:
        rounded = number.quantize(step, ROUND_HALF_UP, _EXACT)
        if abs(rounded) >= limit:
            raise EvaluationError("a decimal out of range in CAST")
        return rounded

    return Value(Kind.DECIMAL, mapped(of, pa.decimal256(digits, scale), to_decimal(value)))
