"""Comparisons, LIKE and REGEXP, truth values, and choices by them.

Texts are compared by the keys of their collation. ``_bin`` collations ignore trailing blanks. Case-insensitive ones
fold ASCII letters; other letters with a case or an accent need TiDB's weight tables: an :class:`EvaluationError`. Rule
source: pingcap/tidb ``pkg/expression/builtin_{compare,control,like,op}.go``, ``pkg/util/collate``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial, reduce

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.sql.evaluation.arithmetic import align_decimals
from ticdc_emit.sql.evaluation.dates import comparable_dates
from ticdc_emit.sql.evaluation.documents import compare_json, to_json
from ticdc_emit.sql.evaluation.values import (
    Data,
    EvaluationError,
    Kind,
    NotExactError,
    Value,
    boolean,
    byte_size,
    check_bytes,
    common_collation,
    constant,
    ignores_case,
    map_values,
    null,
    parse_duration,
    to_decimal,
    to_integer,
    to_real,
    to_text,
)
from ticdc_emit.sql.inference.operands import Coercibility
from ticdc_emit.sql.regexp import GoRegexpError, compile_regexp
from ticdc_emit.sql.types import MySQLType, full_year

# -- comparisons -------------------------------------------------------------------------------------------------------

COMPARISONS: Mapping[str, Callable[[Data, Data], Data]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_WHOLE_TEXT = re.compile(r"[+-]?\d{1,18}")
_DECIMAL_TEXT = re.compile(r"[+-]?(?:\d{1,65}(?:\.\d{0,30})?|\.\d{1,30})", re.ASCII)
_INTEGER_KINDS = (Kind.INT, Kind.LABEL, Kind.BIT)


def compare(operator: str, left: Value, right: Value) -> Value:
    kinds, ordered = {left.kind, right.kind}, operator not in ("=", "<>")
    if Kind.NULL in kinds:
        return boolean(pa.scalar(None, pa.bool_()))
    if Kind.JSON in kinds:
        orders = map_values(partial(compare_json, ordered=ordered), pa.int8(), to_json(left), to_json(right))
        return boolean(COMPARISONS[operator](orders, pa.scalar(0, pa.int8())))
    return boolean(COMPARISONS[operator](*_comparable(left, right, ordered=ordered)))


def null_safe_equal(left: Value, right: Value) -> Value:
    equal = compare("=", left, right).data
    nulls = pc.is_null(left.data), pc.is_null(right.data)
    return boolean(pc.if_else(pc.or_(*nulls), pc.and_(*nulls), equal))


def in_(value: Value, first: Value, *more: Value) -> Value:
    equal = (compare("=", value, item).data for item in (first, *more))
    return boolean(reduce(pc.or_kleene, equal))


def between(value: Value, low: Value, high: Value) -> Value:
    return and_(compare(">=", value, low), compare("<=", value, high))


def _comparable(left: Value, right: Value, *, ordered: bool) -> tuple[Data, Data]:
    kinds = {left.kind, right.kind}
    if Kind.DATETIME in kinds:
        return comparable_dates(left, right)
    if Kind.DURATION in kinds:
        return _beside_time(left), _beside_time(right)
    if kinds <= {Kind.TEXT, Kind.LABEL}:
        return _text_keys(to_text(left), to_text(right), ordered=ordered)
    left, right = _beside_integer(left, right), _beside_integer(right, left)
    left, right = _beside_decimal(left, right), _beside_decimal(right, left)
    if left.kind in _INTEGER_KINDS and right.kind in _INTEGER_KINDS:
        return _as_one_integer_type(_beside_year(left, right), _beside_year(right, left))
    if left.kind in (*_INTEGER_KINDS, Kind.DECIMAL) and right.kind in (*_INTEGER_KINDS, Kind.DECIMAL):
        return align_decimals(to_decimal(left), to_decimal(right))
    return to_real(left), to_real(right)


def _beside_time(value: Value) -> Data:
    if value.kind is Kind.DURATION:
        return value.data
    if value.kind is Kind.TEXT and value.is_constant and not value.is_literal:
        return map_values(parse_duration, pa.int64(), value.data)
    raise NotExactError(f"a TIME beside {value.kind.value}")


def _beside_integer(value: Value, beside: Value) -> Value:
    """Return a constant compared with an integer as an integer: TiDB does not use floats there."""
    if beside.kind in _INTEGER_KINDS and value.is_constant and value.kind is Kind.TEXT:
        if value.is_literal:
            return Value(Kind.INT, to_integer(value))
        text = value.data.as_py().strip()
        if _WHOLE_TEXT.fullmatch(text):
            return Value(Kind.INT, pa.scalar(int(text), pa.int64()))
    return value


def _beside_decimal(value: Value, beside: Value) -> Value:
    """Return a constant text compared with decimals as a decimal: TiDB does not use floats there."""
    if beside.kind is not Kind.DECIMAL or beside.is_constant or value.kind is not Kind.TEXT or not value.is_constant:
        return value
    if value.is_literal or value.is_binary or not value.data.is_valid:
        return value
    text = value.data.as_py().strip()
    if _DECIMAL_TEXT.fullmatch(text):
        return constant(Decimal(text))
    to_real(value)  # refuses what is not a number
    raise NotExactError("a text with an exponent, or with more digits than decimals have, beside a decimal")


def _beside_year(value: Value, beside: Value) -> Data:
    data = to_integer(value)
    is_year = beside.type is not None and beside.type.type is MySQLType.YEAR
    if is_year and value.is_constant and data.as_py() is not None and 0 < data.as_py() < 100:
        return pa.scalar(full_year(data.as_py()), data.type)
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


def _text_keys(left: Value, right: Value, *, ordered: bool) -> tuple[Data, Data]:
    collate = common_collation(left, right)
    one, other = (collation_keys(value.data, collate, ordered=ordered) for value in (left, right))
    if one.type != other.type:
        one, other = pc.cast(one, pa.binary()), pc.cast(other, pa.binary())
    return one, other


# -- keys of texts, which compare bytewise as the texts do -------------------------------------------------------------

PADDED_COLLATIONS = frozenset({"utf8mb4_bin", "utf8_bin", "latin1_bin", "ascii_bin"})
EXACT_COLLATIONS = frozenset({"binary", "utf8mb4_0900_bin"})
"""Collations that compare texts with and without regard to trailing blanks, and otherwise bytewise."""
_GENERAL = frozenset({"utf8mb4_general_ci", "utf8_general_ci"})
_UNICODE = frozenset({"utf8mb4_unicode_ci", "utf8_unicode_ci", "utf8mb4_0900_ai_ci"})
_BMP = 0x10000
_REPLACEMENT = "\ufffd"


def collation_keys(data: Data, collate: str, *, ordered: bool) -> Data:
    """Return the keys of texts in a collation. ``ordered``: whether their order matters, not only equality."""
    if pa.types.is_binary(data.type) and collate not in EXACT_COLLATIONS:
        raise NotExactError(f"binary text in the collation {collate}")
    if collate in PADDED_COLLATIONS:
        return pc.utf8_rtrim(data, characters=" ")
    if collate in EXACT_COLLATIONS:
        return data if pa.types.is_binary(data.type) else pc.cast(data, pa.binary())
    if collate in _GENERAL:
        return map_values(_general_key, pa.string(), data)
    if collate in _UNICODE and not ordered:
        pads = collate != "utf8mb4_0900_ai_ci"
        return map_values(lambda text: _unicode_key(text.rstrip(" ") if pads else text), pa.string(), data)
    raise NotExactError(f"{'the order of ' if collate in _UNICODE else ''}texts of the collation {collate}")


_LATIN_1_LETTERS: Mapping[str, str] = {
    char: unicodedata.normalize("NFD", char)[0].upper()
    for char in map(chr, range(0xC0, 0x100))
    if unicodedata.decomposition(char)
} | {"ß": "S"}
"""The letters of Latin-1 with an accent, as ``utf8mb4_general_ci`` weighs them (``general_ci_data.go``)."""


def _general_key(text: str) -> str:
    text = text.rstrip(" ")
    return text.upper() if text.isascii() else "".join(map(_weight, text))


def _weight(char: str) -> str:
    if char.isascii():
        return char.upper()
    if ord(char) >= _BMP:
        return _REPLACEMENT
    if char in _LATIN_1_LETTERS:
        return _LATIN_1_LETTERS[char]
    if char.upper() == char.lower() and not unicodedata.decomposition(char):
        return char
    raise EvaluationError(f"the weight of {char!r} in a case-insensitive collation is known only to TiDB")


def _unicode_key(text: str) -> str:
    for char in text:
        if not (char.isascii() and char.isprintable()):
            raise EvaluationError(f"the weight of {char!r} in a case-insensitive collation is known only to TiDB")
    return text.upper()


# -- LIKE and REGEXP ---------------------------------------------------------------------------------------------------


def like(value: Value, pattern: Value, escape: Value | None = None) -> Value:
    """Return ``value LIKE pattern``; the pattern must be a constant."""
    if escape is not None and not (escape.kind is Kind.TEXT and escape.is_constant):
        raise NotExactError("LIKE with an ESCAPE that is not a constant")
    if Kind.NULL in (value.kind, pattern.kind):
        return boolean(pa.scalar(None, pa.bool_()))
    subject, pattern = to_text(value), to_text(pattern)
    if not pattern.is_constant:
        raise NotExactError("LIKE with a pattern that is not a constant")
    collate = common_collation(subject, pattern)
    mark = "\\" if escape is None else escape.data.as_py()
    if subject.is_binary or pattern.is_binary or len(mark) > 1:
        raise NotExactError("LIKE over binary text")
    text = subject.data
    matches = _LikePattern.of(pattern.data.as_py(), mark, ignores=ignores_case(collate)).matches
    if ignores_case(collate):
        text = collation_keys(
            pc.binary_join_element_wise(text, ".", ""), collate, ordered=False
        )  # trailing blanks count
        return boolean(map_values(lambda key: matches(key[:-1]), pa.bool_(), text))
    return boolean(map_values(matches, pa.bool_(), text))


@dataclass(frozen=True)
class _LikePattern:
    """The parts between ``%``. A part matches texts of one length, so its first place leaves the most for those after
    it: no place is tried again, and the time is linear.
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
            parts[-1].append(re.escape(_weight(char) if ignores else char))
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
    return boolean(map_values(compiled.search, pa.bool_(), subject.data))


