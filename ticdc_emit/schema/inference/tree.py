"""The syntax of an expression after rewriting: one immutable node per operand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import singledispatch
from typing import TypeAlias

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.nodes import expressions
from ticdc_emit.sql.nodes.base import Node
from ticdc_emit.sql.script import parse_expression
from ticdc_emit.sql.types import MySQLType

__all__ = ["Call", "Cast", "CastType", "Collated", "Constant", "Reference", "TypedNode", "expression_of", "rewritten"]


@dataclass(frozen=True)
class Reference:
    """A column, with its qualifying table and database ("" for none)."""

    name: str
    table: str = ""
    schema: str = ""


@dataclass(frozen=True)
class Constant:
    """A literal: int, Decimal, float, str, bytes (a hex or bit literal), bool or None (NULL)."""

    value: int | Decimal | float | str | bytes | None
    charset: str = ""  # of an introducer
    is_hex: bool = False
    kind: MySQLType | None = None  # of DATE '...', TIME '...', TIMESTAMP '...'


@dataclass(frozen=True)
class Call:
    """A function or operator by TiDB's name of it, in lower case; units and charsets are arguments too."""

    name: str
    arguments: tuple[TypedNode, ...]


@dataclass(frozen=True)
class CastType:
    """The type after CAST ... AS; ``flen`` and ``decimal`` are -1 if the statement has none."""

    type: MySQLType
    flen: int = -1
    decimal: int = -1
    is_unsigned: bool = False
    charset: str = ""
    is_array: bool = False


@dataclass(frozen=True)
class Cast:
    operand: TypedNode
    to: CastType


@dataclass(frozen=True)
class Collated:
    """``operand COLLATE collation``."""

    operand: TypedNode
    collation: str


TypedNode: TypeAlias = "Reference | Constant | Call | Cast | Collated"


