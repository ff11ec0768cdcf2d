"""An expression as calls, on which types are inferred and values are computed; operators are calls too.

Rule source: pingcap/tidb ``pkg/planner/core/expression_rewriter.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, singledispatch
from itertools import chain
from typing import TypeAlias

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.nodes import expressions
from ticdc_emit.sql.nodes.base import Node
from ticdc_emit.sql.script import parse_expression
from ticdc_emit.sql.types import MySQLType


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
    arguments: tuple[CallTree, ...]


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
    operand: CallTree
    to: CastType


@dataclass(frozen=True)
class Collated:
    operand: CallTree
    collation: str


CallTree: TypeAlias = "Reference | Constant | Call | Cast | Collated"


ALIASES: Mapping[str, str] = {
    "adddate": "date_add",
    "ceiling": "ceil",
    "character_length": "char_length",
    "day": "dayofmonth",
    "lcase": "lower",
    "mid": "substr",
    "octet_length": "length",
    "position": "locate",
    "sha": "sha1",
    "subdate": "date_sub",
    "substring": "substr",
    "ucase": "upper",
}
"""Other names of functions; a tree has them as written, because an error names what was written."""

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
    expressions.Row: "a row of values",
    expressions.Subquery: "a subquery",
    expressions.SystemVariable: "a variable",
    expressions.UserVariable: "a variable",
    expressions.Values: "VALUES()",
}


@lru_cache(maxsize=256)
def parse_call_tree(text: str) -> CallTree:
    """Parse an expression. Raises ``DdlError``. Keep the text: the tree of a long chain is too deep to be pickled."""
    return call_tree(parse_expression(text))


@singledispatch
def call_tree(node: Node) -> CallTree:
    """Return the functions for a tree; ``DdlError`` names an expression that is not allowed here."""
    raise DdlError(f"{_NOT_HERE.get(type(node), type(node).__name__)} is not allowed in it")


def _negated(node: CallTree, negated: bool) -> CallTree:
    return Call("not", (node,)) if negated else node


# -- columns and constants ---------------------------------------------------------------------------------------------


@call_tree.register(expressions.ColumnName)
def _(node: expressions.ColumnName) -> CallTree:
    return Reference(*reversed(node.parts))


@call_tree.register(expressions.Constant)
def _(node: expressions.Constant) -> CallTree:
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


@call_tree.register(expressions.TemporalLiteral)
def _(node: expressions.TemporalLiteral) -> CallTree:
    if not isinstance(node.value, expressions.Constant):
        raise DdlError(f"{node.word} of something that is not a literal is not allowed in it")
    return Constant(str(node.value.value), kind=_LITERAL_TYPES[node.word])


@call_tree.register(expressions.Word)
def _(node: expressions.Word) -> CallTree:
    return Constant(node.text)


# -- operators ---------------------------------------------------------------------------------------------------------


@call_tree.register(expressions.Parenthesised)
def _(node: expressions.Parenthesised) -> CallTree:
    return call_tree(node.operand)


@call_tree.register(expressions.Binary)
def _(node: expressions.Binary) -> CallTree:
    calls = call_tree(node.first)
    for operator, operand in node.rest:
        calls = Call(_OPERATORS.get(operator, operator.lower()), (calls, call_tree(operand)))
    return calls


@call_tree.register(expressions.Unary)
def _(node: expressions.Unary) -> CallTree:
    operand = call_tree(node.operand)
    return operand if node.operator == "+" else Call(_PREFIXES[node.operator], (operand,))


@call_tree.register(expressions.Between)
def _(node: expressions.Between) -> CallTree:
    operands = (call_tree(each) for each in (node.operand, node.low, node.high))
    return _negated(Call("between", tuple(operands)), node.negated)


@call_tree.register(expressions.In)
def _(node: expressions.In) -> CallTree:
    if not isinstance(node.members, tuple):
        raise DdlError("a subquery is not allowed in it")
    members = tuple(call_tree(member) for member in node.members)
    return _negated(Call("in", (call_tree(node.operand), *members)), node.negated)


@call_tree.register(expressions.Like)
def _(node: expressions.Like) -> CallTree:
    operands = [call_tree(node.operand), call_tree(node.pattern)]
    if node.escape is not None:
        operands.append(Constant(node.escape))
    return _negated(Call(node.word.lower(), tuple(operands)), node.negated)


@call_tree.register(expressions.Regexp)
def _(node: expressions.Regexp) -> CallTree:
    return _negated(Call("regexp", (call_tree(node.operand), call_tree(node.pattern))), node.negated)


@call_tree.register(expressions.IsNull)
def _(node: expressions.IsNull) -> CallTree:
    return _negated(Call("isnull", (call_tree(node.operand),)), node.negated)


@call_tree.register(expressions.IsTruth)
def _(node: expressions.IsTruth) -> CallTree:
    truth = Call("istrue" if node.truth else "isfalse", (call_tree(node.operand),))
    return _negated(truth, node.negated)


@call_tree.register(expressions.Collated)
def _(node: expressions.Collated) -> CallTree:
    return Collated(call_tree(node.operand), node.collation.lower())


@call_tree.register(expressions.Case)
def _(node: expressions.Case) -> CallTree:
    parts = [node.operand, *chain.from_iterable(node.whens), node.otherwise]
    name = "case" if node.operand is None else "case_of"
    return Call(name, tuple(call_tree(part) for part in parts if part is not None))


# -- calls -------------------------------------------------------------------------------------------------------------


@call_tree.register(expressions.Call)
def _(node: expressions.Call) -> CallTree:
    name = node.name.lower()
    return Call(_RENAMED.get(name, name), tuple(call_tree(argument) for argument in node.arguments))


@call_tree.register(expressions.MemberOf)
def _(node: expressions.MemberOf) -> CallTree:
    return Call("json_memberof", (call_tree(node.value), call_tree(node.array)))


@call_tree.register(expressions.DateArithmetic)
def _(node: expressions.DateArithmetic) -> CallTree:
    name = "date_sub" if "SUB" in node.name.upper() else "date_add"
    return Call(name, (call_tree(node.moment), call_tree(node.amount), Constant(node.unit)))


@call_tree.register(expressions.KeywordCall)
def _(node: expressions.KeywordCall) -> CallTree:
    name, pieces = node.name.lower(), node.pieces
    if name == "trim":
        return _trim(pieces)
    operands = tuple(call_tree(piece) for piece in (pieces[0], *pieces[2:]))
    return Call({"convert": "convert_using", "position": "locate"}.get(name, name), operands)


def _trim(pieces: tuple[Node, ...]) -> CallTree:
    if len(pieces) == 1:
        return Call("trim", (call_tree(pieces[0]),))
    side = _TRIM_SIDES.index(pieces[0].text) if isinstance(pieces[0], expressions.Word) else 0
    *_, removed, _from, text = pieces
    return Call("trim", (call_tree(text), call_tree(removed), Constant(side)))


@call_tree.register(expressions.Cast)
def _(node: expressions.Cast) -> CallTree:
    if node.form == "JSON_SUM_CRC32":
        raise DdlError("the result type of JSON_SUM_CRC32() is not known")
    return Cast(call_tree(node.operand), _cast_type(node.type))


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
