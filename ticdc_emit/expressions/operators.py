"""Arithmetic: range-checked integers, exact decimals, floats.

In: numbers. Out: numbers of the type that TiDB computes them in; NULL for a division by zero, :class:`EvaluationError`
for a result out of range. Rule source: pingcap/tidb ``pkg/expression/{builtin_arithmetic,builtin_math,builtin_op}.go``,
``pkg/types/mydecimal.go`` (a quotient has a multiple of nine digits).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import COMPARISONS, UNCHECKED_ARITHMETIC
from ticdc_emit.errors import shown
from ticdc_emit.expressions.functions import comparable_moments, compare_json, parsed_duration, to_json
from ticdc_emit.expressions.values import (
    MAX_DIGITS,
    Data,
    EvaluationError,
    Kind,
    NotExactError,
    Value,
    boolean,
    common_collation,
    ignores_case,
    keys,
    mapped,
    null,
    to_decimal,
    to_integer,
    to_real,
    to_text,
    weight,
)
from ticdc_emit.regexp import GoRegexpError, compile_regexp
from ticdc_emit.sql.inference.operands import Coercibility
from ticdc_emit.sql.types import MySQLType

__all__ = [
    "absolute",
    "aligned_decimals",
    "arithmetic",
    "bitwise",
    "both",
    "cast_decimal",
    "cast_integer",
    "chosen",
    "coalesce",
    "compare",
    "either",
    "is_among",
    "is_null",
    "is_true",
    "like",
    "negated",
    "negation",
    "null_if",
    "one_of_two",
    "regexp",
    "rounded_to_integer",
    "same",
    "truth",
]


_INTEGER_KERNELS: dict[str, Callable[..., Any]] = {
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
    return _integer_result(operator, to_integer(left), to_integer(right))


def _integer_result(operator: str, left: Data, right: Data) -> Value:
    unsigned = pa.types.is_uint64(left.type) or pa.types.is_uint64(right.type)
    kind = pa.uint64() if unsigned else pa.int64()
    if operator in _INTEGER_KERNELS and left.type == right.type:
        try:
            return Value(Kind.INT, _INTEGER_KERNELS[operator](left, right))
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


_JSON_TESTS: dict[str, Callable[[int], bool]] = {
    "=": lambda order: order == 0,
    "<>": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}
_WHOLE_TEXT = re.compile(r"[+-]?\d{1,18}")
_INTEGER_KINDS = (Kind.INT, Kind.LABEL, Kind.BIT)


def compare(operator: str, left: Value, right: Value) -> Value:
    """Return ``left operator right``."""
    if Kind.NULL in (left.kind, right.kind):
        return boolean(pa.scalar(None, pa.bool_()))
    if Kind.JSON in (left.kind, right.kind):
        test = _JSON_TESTS[operator]
        ordered = operator not in ("=", "<>")
        results = mapped(
            lambda one, other: test(compare_json(one, other, ordered=ordered)),
            pa.bool_(),
            to_json(left),
            to_json(right),
        )
        return boolean(results)
    one, other = _comparable(left, right, ordered=operator not in ("=", "<>"))
    return boolean(COMPARISONS[operator](one, other))


def same(left: Value, right: Value) -> Value:
    """Return ``left <=> right``, which is never NULL, and true for two NULLs."""
    equal = compare("=", left, right).data
    either_null = pc.or_(_is_null(left), _is_null(right))
    both_null = pc.and_(_is_null(left), _is_null(right))
    return boolean(pc.if_else(either_null, both_null, equal))


def _is_null(value: Value) -> Data:
    return pc.is_null(value.data)


def is_among(value: Value, items: list[Value]) -> Value:
    """Return ``value IN (items)``."""
    return reduce(
        lambda found, more: boolean(pc.or_kleene(found.data, more.data)),
        (compare("=", value, item) for item in items),
    )


def _comparable(left: Value, right: Value, *, ordered: bool) -> tuple[Data, Data]:
    kinds = {left.kind, right.kind}
    if Kind.DATETIME in kinds:
        return comparable_moments(left, right)
    if Kind.DURATION in kinds:
        return _durations(left, right)
    texts = (Kind.TEXT, Kind.LABEL)
    if left.kind in texts and right.kind in texts:
        return _texts(to_text(left), to_text(right), ordered=ordered)
    left, right = _refined(left, right), _refined(right, left)
    if left.kind in _INTEGER_KINDS and right.kind in _INTEGER_KINDS:
        return _as_one_integer_type(_adjusted_year(left, right), _adjusted_year(right, left))
    if left.kind in (*_INTEGER_KINDS, Kind.DECIMAL) and right.kind in (*_INTEGER_KINDS, Kind.DECIMAL):
        return aligned_decimals(to_decimal(left), to_decimal(right))
    return to_real(left), to_real(right)


def _durations(left: Value, right: Value) -> tuple[Data, Data]:
    durations = []
    for value in (left, right):
        if value.kind is Kind.DURATION:
            durations.append(value.data)
        elif value.kind is Kind.TEXT and value.is_constant and not value.is_literal:
            durations.append(mapped(parsed_duration, pa.int64(), value.data))
        else:
            raise NotExactError(f"a TIME beside {value.kind.value}")
    return durations[0], durations[1]


def _refined(value: Value, beside: Value) -> Value:
    """Return a constant compared with an integer as an integer: TiDB does not use floats there."""
    if beside.kind in _INTEGER_KINDS and value.is_constant and value.kind is Kind.TEXT:
        if value.is_literal:
            return Value(Kind.INT, to_integer(value))
        text = value.data.as_py().strip()
        if _WHOLE_TEXT.fullmatch(text):
            return Value(Kind.INT, pa.scalar(int(text), pa.int64()))
    return value


def _adjusted_year(value: Value, beside: Value) -> Data:
    data = to_integer(value)
    is_year = beside.column is not None and beside.column.type is MySQLType.YEAR
    if is_year and value.is_constant and data.as_py() is not None and 0 <= data.as_py() < 100:
        number = data.as_py()
        return pa.scalar(number + (2000 if number < 70 else 1900), data.type)
    return data


def _as_one_integer_type(left: Data, right: Data) -> tuple[Data, Data]:
    if left.type == right.type:
        return left, right
    for one, other in ((left, right), (right, left)):
        # a constant that fits the column's type, as nearly all do, needs no cast of the column
        if isinstance(one, pa.Scalar) and isinstance(other, pa.Array) and one.is_valid:
            low, high = (0, 1 << 64) if pa.types.is_uint64(other.type) else (-(1 << 63), 1 << 63)
            if low <= one.as_py() < high:
                fitted = pa.scalar(one.as_py(), other.type)
                return (fitted, other) if one is left else (other, fitted)
    wide = pa.decimal128(20, 0)
    return left.cast(wide), right.cast(wide)


def aligned_decimals(left: Data, right: Data) -> tuple[Data, Data]:
    """Return two decimals with the same scale; :class:`NotExactError` where Arrow has too few digits."""
    scale = max(left.type.scale, right.type.scale)
    digits = scale + max(left.type.precision - left.type.scale, right.type.precision - right.type.scale)
    if digits > MAX_DIGITS:
        raise NotExactError("decimals of more than 76 digits")
    kind = pa.decimal256(digits, scale)
    return left.cast(kind), right.cast(kind)


def _texts(left: Value, right: Value, *, ordered: bool) -> tuple[Data, Data]:
    collate = common_collation(left, right)
    one, other = (keys(value.data, collate, ordered=ordered) for value in (left, right))
    if one.type != other.type:
        one, other = pc.cast(one, pa.binary()), pc.cast(other, pa.binary())
    return one, other


def like(value: Value, pattern: Value, escape: str = "\\") -> Value:
    """Return ``value LIKE pattern``; the pattern must be a constant."""
    if Kind.NULL in (value.kind, pattern.kind):
        return boolean(pa.scalar(None, pa.bool_()))
    subject, pattern = to_text(value), to_text(pattern)
    if not pattern.is_constant:
        raise NotExactError("LIKE with a pattern that is not a constant")
    collate = common_collation(subject, pattern)
    if subject.is_binary or pattern.is_binary or len(escape) > 1:
        raise NotExactError("LIKE over binary text")
    text = subject.data
    matches = _LikePattern.of(pattern.data.as_py(), escape, ignores=ignores_case(collate)).matches
    if ignores_case(collate):
        text = keys(pc.binary_join_element_wise(text, ".", ""), collate, ordered=False)  # trailing blanks count
        return boolean(mapped(lambda key: matches(key[:-1]), pa.bool_(), text))
    return boolean(mapped(matches, pa.bool_(), text))


@dataclass(frozen=True)
class _LikePattern:
    """The parts of a pattern between its ``%``. A part matches texts of one length, so the first place where it fits
    leaves the most for those after it: no place is ever tried again, and a text costs time linear in its length.
    """

    parts: tuple[tuple[re.Pattern[str], int], ...]

    @classmethod
    def of(cls, pattern: str, escape: str, *, ignores: bool) -> _LikePattern:
        parts: list[list[str]] = [[]]
        chars = iter(pattern)
        for char in chars:
            if char == escape:
                char = next(chars, escape)
            elif char == "%":
                parts.append([])
                continue
            elif char == "_":
                parts[-1].append(".")
                continue
            parts[-1].append(re.escape(weight(char) if ignores else char))
        return cls(tuple((re.compile("".join(part), re.DOTALL), len(part)) for part in parts))

    def matches(self, text: str) -> bool:
        (first, start), *between = self.parts
        if not between:
            return first.fullmatch(text) is not None
        last, length = between.pop()
        end = len(text) - length
        if end < start or first.match(text) is None or last.match(text, end) is None:
            return False
        for part, length in between:
            found = part.search(text, start, end) if length else None
            if length and found is None:
                return False
            start = start if found is None else found.end()
        return True


def regexp(value: Value, pattern: Value) -> Value:
    """Return ``value REGEXP pattern``; the pattern must be a constant."""
    if Kind.NULL in (value.kind, pattern.kind):
        return boolean(pa.scalar(None, pa.bool_()))
    subject, pattern = to_text(value), to_text(pattern)
    collate = common_collation(subject, pattern)
    if not pattern.is_constant or subject.is_binary or pattern.is_binary:
        raise NotExactError("REGEXP over binary text, or with a pattern that is not a constant")
    try:
        compiled = compile_regexp(pattern.data.as_py(), ignore_case=ignores_case(collate))
    except GoRegexpError as fault:
        raise NotExactError(f"the pattern of REGEXP: {fault}") from None
    return boolean(mapped(compiled.search, pa.bool_(), subject.data))


_PLAIN_NUMBERS = (Kind.INT, Kind.DECIMAL, Kind.REAL)


def truth(value: Value) -> Data:
    """Return which values are true, NULL where they are NULL."""
    if value.kind is Kind.NULL:
        return pa.scalar(None, pa.bool_())
    if pa.types.is_boolean(value.data.type):
        return value.data
    if value.kind in (Kind.INT, Kind.LABEL, Kind.BIT):
        data = to_integer(value)
        return pc.not_equal(data, pa.scalar(0, data.type))
    if value.kind is Kind.DECIMAL:
        return pc.not_equal(value.data, pa.scalar(Decimal(0), value.data.type))
    if value.kind in (Kind.REAL, Kind.TEXT):
        return pc.not_equal(to_real(value), 0.0)
    raise NotExactError(f"{value.kind.value} as a condition")


def both(left: Value, right: Value) -> Value:
    """Return ``left AND right``."""
    return boolean(pc.and_kleene(truth(left), truth(right)))


def either(left: Value, right: Value) -> Value:
    """Return ``left OR right``."""
    return boolean(pc.or_kleene(truth(left), truth(right)))


def one_of_two(left: Value, right: Value) -> Value:
    """Return ``left XOR right``."""
    return boolean(pc.xor(truth(left), truth(right)))


def negation(value: Value) -> Value:
    """Return ``NOT value``."""
    return boolean(pc.invert(truth(value)))


def is_null(value: Value) -> Value:
    """Return ``value IS NULL``."""
    return boolean(pc.is_null(value.data))


def is_true(value: Value, wanted: bool) -> Value:
    """Return ``value IS TRUE`` or ``IS FALSE``, which is never NULL."""
    truths = truth(value)
    return boolean(pc.fill_null(truths if wanted else pc.invert(truths), False))


def chosen(condition: Value, yes: Value, no: Value) -> Value:
    """Return ``IF(condition, yes, no)``."""
    kind, (one, other) = _merged((yes, no))
    if kind is Kind.NULL:
        return null()
    data = pc.if_else(pc.fill_null(truth(condition), False), one.data, other.data)
    return replace(one, data=data, column=None, is_literal=False)


def coalesce(values: Sequence[Value]) -> Value:
    """Return the first value that is not NULL."""
    kind, merged = _merged(values)
    if kind is Kind.NULL:
        return null()
    data = reduce(lambda found, more: pc.if_else(pc.is_null(found), more, found), (each.data for each in merged))
    return replace(merged[0], data=data, column=None, is_literal=False)


def null_if(left: Value, right: Value) -> Value:
    """Return ``NULLIF(left, right)``."""
    equal = pc.fill_null(compare("=", left, right).data, False)
    value = to_text(left) if left.kind is Kind.LABEL else left
    return replace(value, data=pc.if_else(equal, pa.scalar(None, value.data.type), value.data), column=None)


def _merged(values: Sequence[Value]) -> tuple[Kind, list[Value]]:
    """Return the branches of a choice in one common form."""
    kinds = {value.kind for value in values} - {Kind.NULL}
    if not kinds:
        return Kind.NULL, list(values)
    if kinds <= {Kind.TEXT, Kind.LABEL}:
        return Kind.TEXT, _merged_texts(values)
    if kinds == {Kind.INT}:
        return Kind.INT, _merged_integers(values)
    if kinds == {Kind.INT, Kind.DECIMAL} or kinds == {Kind.DECIMAL}:
        return Kind.DECIMAL, _merged_decimals(values)
    if kinds <= set(_PLAIN_NUMBERS):
        return Kind.REAL, [Value(Kind.REAL, _typed(each, pa.float64()) or to_real(each)) for each in values]
    if len(kinds) == 1 and len({value.fsp for value in values if value.kind is not Kind.NULL}) == 1:
        (kind,) = kinds
        first = next(value for value in values if value.kind is kind)
        if kind is not Kind.BIT:
            return kind, [replace(first, data=_typed(each, first.data.type) or each.data) for each in values]
    raise NotExactError(f"a choice between {' and '.join(sorted(kind.value for kind in kinds))}")


def _typed(value: Value, kind: pa.DataType) -> Data | None:
    """Return a NULL literal as a value of that type; ``None`` for any other value."""
    return pa.scalar(None, kind) if value.kind is Kind.NULL else None


def _merged_texts(values: Sequence[Value]) -> list[Value]:
    texts = [to_text(value) for value in values if value.kind is not Kind.NULL]
    if len({text.data.type for text in texts}) > 1:
        raise NotExactError("a choice between text and binary text")
    collate = reduce(lambda one, other: replace(one, collate=common_collation(one, other)), texts).collate
    strength = min(text.strength for text in texts)
    shape = Value(Kind.TEXT, texts[0].data, collate, Coercibility(strength))
    return [replace(shape, data=_typed(value, shape.data.type) or to_text(value).data) for value in values]


def _merged_integers(values: Sequence[Value]) -> list[Value]:
    data = [to_integer(value) for value in values if value.kind is not Kind.NULL]
    kinds = {each.type for each in data}
    if len(kinds) > 1:
        raise NotExactError("a choice between a signed and an unsigned integer")
    kind = kinds.pop()
    return [Value(Kind.INT, _typed(value, kind) or to_integer(value)) for value in values]


def _merged_decimals(values: Sequence[Value]) -> list[Value]:
    exact = [to_decimal(value) for value in values if value.kind is not Kind.NULL]
    kind = reduce(lambda one, other: aligned_decimals(one, other)[0], exact).type
    return [Value(Kind.DECIMAL, _typed(value, kind) or to_decimal(value).cast(kind)) for value in values]