# -- truth values ------------------------------------------------------------------------------------------------------


def truth(value: Value) -> Data:
    if value.kind is Kind.NULL:
        return pa.scalar(None, pa.bool_())
    if pa.types.is_boolean(value.data.type):
        return value.data
    if value.kind in _INTEGER_KINDS:
        data = to_integer(value)
        return pc.not_equal(data, pa.scalar(0, data.type))
    if value.kind is Kind.DECIMAL:
        return pc.not_equal(value.data, pa.scalar(Decimal(0), value.data.type))
    if value.kind in (Kind.REAL, Kind.TEXT):
        return pc.not_equal(to_real(value), 0.0)
    raise NotExactError(f"{value.kind.value} as a condition")


def and_(left: Value, right: Value) -> Value:
    return boolean(pc.and_kleene(truth(left), truth(right)))


def or_(left: Value, right: Value) -> Value:
    return boolean(pc.or_kleene(truth(left), truth(right)))


def xor(left: Value, right: Value) -> Value:
    return boolean(pc.xor(truth(left), truth(right)))


def not_(value: Value) -> Value:
    return boolean(pc.invert(truth(value)))


def is_null(value: Value) -> Value:
    return boolean(pc.is_null(value.data))


def is_true(value: Value) -> Value:
    return boolean(pc.fill_null(truth(value), False))


