"""Arithmetic and casts to numbers, in the types that TiDB computes in; NULL for a division by zero.

Rule source: pingcap/tidb ``pkg/expression/{builtin_arithmetic,builtin_math,builtin_op,builtin_cast}.go``,
``pkg/types/mydecimal.go`` (a quotient has a multiple of nine digits).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.errors import shown
from ticdc_emit.sql.evaluation.values import (
    MAX_DIGITS,
    OUT_OF_RANGE,
    TRUNCATED,
    Data,
    EvaluationError,
    Kind,
    NotExactError,
    Value,
    map_values,
    null_for_null,
    to_decimal,
    to_integer,
    to_real,
)

_EXACT = Context(prec=160)
_WHOLE = re.compile(r"[+-]?0*(\d+)", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})", re.ASCII)
_BIGINT_DIGITS, _INT64_DIGITS = 20, 18
_WORD, _WORDS = 9, 9
_MORE_DIGITS = 4  # of a quotient
_MAX_PRECISION, _MAX_SCALE = 65, 30
_INT64, _UINT64 = (-(1 << 63), (1 << 63) - 1), (0, (1 << 64) - 1)

# -- + - * / DIV MOD ---------------------------------------------------------------------------------------------------


@null_for_null
def arithmetic(operator: str, left: Value, right: Value) -> Value:
    kinds = {left.kind, right.kind}
    if kinds & {Kind.DATETIME, Kind.DURATION}:
        raise NotExactError("arithmetic with a date or time")
    if kinds & {Kind.REAL, Kind.TEXT}:
        return _floats(operator, to_real(left), to_real(right))
    if operator == "/" or Kind.DECIMAL in kinds:
        return _decimals(operator, to_decimal(left), to_decimal(right))
    return _integers(operator, to_integer(left), to_integer(right))


_CHECKED: Mapping[str, Callable[..., Data]] = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}


def _integers(operator: str, left: Data, right: Data) -> Value:
    unsigned = pa.types.is_uint64(left.type) or pa.types.is_uint64(right.type)
    kind = pa.uint64() if unsigned else pa.int64()
    if operator in _CHECKED and left.type == right.type:
        try:
            return Value(Kind.INT, _CHECKED[operator](left, right))
        except pa.ArrowInvalid:
            raise EvaluationError("BIGINT value is out of range", OUT_OF_RANGE) from None
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
    return Value(Kind.INT, map_values(of, kind, left, right))


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


def _in_range(number: int, limits: tuple[int, int]) -> int:
    if not limits[0] <= number <= limits[1]:
        raise EvaluationError("BIGINT value is out of range", OUT_OF_RANGE)
    return number


def _decimals(operator: str, left: Data, right: Data) -> Value:
    if operator in ("+", "-"):
        if max(_whole_digits(left), _whole_digits(right)) + max(left.type.scale, right.type.scale) >= MAX_DIGITS:
            return _wide(operator, left, right, max(left.type.scale, right.type.scale))
        one, other = align_decimals(left, right)
        return Value(Kind.DECIMAL, (pc.add if operator == "+" else pc.subtract)(one, other))
    if operator == "*":
        if left.type.scale + right.type.scale > _MAX_SCALE:
            raise NotExactError("a product of decimals with too many digits")
        if left.type.precision + right.type.precision >= MAX_DIGITS:
            return _wide(operator, left, right, left.type.scale + right.type.scale)
        wide = [each.cast(pa.decimal256(each.type.precision, each.type.scale)) for each in (left, right)]
        return Value(Kind.DECIMAL, pc.multiply(*wide))
    if operator == "/":
        return _decimal_quotient(left, right)
    if operator == "mod":
        kind = pa.decimal256(MAX_DIGITS, max(left.type.scale, right.type.scale))
        remainder = map_values(lambda one, other: _EXACT.remainder(one, other) if other else None, kind, left, right)
        return Value(Kind.DECIMAL, remainder)

    def whole(one: Decimal, other: Decimal) -> int | None:
        return _in_range(int(_EXACT.divide_int(one, other)), _INT64) if other else None

    return Value(Kind.INT, map_values(whole, pa.int64(), left, right))


def _whole_digits(data: Data) -> int:
    return int(data.type.precision - data.type.scale)


_EXACTLY: Mapping[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": _EXACT.add,
    "-": _EXACT.subtract,
    "*": _EXACT.multiply,
}


def _wide(operator: str, left: Data, right: Data, scale: int) -> Value:
    """Compute with types of more digits than Arrow has, whose values mostly have fewer: TiDB holds nine words."""
    compute, step = _EXACTLY[operator], Decimal(1).scaleb(-scale)

    def of(one: Decimal, other: Decimal) -> Decimal:
        result = compute(one, other).quantize(step, ROUND_DOWN, _EXACT)
        whole = max(result.adjusted() + 1, 0) if result else 0
        if -(-whole // _WORD) + -(-scale // _WORD) > _WORDS or whole + scale > MAX_DIGITS:
            raise NotExactError("decimals with too many digits")
        return result

    return Value(Kind.DECIMAL, map_values(of, pa.decimal256(MAX_DIGITS, scale), left, right))


def _decimal_quotient(left: Data, right: Data) -> Value:
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

    return Value(Kind.DECIMAL, map_values(of, pa.decimal256(MAX_DIGITS, scale), left, right))


def align_decimals(left: Data, right: Data) -> tuple[Data, Data]:
    """Return two decimals with the same scale; :class:`NotExactError` where Arrow has too few digits."""
    scale = max(left.type.scale, right.type.scale)
    digits = scale + max(left.type.precision - left.type.scale, right.type.precision - right.type.scale)
    if digits > MAX_DIGITS:
        raise NotExactError("decimals of more than 76 digits")
    kind = pa.decimal256(digits, scale)
    return left.cast(kind), right.cast(kind)


_UNCHECKED: Mapping[str, Callable[..., Data]] = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


def _floats(operator: str, left: Data, right: Data) -> Value:
    if operator in _UNCHECKED:
        result = _UNCHECKED[operator](left, right)
        if not pc.all(pc.is_finite(pc.fill_null(result, 0.0)), min_count=0).as_py():
            raise EvaluationError("DOUBLE value is out of range", OUT_OF_RANGE)
        return Value(Kind.REAL, result)
    if operator == "/":
        return Value(Kind.REAL, map_values(_float_quotient, pa.float64(), left, right))
    if operator == "mod":
        result = map_values(lambda one, other: math.fmod(one, other) if other else None, pa.float64(), left, right)
        return Value(Kind.REAL, result)
    raise NotExactError("DIV of floats")


def _float_quotient(one: float, other: float) -> float | None:
    if not other:
        return None
    quotient = one / other
    if math.isinf(quotient):
        raise EvaluationError("DOUBLE value is out of range", OUT_OF_RANGE)
    return quotient


# -- & | ^ << >> -------------------------------------------------------------------------------------------------------

BITWISE: Mapping[str, Callable[[int, int], int]] = {
    "&": lambda one, other: one & other,
    "|": lambda one, other: one | other,
    "^": lambda one, other: one ^ other,
    "<<": lambda one, other: one << other if other < 64 else 0,
    ">>": lambda one, other: one >> other,
}


@null_for_null
def bitwise(operator: str, left: Value, right: Value) -> Value:
    mask, compute = _UINT64[1], BITWISE[operator]

    def of(one: int, other: int) -> int:
        return compute(one & mask, other & mask) & mask

    return Value(Kind.INT, map_values(of, pa.uint64(), to_integer(left), to_integer(right)))


# -- functions of one number -------------------------------------------------------------------------------------------


@null_for_null
def negate(value: Value) -> Value:
    if value.kind in (Kind.REAL, Kind.DECIMAL):
        return Value(value.kind, pc.negate(value.data))
    if value.kind is Kind.TEXT:
        return Value(Kind.REAL, pc.negate(to_real(value)))
    data = to_integer(value)
    if not pa.types.is_int64(data.type):
        return Value(Kind.INT, map_values(lambda number: _in_range(-number, _INT64), pa.int64(), data))
    return _checked_integer(pc.negate_checked, data)


@null_for_null
def absolute(value: Value) -> Value:
    if value.kind in (Kind.REAL, Kind.DECIMAL):
        return Value(value.kind, pc.abs(value.data))
    if value.kind is Kind.TEXT:
        return Value(Kind.REAL, pc.abs(to_real(value)))
    return _checked_integer(pc.abs_checked, to_integer(value))


def _checked_integer(compute: Callable[[Data], Data], data: Data) -> Value:
    try:
        return Value(Kind.INT, compute(data))
    except pa.ArrowInvalid:
        raise EvaluationError("BIGINT value is out of range", OUT_OF_RANGE) from None


def round_whole(name: str, value: Value) -> Value:
    """Return CEIL or FLOOR of a number."""
    compute = pc.ceil if name == "CEIL" else pc.floor
    if value.kind is Kind.INT:
        return value
    if value.kind is Kind.REAL:
        return Value(Kind.REAL, compute(value.data))
    if value.kind is Kind.DECIMAL:
        whole = compute(value.data)
        digits = whole.type.precision - whole.type.scale
        if digits <= _INT64_DIGITS:
            return Value(Kind.INT, whole.cast(pa.decimal256(MAX_DIGITS, 0)).cast(pa.int64()))
    raise NotExactError(f"{name}() of {value.kind.value}")


@null_for_null
def round_number(value: Value, digits: Value | None = None) -> Value:
    """Return ROUND(value[, digits]): a decimal half away from zero, a float half to even."""
    wanted = _constant_digits("ROUND", digits)
    if value.kind is Kind.INT and wanted >= 0:
        return value
    if value.kind is Kind.DECIMAL and 0 <= wanted <= value.data.type.scale:
        return _rescaled(value.data, wanted, ROUND_HALF_UP)
    if value.kind is Kind.REAL and wanted == 0:
        return Value(Kind.REAL, pc.round(value.data, 0, "half_to_even"))
    raise NotExactError(f"ROUND() of {value.kind.value} to {wanted} digits")


@null_for_null
def truncate(value: Value, digits: Value) -> Value:
    wanted = _constant_digits("TRUNCATE", digits)
    if value.kind is Kind.INT and wanted >= 0:
        return value
    if value.kind is Kind.DECIMAL and 0 <= wanted <= value.data.type.scale:
        return _rescaled(value.data, wanted, ROUND_DOWN)
    raise NotExactError(f"TRUNCATE() of {value.kind.value} to {wanted} digits")


def _constant_digits(name: str, digits: Value | None) -> int:
    if digits is None:
        return 0
    if not digits.is_constant or digits.kind is not Kind.INT:
        raise NotExactError(f"{name}() to digits that are not a constant")
    return int(digits.data.as_py())


def _rescaled(data: Data, scale: int, rounding: str) -> Value:
    step = Decimal(1).scaleb(-scale)
    kind = pa.decimal256(data.type.precision - data.type.scale + scale + 1, scale)
    return Value(Kind.DECIMAL, map_values(lambda number: number.quantize(step, rounding, _EXACT), kind, data))


@null_for_null
def sign(value: Value) -> Value:
    numbers = value.data if value.kind is Kind.DECIMAL else to_real(value)
    return Value(Kind.INT, map_values(lambda number: (number > 0) - (number < 0), pa.int64(), numbers))


# -- casts -------------------------------------------------------------------------------------------------------------


def cast_integer(value: Value, unsigned: bool) -> Value:
    low, high = _UINT64 if unsigned else _INT64
    kind = pa.uint64() if unsigned else pa.int64()

    def of_integer(number: int) -> int:
        number &= _UINT64[1]
        return number if unsigned or number <= _INT64[1] else number - (1 << 64)

    def of_decimal(number: Decimal) -> int:
        whole = int(number.quantize(Decimal(1), ROUND_HALF_UP, _EXACT))
        if not low <= whole <= high:
            raise EvaluationError("a decimal out of range in CAST")
        return whole

    def of_text(text: str) -> int:
        stripped = text.strip()
        match = _WHOLE.fullmatch(stripped)
        if match is None or len(match[1]) > _BIGINT_DIGITS or not low <= int(stripped) <= high:
            raise EvaluationError(f"Truncated incorrect INTEGER value: {shown(text)}", TRUNCATED)
        return int(stripped)

    compute: Callable[[Any], int]
    data = value.data
    if value.kind in (Kind.INT, Kind.LABEL, Kind.BIT):
        data, compute = to_integer(value), of_integer
        if data.type == kind:
            return Value(Kind.INT, data)
    elif value.kind is Kind.DECIMAL:
        compute = of_decimal
    elif value.kind is Kind.TEXT and not value.is_binary:
        compute = of_text
    else:
        raise NotExactError(f"CAST of {value.kind.value} as an integer")
    return Value(Kind.INT, map_values(compute, kind, data))


def cast_decimal(value: Value, digits: int, scale: int) -> Value:
    is_text = value.kind is Kind.TEXT and not value.is_binary and not value.is_literal
    if value.kind not in (Kind.INT, Kind.DECIMAL) and not is_text:
        raise NotExactError(f"CAST of {value.kind.value} as a decimal")
    if digits > _MAX_PRECISION:
        raise NotExactError(f"a DECIMAL of more than {_MAX_PRECISION} digits")
    step, limit = Decimal(1).scaleb(-scale), Decimal(10) ** (digits - scale)

    def of(number: Decimal) -> Decimal:
        rounded = number.quantize(step, ROUND_HALF_UP, _EXACT)
        if abs(rounded) >= limit:
            raise EvaluationError("a decimal out of range in CAST")
        return rounded

    def of_text(text: str) -> Decimal:
        stripped = text.strip()
        if not _DECIMAL.fullmatch(stripped):
            raise EvaluationError(f"Truncated incorrect DECIMAL value: {shown(text)}", TRUNCATED)
        return of(Decimal(stripped))

    kind = pa.decimal256(digits, scale)
    return Value(
        Kind.DECIMAL, map_values(of_text, kind, value.data) if is_text else map_values(of, kind, to_decimal(value))
    )
