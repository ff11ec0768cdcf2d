"""Truth values and choices: AND, OR, NOT, IS, IF, CASE, COALESCE.

In: values. Out: truth values with NULL as MySQL has it, or one of the values. Rule source: pingcap/tidb
``pkg/expression/{builtin_op,builtin_control}.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.filtering.expressions.collations import common_collation
from ticdc_emit.filtering.expressions.comparison import aligned_decimals, compare
from ticdc_emit.filtering.expressions.values import (
    Data,
    Kind,
    NotExactError,
    Value,
    boolean,
    null,
    to_decimal,
    to_integer,
    to_real,
    to_text,
)
from ticdc_emit.schema.inference.operands import Coercibility

__all__ = ["both", "chosen", "coalesce", "either", "is_null", "is_true", "negation", "null_if", "one_of_two", "truth"]

_NUMBERS = (Kind.INT, Kind.DECIMAL, Kind.REAL)


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
    if kinds <= set(_NUMBERS):
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