def is_false(value: Value) -> Value:
    return boolean(pc.fill_null(pc.invert(truth(value)), False))


# -- choices -----------------------------------------------------------------------------------------------------------


def if_(condition: Value, yes: Value, no: Value) -> Value:
    kind, (one, other) = _merge((yes, no))
    if kind is Kind.NULL:
        return null()
    data = _chosen(pc.fill_null(truth(condition), False), one.data, other.data)
    return replace(one, data=data, type=None, is_literal=False)


def _chosen(flags: Data, yes: Data, no: Data) -> Data:
    rows = max((len(each) for each in (flags, yes, no) if isinstance(each, pa.Array)), default=1)
    check_bytes(
        "a choice", rows * max((byte_size(each) for each in (yes, no) if isinstance(each, pa.Scalar)), default=0)
    )
    return pc.if_else(flags, yes, no)


def case(condition: Value, result: Value, *more: Value) -> Value:
    """Return CASE WHEN condition THEN result WHEN ... THEN ... ELSE the last of an odd number of values."""
    values = [condition, result, *more]
    found = values.pop() if len(values) % 2 else null()
    while values:
        result, condition = values.pop(), values.pop()
        found = if_(condition, result, found)
    return found


def case_of(subject: Value, candidate: Value, result: Value, *more: Value) -> Value:
    """Return CASE subject WHEN candidate THEN result ...: each candidate is compared with the subject."""
    values = [candidate, result, *more]
    conditions = range(0, len(values) - 1, 2)
    return case(*(compare("=", subject, each) if at in conditions else each for at, each in enumerate(values)))


