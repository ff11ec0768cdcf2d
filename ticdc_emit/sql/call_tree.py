"""An expression as calls, on which types are inferred and values are computed; operators are calls too.

Rule source: pingcap/tidb ``pkg/planner/core/expression_rewriter.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
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
    expressions.Cast: "JSON_SUM_CRC32()",
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


def call_tree(node: Node) -> CallTree:
    """Return the functions for a tree; ``DdlError`` names an expression that is not allowed here."""
    match node:
        case expressions.ColumnName(parts):
            return Reference(*reversed(parts))
        case expressions.Constant():
            return _constant(node)
        case expressions.TemporalLiteral(word, value):
            if not isinstance(value, expressions.Constant):
                raise DdlError(f"{word} of something that is not a literal is not allowed in it")
            return Constant(str(value.value), kind=_LITERAL_TYPES[word])
        case expressions.Word(text):
            return Constant(text)
        case expressions.Parenthesised(operand):
            return call_tree(operand)
        case expressions.Binary(first, rest):
            calls = call_tree(first)
            for operator, operand in rest:
                calls = Call(_OPERATORS.get(operator, operator.lower()), (calls, call_tree(operand)))
            return calls
        case expressions.Unary("+", operand):
            return call_tree(operand)
        case expressions.Unary(operator, operand):
            return _called(_PREFIXES[operator], operand)
        case expressions.Between(operand, low, high, negated):
            return _negated(_called("between", operand, low, high), negated)
        case expressions.In(operand, members, negated):
            if not isinstance(members, tuple):
                raise DdlError("a subquery is not allowed in it")
            return _negated(_called("in", operand, *members), negated)
        case expressions.Like(word, operand, pattern, negated, escape):
            marks = () if escape is None else (expressions.Constant("string", escape),)
            return _negated(_called(word.lower(), operand, pattern, *marks), negated)
        case expressions.Regexp(operand, pattern, negated):
            return _negated(_called("regexp", operand, pattern), negated)
        case expressions.IsNull(operand, negated):
            return _negated(_called("isnull", operand), negated)
        case expressions.IsTruth(operand, truth, negated):
            return _negated(_called("istrue" if truth else "isfalse", operand), negated)
        case expressions.Collated(operand, collation):
            return Collated(call_tree(operand), collation.lower())
        case expressions.Case():
            parts_of_case = [node.operand, *chain.from_iterable(node.whens), node.otherwise]
            name = "case" if node.operand is None else "case_of"
            return _called(name, *(each for each in parts_of_case if each is not None))
        case expressions.Call(name, arguments):
            return _called(_RENAMED.get(name.lower(), name.lower()), *arguments)
        case expressions.MemberOf(value, array):
            return _called("json_memberof", value, array)
        case expressions.DateArithmetic(name, moment, amount, unit):
            return _called("date_sub" if "SUB" in name.upper() else "date_add", moment, amount, expressions.Word(unit))
        case expressions.KeywordCall(name, pieces) if name.upper() == "TRIM":
            return _trim(pieces)
        case expressions.KeywordCall(name, pieces):
            names = {"convert": "convert_using", "position": "locate"}
            return _called(names.get(name.lower(), name.lower()), pieces[0], *pieces[2:])
        case expressions.Cast(form, operand, kind) if form != "JSON_SUM_CRC32":
            return Cast(call_tree(operand), _cast_type(kind))
    raise DdlError(f"{_NOT_HERE.get(type(node), type(node).__name__)} is not allowed in it")


def _called(name: str, *arguments: Node) -> Call:
    return Call(name, tuple(map(call_tree, arguments)))


def _negated(node: CallTree, negated: bool) -> CallTree:
    return Call("not", (node,)) if negated else node


def _constant(node: expressions.Constant) -> Constant:
    if isinstance(node.value, bytes) and node.charset:
        raise DdlError("an introducer before a hex or bit literal is not allowed in it")
    return Constant(node.content, node.charset, is_hex=node.kind == "hex")


def _trim(pieces: tuple[Node, ...]) -> CallTree:
    if len(pieces) == 1:
        return Call("trim", (call_tree(pieces[0]),))
    side = _TRIM_SIDES.index(pieces[0].text) if isinstance(pieces[0], expressions.Word) else 0
    *_, removed, _from, text = pieces
    return Call("trim", (call_tree(text), call_tree(removed), Constant(side)))


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