_OPERATORS = {"!=": "<>", "%": "mod"}
_PREFIXES = {"-": "negated", "~": "~", "!": "not", "NOT": "not"}
_RENAMED = {"char_func": "char", "insert_func": "insert"}
_TRIM_SIDES = ("BOTH", "LEADING", "TRAILING")
_LITERAL_TYPES = {"DATE": MySQLType.DATE, "TIME": MySQLType.DURATION, "TIMESTAMP": MySQLType.DATETIME}
_CAST_TYPES: Mapping[str, CastType] = {
    "DATE": CastType(MySQLType.DATE),
    "YEAR": CastType(MySQLType.YEAR),
    "JSON": CastType(MySQLType.JSON),
    "SIGNED": CastType(MySQLType.LONGLONG),
    "UNSIGNED": CastType(MySQLType.LONGLONG, is_unsigned=True),
    "DOUBLE": CastType(MySQLType.DOUBLE),
    "FLOAT": CastType(MySQLType.FLOAT),
}
_NOT_HERE: Mapping[type, str] = {
    expressions.Aggregate: "an aggregate",
    expressions.QualifiedCall: "a function of a schema",
    expressions.WindowCall: "a window function",
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


def expression_of(text: str) -> TypedNode:
    """Parse an expression; ``DdlError`` if TiDB cannot parse it, or if it is not allowed here."""
    return rewritten(parse_expression(text))


@singledispatch
def rewritten(node: Node) -> TypedNode:
    """Return the functions for a tree; ``DdlError`` names an expression that is not allowed here."""
    raise DdlError(f"{_NOT_HERE.get(type(node), type(node).__name__)} is not allowed in it")


def _negated(node: TypedNode, negated: bool) -> TypedNode:
    return Call("not", (node,)) if negated else node


# -- columns and constants ---------------------------------------------------------------------------------------------


@rewritten.register(expressions.ColumnName)
def _(node: expressions.ColumnName) -> TypedNode:
    return Reference(*reversed(node.parts))


@rewritten.register(expressions.Constant)
def _(node: expressions.Constant) -> TypedNode:
    value = node.value
    if isinstance(value, bytes):
        if node.charset:
            raise DdlError("an introducer before a hex or bit literal is not allowed in it")
        return Constant(value, is_hex=node.kind == "hex")
    if node.kind == "integer":
        return Constant(int(str(value)))
    if node.kind == "decimal":
        return Constant(Decimal(str(value)))
    if node.kind in ("true", "false"):
        return Constant(node.kind == "true")
    return Constant(value, node.charset)


@rewritten.register(expressions.TemporalLiteral)
def _(node: expressions.TemporalLiteral) -> TypedNode:
    if not isinstance(node.value, expressions.Constant):
        raise DdlError(f"{node.word} of something that is not a literal is not allowed in it")
    return Constant(str(node.value.value), kind=_LITERAL_TYPES[node.word])


@rewritten.register(expressions.Word)
def _(node: expressions.Word) -> TypedNode:
    return Constant(node.text)


# -- operators ---------------------------------------------------------------------------------------------------------


@rewritten.register(expressions.Parenthesised)
def _(node: expressions.Parenthesised) -> TypedNode:
    return rewritten(node.operand)


@rewritten.register(expressions.Binary)
def _(node: expressions.Binary) -> TypedNode:
    chain = rewritten(node.first)
    for operator, operand in node.rest:
        chain = Call(_OPERATORS.get(operator, operator.lower()), (chain, rewritten(operand)))
    return chain


@rewritten.register(expressions.Unary)
def _(node: expressions.Unary) -> TypedNode:
    operand = rewritten(node.operand)
    return operand if node.operator == "+" else Call(_PREFIXES[node.operator], (operand,))


@rewritten.register(expressions.Between)
def _(node: expressions.Between) -> TypedNode:
    operand = rewritten(node.operand)
    low, high = rewritten(node.low), rewritten(node.high)
    between = Call("and", (Call(">=", (operand, low)), Call("<=", (operand, high))))
    return _negated(between, node.negated)


@rewritten.register(expressions.In)
def _(node: expressions.In) -> TypedNode:
    if not isinstance(node.members, tuple):
        raise DdlError("a subquery is not allowed in it")
    members = tuple(rewritten(member) for member in node.members)
    return _negated(Call("in", (rewritten(node.operand), *members)), node.negated)


@rewritten.register(expressions.Like)
def _(node: expressions.Like) -> TypedNode:
    operands = [rewritten(node.operand), rewritten(node.pattern)]
    if node.escape is not None:
        operands.append(Constant(node.escape))
    return _negated(Call(node.word.lower(), tuple(operands)), node.negated)


@rewritten.register(expressions.Regexp)
def _(node: expressions.Regexp) -> TypedNode:
    return _negated(Call("regexp", (rewritten(node.operand), rewritten(node.pattern))), node.negated)


@rewritten.register(expressions.IsNull)
def _(node: expressions.IsNull) -> TypedNode:
    return _negated(Call("isnull", (rewritten(node.operand),)), node.negated)


@rewritten.register(expressions.IsTruth)
def _(node: expressions.IsTruth) -> TypedNode:
    truth = Call("istrue" if node.truth else "isfalse", (rewritten(node.operand),))
    return _negated(truth, node.negated)


@rewritten.register(expressions.Collated)
def _(node: expressions.Collated) -> TypedNode:
    return Collated(rewritten(node.operand), node.collation.lower())


@rewritten.register(expressions.Case)
def _(node: expressions.Case) -> TypedNode:
    subject = None if node.operand is None else rewritten(node.operand)
    arguments: list[TypedNode] = []
    for condition, result in node.whens:
        when = rewritten(condition)
        arguments.append(when if subject is None else Call("=", (subject, when)))
        arguments.append(rewritten(result))
    if node.otherwise is not None:
        arguments.append(rewritten(node.otherwise))
    return Call("case", tuple(arguments))


# -- calls -------------------------------------------------------------------------------------------------------------


@rewritten.register(expressions.Call)
def _(node: expressions.Call) -> TypedNode:
    name = node.name.lower()
    return Call(_RENAMED.get(name, name), tuple(rewritten(argument) for argument in node.arguments))


@rewritten.register(expressions.MemberOf)
def _(node: expressions.MemberOf) -> TypedNode:
    return Call("json_memberof", (rewritten(node.value), rewritten(node.array)))


@rewritten.register(expressions.DateArithmetic)
def _(node: expressions.DateArithmetic) -> TypedNode:
    return Call("date_add", (rewritten(node.moment), rewritten(node.amount), Constant(node.unit)))


@rewritten.register(expressions.KeywordCall)
def _(node: expressions.KeywordCall) -> TypedNode:
    """``pieces`` are the operands and the words between them."""
    name, pieces = node.name.lower(), node.pieces
    if name == "trim":
        return _trim(pieces)
    operands = tuple(rewritten(piece) for piece in (pieces[0], *pieces[2:]))
    return Call({"convert": "convert_using", "position": "locate"}.get(name, name), operands)


def _trim(pieces: tuple[Node, ...]) -> TypedNode:
    if len(pieces) == 1:
        return Call("trim", (rewritten(pieces[0]),))
    side = _TRIM_SIDES.index(pieces[0].text) if isinstance(pieces[0], expressions.Word) else 0
    *_, removed, _from, text = pieces
    return Call("trim", (rewritten(text), rewritten(removed), Constant(side)))


@rewritten.register(expressions.Cast)
def _(node: expressions.Cast) -> TypedNode:
    if node.form == "JSON_SUM_CRC32":
        raise DdlError("the result type of JSON_SUM_CRC32() is not known")
    return Cast(rewritten(node.operand), _cast_type(node.type))


def _cast_type(given: expressions.CastType) -> CastType:
    first, second = (*given.precision, -1, -1)[:2]
    to = _CAST_TYPES.get(given.word)
    if given.word == "CHAR":
        to = CastType(MySQLType.VAR_STRING, first, charset=given.charset)
    elif given.word == "BINARY":
        to = CastType(MySQLType.VAR_STRING if first < 0 else MySQLType.STRING, first, charset="binary")
    elif given.word == "DATETIME":
        to = CastType(MySQLType.DATETIME, decimal=first)
    elif given.word == "TIME":
        to = CastType(MySQLType.DURATION, decimal=first)
    elif given.word == "DECIMAL":
        to = CastType(MySQLType.NEWDECIMAL, max(first, 0), max(second, 0))
    if to is None:
        raise DdlError(f"the type {given.word} in CAST is not known")
    return CastType(to.type, to.flen, to.decimal, to.is_unsigned, to.charset, given.array)