def coalesce(first: Value, *more: Value) -> Value:
    kind, merged = _merge((first, *more))
    if kind is Kind.NULL:
        return null()
    data = reduce(lambda found, more: _chosen(pc.is_null(found), more, found), (each.data for each in merged))
    return replace(merged[0], data=data, type=None, is_literal=False)


def nullif(left: Value, right: Value) -> Value:
    equal = pc.fill_null(compare("=", left, right).data, False)
    value = to_text(left) if left.kind is Kind.LABEL else left
    return replace(value, data=pc.if_else(equal, pa.scalar(None, value.data.type), value.data), type=None)


def _merge(values: Sequence[Value]) -> tuple[Kind, list[Value]]:
    kinds = {value.kind for value in values} - {Kind.NULL}
    if not kinds:
        return Kind.NULL, list(values)
    if kinds <= {Kind.TEXT, Kind.LABEL}:
        return Kind.TEXT, _merge_texts(values)
    if kinds == {Kind.INT}:
        return Kind.INT, _merge_integers(values)
    if kinds == {Kind.INT, Kind.DECIMAL} or kinds == {Kind.DECIMAL}:
        return Kind.DECIMAL, _merge_decimals(values)
    if kinds <= {Kind.INT, Kind.DECIMAL, Kind.REAL}:
        return Kind.REAL, [Value(Kind.REAL, _typed_null(each, pa.float64()) or to_real(each)) for each in values]
    if len(kinds) == 1 and len({value.fsp for value in values if value.kind is not Kind.NULL}) == 1:
        (kind,) = kinds
        first = next(value for value in values if value.kind is kind)
        if kind is not Kind.BIT:
            return kind, [replace(first, data=_typed_null(each, first.data.type) or each.data) for each in values]
    raise NotExactError(f"a choice between {' and '.join(sorted(kind.value for kind in kinds))}")


def _typed_null(value: Value, kind: pa.DataType) -> Data | None:
    return pa.scalar(None, kind) if value.kind is Kind.NULL else None


def _merge_texts(values: Sequence[Value]) -> list[Value]:
    texts = [to_text(value) for value in values if value.kind is not Kind.NULL]
    if len({text.data.type for text in texts}) > 1:
        raise NotExactError("a choice between text and binary text")
    collate = reduce(lambda one, other: replace(one, collate=common_collation(one, other)), texts).collate
    strength = min(text.strength for text in texts)
    shape = Value(Kind.TEXT, texts[0].data, collate, Coercibility(strength))
    return [replace(shape, data=_typed_null(value, shape.data.type) or to_text(value).data) for value in values]


def _merge_integers(values: Sequence[Value]) -> list[Value]:
    data = [to_integer(value) for value in values if value.kind is not Kind.NULL]
    kinds = {each.type for each in data}
    if len(kinds) > 1:
        raise NotExactError("a choice between a signed and an unsigned integer")
    kind = kinds.pop()
    return [Value(Kind.INT, _typed_null(value, kind) or to_integer(value)) for value in values]


def _merge_decimals(values: Sequence[Value]) -> list[Value]:
    exact = [to_decimal(value) for value in values if value.kind is not Kind.NULL]
    kind = reduce(lambda one, other: align_decimals(one, other)[0], exact).type
    return [Value(Kind.DECIMAL, _typed_null(value, kind) or to_decimal(value).cast(kind)) for value in values]
