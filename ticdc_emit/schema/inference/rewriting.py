"""Convert the syntax tree of an expression to the functions that TiDB evaluates.

``BETWEEN`` becomes two comparisons, ``a + INTERVAL 1 DAY`` a date_add, ``NOT LIKE`` a not of a like. Expressions that
an expression index or a filter cannot have (subqueries, rows, variables, aggregates, windows) are a ``DdlError`` that
names them. Rule source: pingcap/tidb ``pkg/planner/core/expression_rewriter.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import singledispatch

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.dialect import parse_expression
from ticdc_emit.schema.inference import syntax
from ticdc_emit.schema.nodes import calls, expressions, literals, predicates
from ticdc_emit.schema.nodes.style import Node
from ticdc_emit.schema.types import MySQLType

__all__ = ["expression_of", "rewritten"]

_OPERATORS = {"!=": "<>", "%": "mod"}
_PREFIXES = {"-": "negated", "~": "~", "!": "not", "NOT": "not"}
_RENAMED = {"char_func": "char", "insert_func": "insert"}
_TRIM_SIDES = ("BOTH", "LEADING", "TRAILING")
_LITERAL_TYPES = {"DATE": MySQLType.DATE, "TIME": MySQLType.DURATION, "TIMESTAMP": MySQLType.DATETIME}
_CAST_TYPES: Mapping[str, syntax.CastType] = {
    "DATE": syntax.CastType(MySQLType.DATE),
    "YEAR": syntax.CastType(MySQLType.YEAR),
    "JSON": syntax.CastType(MySQLType.JSON),
    "SIGNED": syntax.CastType(MySQLType.LONGLONG),
    "UNSIGNED": syntax.CastType(MySQLType.LONGLONG, is_unsigned=True),
    "DOUBLE": syntax.CastType(MySQLType.DOUBLE),
    "FLOAT": syntax.CastType(MySQLType.FLOAT),
}
_NOT_HERE: Mapping[type, str] = {
    calls.Aggregate: "an aggregate",
    calls.QualifiedCall: "a function of a schema",
    calls.WindowCall: "a window function",
    expressions.Assignment: "a variable",
    expressions.Comparison: "a subquery",
    expressions.Default: "DEFAULT",
    expressions.Exists: "a subquery",
    expressions.MatchAgainst: "MATCH ... AGAINST",
    expressions.MaxValue: "MAXVALUE",
    expressions.Placeholder: "a placeholder",
    expressions.Row: "a row of values",
    expressions.Subquery: "a subquery",
    expressions.SystemVariable: "a variable",
    expressions.UserVariable: "a variable",
    expressions.Values: "VALUES()",
}


def expression_of(text: str) -> syntax.Node:
    """Parse an expression; ``DdlError`` if TiDB cannot parse it, or if it is not allowed here."""
    return rewritten(parse_expression(text))


@singledispatch
def rewritten(node: Node) -> syntax.Node:
    """Return the functions for a tree; ``DdlError`` names an expression that is not allowed here."""
    raise DdlError(f"{_NOT_HERE.get(type(node), type(node).__name__)} is not allowed in it")


def _negated(node: syntax.Node, negated: bool) -> syntax.Node:
    return syntax.Call("not", (node,)) if negated else node


# -- columns and constants ---------------------------------------------------------------------------------------------


@rewritten.register(expressions.ColumnName)
def _(node: expressions.ColumnName) -> syntax.Node:
    return syntax.Reference(*reversed(node.parts))


@rewritten.register(literals.Constant)
def _(node: literals.Constant) -> syntax.Node:
    value = node.value
    if isinstance(value, bytes):
        if node.charset:
            raise DdlError("an introducer before a hex or bit literal is not allowed in it")
        return syntax.Constant(value, is_hex=node.kind == "hex")
    if node.kind == "integer":
        return syntax.Constant(int(str(value)))
    if node.kind == "decimal":
        return syntax.Constant(Decimal(str(value)))
    if node.kind in ("true", "false"):
        return syntax.Constant(node.kind == "true")
    return syntax.Constant(value, node.charset)


@rewritten.register(calls.TemporalLiteral)
def _(node: calls.TemporalLiteral) -> syntax.Node:
    if not isinstance(node.value, literals.Constant):
        raise DdlError(f"{node.word} of something that is not a literal is not allowed in it")
    return syntax.Constant(str(node.value.value), kind=_LITERAL_TYPES[node.word])


@rewritten.register(calls.Word)
def _(node: calls.Word) -> syntax.Node:
    return syntax.Constant(node.text)


# -- operators ---------------------------------------------------------------------------------------------------------


@rewritten.register(expressions.Parenthesised)
def _(node: expressions.Parenthesised) -> syntax.Node:
    return rewritten(node.operand)


@rewritten.register(expressions.Binary)
def _(node: expressions.Binary) -> syntax.Node:
    chain = rewritten(node.first)
    for operator, operand in node.rest:
        chain = syntax.Call(_OPERATORS.get(operator, operator.lower()), (chain, rewritten(operand)))
    return chain


@rewritten.register(expressions.Unary)
def _(node: expressions.Unary) -> syntax.Node:
    operand = rewritten(node.operand)
    return operand if node.operator == "+" else syntax.Call(_PREFIXES[node.operator], (operand,))


@rewritten.register(predicates.Between)
def _(node: predicates.Between) -> syntax.Node:
    operand = rewritten(node.operand)
    low, high = rewritten(node.low), rewritten(node.high)
    between = syntax.Call("and", (syntax.Call(">=", (operand, low)), syntax.Call("<=", (operand, high))))
    return _negated(between, node.negated)


@rewritten.register(predicates.In)
def _(node: predicates.In) -> syntax.Node:
    if not isinstance(node.members, tuple):
        raise DdlError("a subquery is not allowed in it")
    members = tuple(rewritten(member) for member in node.members)
    return _negated(syntax.Call("in", (rewritten(node.operand), *members)), node.negated)


@rewritten.register(predicates.Like)
def _(node: predicates.Like) -> syntax.Node:
    operands = [rewritten(node.operand), rewritten(node.pattern)]
    if node.escape is not None:
        operands.append(syntax.Constant(node.escape))
    return _negated(syntax.Call(node.word.lower(), tuple(operands)), node.negated)


@rewritten.register(predicates.Regexp)
def _(node: predicates.Regexp) -> syntax.Node:
    return _negated(syntax.Call("regexp", (rewritten(node.operand), rewritten(node.pattern))), node.negated)


@rewritten.register(predicates.IsNull)
def _(node: predicates.IsNull) -> syntax.Node:
    return _negated(syntax.Call("isnull", (rewritten(node.operand),)), node.negated)


@rewritten.register(predicates.IsTruth)
def _(node: predicates.IsTruth) -> syntax.Node:
    truth = syntax.Call("istrue" if node.truth else "isfalse", (rewritten(node.operand),))
    return _negated(truth, node.negated)


@rewritten.register(expressions.Collated)
def _(node: expressions.Collated) -> syntax.Node:
    return syntax.Collated(rewritten(node.operand), node.collation.lower())


@rewritten.register(expressions.Case)
def _(node: expressions.Case) -> syntax.Node:
    subject = None if node.operand is None else rewritten(node.operand)
    arguments: list[syntax.Node] = []
    for condition, result in node.whens:
        when = rewritten(condition)
        arguments.append(when if subject is None else syntax.Call("=", (subject, when)))
        arguments.append(rewritten(result))
    if node.otherwise is not None:
        arguments.append(rewritten(node.otherwise))
    return syntax.Call("case", tuple(arguments))


# -- calls -------------------------------------------------------------------------------------------------------------


@rewritten.register(calls.Call)
def _(node: calls.Call) -> syntax.Node:
    name = node.name.lower()
    return syntax.Call(_RENAMED.get(name, name), tuple(rewritten(argument) for argument in node.arguments))


@rewritten.register(calls.MemberOf)
def _(node: calls.MemberOf) -> syntax.Node:
    return syntax.Call("json_memberof", (rewritten(node.value), rewritten(node.array)))


@rewritten.register(calls.DateArithmetic)
def _(node: calls.DateArithmetic) -> syntax.Node:
    return syntax.Call("date_add", (rewritten(node.moment), rewritten(node.amount), syntax.Constant(node.unit)))


@rewritten.register(calls.KeywordCall)
def _(node: calls.KeywordCall) -> syntax.Node:
    """``pieces`` are the operands and the words between them."""
    name, pieces = node.name.lower(), node.pieces
    if name == "trim":
        return _trim(pieces)
    operands = tuple(rewritten(piece) for piece in (pieces[0], *pieces[2:]))
    return syntax.Call({"convert": "convert_using", "position": "locate"}.get(name, name), operands)


def _trim(pieces: tuple[Node, ...]) -> syntax.Node:
    if len(pieces) == 1:
        return syntax.Call("trim", (rewritten(pieces[0]),))
    side = _TRIM_SIDES.index(pieces[0].text) if isinstance(pieces[0], calls.Word) else 0
    *_, removed, _from, text = pieces
    return syntax.Call("trim", (rewritten(text), rewritten(removed), syntax.Constant(side)))


@rewritten.register(calls.Cast)
def _(node: calls.Cast) -> syntax.Node:
    if node.form == "JSON_SUM_CRC32":
        raise DdlError("the result type of JSON_SUM_CRC32() is not known")
    return syntax.Cast(rewritten(node.operand), _cast_type(node.type))


def _cast_type(given: calls.CastType) -> syntax.CastType:
    first, second = (*given.precision, -1, -1)[:2]
    to = _CAST_TYPES.get(given.word)
    if given.word == "CHAR":
        to = syntax.CastType(MySQLType.VAR_STRING, first, charset=given.charset)
    elif given.word == "BINARY":
        to = syntax.CastType(MySQLType.VAR_STRING if first < 0 else MySQLType.STRING, first, charset="binary")
    elif given.word == "DATETIME":
        to = syntax.CastType(MySQLType.DATETIME, decimal=first)
    elif given.word == "TIME":
        to = syntax.CastType(MySQLType.DURATION, decimal=first)
    elif given.word == "DECIMAL":
        to = syntax.CastType(MySQLType.NEWDECIMAL, max(first, 0), max(second, 0))
    if to is None:
        raise DdlError(f"the type {given.word} in CAST is not known")
    return syntax.CastType(to.type, to.flen, to.decimal, to.is_unsigned, to.charset, given.array)
