"""Evaluate an expression over a batch. In: its syntax tree. Out: one :class:`Value`.

The text is read by the grammar of TiDB's expressions (``sql.parser``). Arrow kernels are used where they give
TiDB's results; other functions run once per distinct value. Existing engines do not have MySQL's rules: in DuckDB ``'a
'`` and ``'a'`` differ and comparing text with a number is an error; sqlglot's executor uses Python's operators.

Rule source: pingcap/tidb ``pkg/expression``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from ticdc_emit.filtering.expressions import arithmetic, comparison, json_values, logic, moments, texts
from ticdc_emit.filtering.expressions.values import Kind, NotExactError, Value, constant, null, to_real, to_text
from ticdc_emit.schema.inference.operands import Coercibility
from ticdc_emit.schema.inference.tree import (
    Call,
    Cast,
    Collated,
    Constant,
    Reference,
    TypedNode,
)
from ticdc_emit.sql.types import MySQLType

__all__ = ["evaluate"]

_ALIASES = {
    "ceiling": "ceil",
    "character_length": "char_length",
    "day": "dayofmonth",
    "lcase": "lower",
    "mid": "substr",
    "octet_length": "length",
    "substring": "substr",
    "ucase": "upper",
    "rlike": "regexp",
    "ifnull": "coalesce",
}
_OPERANDS = 2
Function = Callable[[Sequence[Value]], Value]


def evaluate(node: TypedNode, column: Callable[[Reference], Value]) -> Value:
    """Return the value of an expression; ``column`` returns the values of columns.

    Raises :class:`NotExactError` if it cannot be evaluated exactly, :class:`EvaluationError` if TiDB fails.
    """
    chain: list[tuple[Function, TypedNode]] = []
    while isinstance(node, Call) and len(node.arguments) == _OPERANDS and isinstance(node.arguments[0], Call):
        chain.append((_function(node), node.arguments[1]))  # a chain of operators is as deep as it is long
        node = node.arguments[0]
    value = _evaluated(node, column)
    for compute, right in reversed(chain):
        value = compute([value, evaluate(right, column)])
    return value


def _evaluated(node: TypedNode, column: Callable[[Reference], Value]) -> Value:
    match node:
        case Reference():
            return column(node)
        case Constant():
            return _constant(node)
        case Collated(operand, collation):
            return _collated(to_text(evaluate(operand, column)), collation)
        case Cast(operand):
            return _cast(node, evaluate(operand, column))
        case Call("negated", (Constant(int() as number),)):
            return constant(-number)
        case Call(_, arguments):
            compute = _function(node)
            return compute([evaluate(each, column) for each in arguments])


def _function(call: Call) -> Function:
    name = _ALIASES.get(call.name, call.name)
    function = _FUNCTIONS.get(name)
    if function is None:
        raise NotExactError(f"{name.upper()}()" if name.isidentifier() else f"the operator {name}")
    least, most, compute = function
    if not least <= len(call.arguments) <= most:
        raise NotExactError(f"{name.upper()}() of {len(call.arguments)} arguments")
    return compute


def _constant(node: Constant) -> Value:
    if node.kind is MySQLType.DURATION:
        micros = moments.parsed_duration(str(node.value))
        return Value(Kind.DURATION, pa.scalar(micros, pa.int64()))
    value = constant(node.value)
    if node.kind is not None:
        return moments.moment_of(str(node.value))
    if node.charset and node.charset not in ("utf8mb4", "utf8", "ascii", "binary"):
        raise NotExactError(f"a text of the character set {node.charset}")
    if node.charset == "binary":
        return replace(value, data=value.data.cast(pa.binary()), collate="binary")
    return value


def _collated(value: Value, collation: str) -> Value:
    return replace(value, collate=collation, strength=Coercibility.EXPLICIT)


def _case(values: Sequence[Value]) -> Value:
    """Return CASE WHEN 0 THEN 1 WHEN 2 THEN 3 ... ELSE last."""
    values = list(values)
    found = values.pop() if len(values) % 2 else null()
    while values:
        result, condition = values.pop(), values.pop()
        found = logic.chosen(condition, result, found)
    return found


def _cast(node: Cast, value: Value) -> Value:
    to = node.to
    if to.is_array:
        raise NotExactError("CAST ... AS ARRAY")
    if value.kind is Kind.NULL:
        return null()
    if to.type is MySQLType.LONGLONG:
        return arithmetic.cast_integer(value, to.is_unsigned)
    if to.type is MySQLType.NEWDECIMAL:
        return arithmetic.cast_decimal(value, max(to.flen, 0) or 10, max(to.decimal, 0))
    if to.type is MySQLType.DOUBLE:
        return Value(Kind.REAL, to_real(value))
    if to.type is MySQLType.DATE:
        return moments.day_of(value)
    if to.type in (MySQLType.VAR_STRING, MySQLType.STRING) and to.flen < 0:
        text = to_text(value)
        if to.charset == "binary":
            return Value(Kind.TEXT, text.data.cast(pa.binary()), strength=Coercibility.IMPLICIT)
        if not text.is_binary and to.charset in ("", "utf8mb4"):
            return replace(text, collate="utf8mb4_bin", strength=Coercibility.IMPLICIT)
    raise NotExactError(f"a CAST of {value.kind.value} to {to.type.name}")


def _comparison(operator: str) -> Function:
    return lambda args: comparison.compare(operator, args[0], args[1])


def _arithmetic(operator: str) -> Function:
    return lambda args: arithmetic.arithmetic(operator, args[0], args[1])


def _bitwise(operator: str) -> Function:
    return lambda args: arithmetic.bitwise(operator, args[0], args[1])


def _part_of_moment(name: str) -> Function:
    return lambda args: null() if args[0].kind is Kind.NULL else moments.part_of(name, args[0])


def _like(args: Sequence[Value]) -> Value:
    if len(args) == 3 and not (args[2].kind is Kind.TEXT and args[2].is_constant):
        raise NotExactError("LIKE with an ESCAPE that is not a constant")
    return comparison.like(args[0], args[1], *(args[2].data.as_py() for _ in args[2:]))


_ANY = 1 << 30
_FUNCTIONS: Mapping[str, tuple[int, int, Function]] = {
    **{name: (2, 2, _comparison(name)) for name in ("=", "<>", "<", "<=", ">", ">=")},
    **{name: (2, 2, _arithmetic(name)) for name in ("+", "-", "*", "/", "div", "mod")},
    **{name: (2, 2, _bitwise(name)) for name in ("&", "|", "^", "<<", ">>")},
    **{
        name: (1, 1, _part_of_moment(name))
        for name in (
            *("year", "month", "dayofmonth", "hour", "minute", "second"),
            *("quarter", "dayofweek", "weekday", "dayofyear"),
        )
    },
    "<=>": (2, 2, lambda args: comparison.same(args[0], args[1])),
    "and": (2, 2, lambda args: logic.both(args[0], args[1])),
    "or": (2, 2, lambda args: logic.either(args[0], args[1])),
    "xor": (2, 2, lambda args: logic.one_of_two(args[0], args[1])),
    "not": (1, 1, lambda args: logic.negation(args[0])),
    "isnull": (1, 1, lambda args: logic.is_null(args[0])),
    "istrue": (1, 1, lambda args: logic.is_true(args[0], True)),
    "isfalse": (1, 1, lambda args: logic.is_true(args[0], False)),
    "in": (2, _ANY, lambda args: comparison.is_among(args[0], list(args[1:]))),
    "like": (2, 3, _like),
    "regexp": (2, 2, lambda args: comparison.regexp(args[0], args[1])),
    "case": (2, _ANY, _case),
    "if": (3, 3, lambda args: logic.chosen(args[0], args[1], args[2])),
    "coalesce": (1, _ANY, logic.coalesce),
    "nullif": (2, 2, lambda args: logic.null_if(args[0], args[1])),
    "negated": (1, 1, lambda args: arithmetic.negated(args[0])),
    "abs": (1, 1, lambda args: arithmetic.absolute(args[0])),
    "ceil": (1, 1, lambda args: arithmetic.rounded_to_integer(args[0], "ceil")),
    "floor": (1, 1, lambda args: arithmetic.rounded_to_integer(args[0], "floor")),
    "length": (1, 1, lambda args: texts.length(args[0], characters=False)),
    "char_length": (1, 1, lambda args: texts.length(args[0], characters=True)),
    "lower": (1, 1, lambda args: texts.letters(args[0], "lower")),
    "upper": (1, 1, lambda args: texts.letters(args[0], "upper")),
    "concat": (1, _ANY, texts.concat),
    "concat_ws": (2, _ANY, lambda args: texts.concat_ws(args[0], args[1:])),
    "left": (2, 2, lambda args: texts.part("left", args)),
    "right": (2, 2, lambda args: texts.part("right", args)),
    "substr": (2, 3, lambda args: texts.part("substr", args)),
    "trim": (1, 3, lambda args: texts.trimmed("trim", args)),
    "ltrim": (1, 1, lambda args: texts.trimmed("ltrim", args)),
    "rtrim": (1, 1, lambda args: texts.trimmed("rtrim", args)),
    "replace": (3, 3, texts.replaced),
    "locate": (2, 2, lambda args: texts.locate(args[0], args[1])),
    "instr": (2, 2, lambda args: texts.locate(args[1], args[0])),
    "date": (1, 1, lambda args: moments.day_of(args[0])),
    "date_format": (2, 2, lambda args: moments.date_format(args[0], args[1])),
    "json_extract": (2, 2, lambda args: json_values.extract(args[0], args[1])),
    "json_unquote": (1, 1, lambda args: json_values.unquote(args[0])),
}
