"""Comparisons, in the type that TiDB chooses for two operands.

In: two values and an operator. Out: a truth value, NULL where either side is. Rule source: pingcap/tidb
``pkg/expression/builtin_compare.go`` (GetAccurateCmpType, RefineComparedConstant).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.operators import COMPARISONS
from ticdc_emit.filtering.expressions.collations import common_collation, ignores_case, keys, weight
from ticdc_emit.filtering.expressions.json_values import compare_json, to_json
from ticdc_emit.filtering.expressions.moments import comparable_moments, parsed_duration
from ticdc_emit.filtering.expressions.values import (
    MAX_DIGITS,
    Data,
    Kind,
    NotExactError,
    Value,
    boolean,
    mapped,
    to_decimal,
    to_integer,
    to_real,
    to_text,
)
from ticdc_emit.routing.go_regexp import GoRegexpError
from ticdc_emit.routing.linear_regexp import CostlyRegexpError, compile_regexp
from ticdc_emit.sql.types import MySQLType

__all__ = ["aligned_decimals", "compare", "is_among", "like", "regexp", "same"]

_JSON_TESTS: dict[str, Callable[[int], bool]] = {
    "=": lambda order: order == 0,
    "<>": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}
_WHOLE = re.compile(r"[+-]?\d{1,18}")
_INTEGERS = (Kind.INT, Kind.LABEL, Kind.BIT)
_NUMBERS = (*_INTEGERS, Kind.DECIMAL, Kind.REAL)


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
    if left.kind in _INTEGERS and right.kind in _INTEGERS:
        return _integers(_adjusted_year(left, right), _adjusted_year(right, left))
    if left.kind in (*_INTEGERS, Kind.DECIMAL) and right.kind in (*_INTEGERS, Kind.DECIMAL):
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
    if beside.kind in _INTEGERS and value.is_constant and value.kind is Kind.TEXT:
        if value.is_literal:
            return Value(Kind.INT, to_integer(value))
        text = value.data.as_py().strip()
        if _WHOLE.fullmatch(text):
            return Value(Kind.INT, pa.scalar(int(text), pa.int64()))
    return value


def _adjusted_year(value: Value, beside: Value) -> Data:
    data = to_integer(value)
    is_year = beside.column is not None and beside.column.type is MySQLType.YEAR
    if is_year and value.is_constant and data.as_py() is not None and 0 <= data.as_py() < 100:
        number = data.as_py()
        return pa.scalar(number + (2000 if number < 70 else 1900), data.type)
    return data


def _integers(left: Data, right: Data) -> tuple[Data, Data]:
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
        compiled = compile_regexp(pattern.data.as_py(), ignore_case=ignores_case(collate), for_values=True)
    except GoRegexpError as fault:
        raise NotExactError(f"the pattern of REGEXP: {fault}") from None
    except CostlyRegexpError as fault:
        raise NotExactError(
            f"REGEXP {str(fault)!r} cannot be matched in linear time without RE2",
            remedy="Install ticdc-emit[re2], or use a pattern without repetitions",
        ) from None
    return boolean(mapped(compiled.search, pa.bool_(), subject.data))
