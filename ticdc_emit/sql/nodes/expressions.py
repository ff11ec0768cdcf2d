"""Expressions, and how they print; constants as the driver that production links prints them.

Rule source: pingcap/tidb ``pkg/parser/ast``, ``pkg/types/parser_driver/value_expr.go``, ``pkg/types/mydecimal.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal as Choice

from ticdc_emit.sql.nodes.base import WIRE, Node, Style, joined, string
from ticdc_emit.sql.nodes.forms import Clause, Form
from ticdc_emit.sql.words import quoted

_WORD_DIGITS, _MAX_WORDS = 9, 9
_LARGEST_DECIMAL = "9" * 65


@dataclass(frozen=True)
class Constant:
    """``value``: digits, float, text, or bytes (hex, bit); None for the words. ``charset``: a text's introducer."""

    kind: Choice["null", "true", "false", "integer", "decimal", "float", "string", "hex", "bits"]
    value: str | float | bytes | None = None
    charset: str = ""

    @property
    def content(self) -> int | Decimal | float | str | bytes | None:
        """The value in its type of Python; a truth value is a bool."""
        value = self.value
        if isinstance(value, str) and self.kind in ("integer", "decimal"):
            return int(value) if self.kind == "integer" else Decimal(value)
        return self.kind == "true" if self.kind in ("true", "false") else value

    def restore(self, style: Style = WIRE) -> str:
        value = self.value
        if isinstance(value, str):
            if self.kind != "string":
                return value
            is_shown = self.charset and (style.introduced or self.charset != "utf8mb4")
            introducer = f"_{style.word(self.charset)}" if is_shown else ""
            return introducer + string(value.replace("\\", "\\\\"))
        if isinstance(value, float):
            return exponent_text(value)
        if isinstance(value, bytes):
            digits = f"{int.from_bytes(value, 'big'):b}" if value else ""
            return f"x'{value.hex()}'" if self.kind == "hex" else f"b'{digits}'"
        return style.word(self.kind)


def exponent_text(value: float) -> str:
    """Return a float as Go's ``strconv`` does with format ``e``: the fewest digits, two or more in the exponent."""
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0") or "0"
    power = exponent + len(digits) - 1 if value else 0
    mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def decimal_digits(text: str) -> str:
    """Return a decimal literal as TiDB keeps it: no leading zeros, and as many digits as its nine words hold."""
    whole, _, fraction = text.partition(".")
    whole = whole.lstrip("0")
    words = -(-len(whole) // _WORD_DIGITS)
    if words > _MAX_WORDS:
        return _LARGEST_DECIMAL
    if words + -(-len(fraction) // _WORD_DIGITS) > _MAX_WORDS:
        fraction = fraction[: (_MAX_WORDS - words) * _WORD_DIGITS]
    return (whole or "0") + ("." + fraction if fraction else "")


@dataclass(frozen=True)
class ColumnName:
    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.parts[-1]

    def restore(self, style: Style = WIRE) -> str:
        return style.column(*self.parts)


@dataclass(frozen=True)
class Binary:
    """Operators of one precedence, from left to right, each with its right operand. In TiDB's tree a chain is as deep
    as it is long; here it is one node, so that its length has no limit.
    """

    first: Node
    rest: tuple[tuple[str, Node], ...]

    def restore(self, style: Style = WIRE) -> str:
        parts = [self.first.restore(style)]
        for operator, operand in self.rest:
            parts += (_operator(operator, style), operand.restore(style))
        return "".join(parts)


def chained(first: Node, rest: Sequence[tuple[str, Node]]) -> Node:
    return Binary(first, tuple(rest)) if rest else first


def _operator(operator: str, style: Style) -> str:
    if operator.isalpha():
        return f" {style.word(operator)} "
    return f" {operator} " if style.spaced else operator


@dataclass(frozen=True)
class Unary:
    operator: str
    operand: Node

    def restore(self, style: Style = WIRE) -> str:
        operator = style.word(self.operator) + " " if self.operator.isalpha() else self.operator
        return operator + self.operand.restore(style)


@dataclass(frozen=True)
class Comparison:
    operator: str
    left: Node
    all: bool
    query: Node

    def restore(self, style: Style = WIRE) -> str:
        quantifier = style.word("ALL" if self.all else "ANY")
        return f"{self.left.restore(style)}{_operator(self.operator, style)}{quantifier} {self.query.restore(style)}"


@dataclass(frozen=True)
class Collated(Clause):
    form = Form("{operand} COLLATE {collation:text}")
    operand: Node
    collation: str


@dataclass(frozen=True)
class Case(Clause):
    form = Form("CASE< {operand}>{whens}< ELSE {otherwise}> END")
    operand: Node | None
    whens: tuple[tuple[Node, Node], ...]
    otherwise: Node | None


@dataclass(frozen=True)
class Parenthesised(Clause):
    form = Form("({operand})")
    operand: Node


@dataclass(frozen=True)
class Row(Clause):
    form = Form("ROW({members})")
    members: tuple[Node, ...]


@dataclass(frozen=True)
class Subquery(Clause):
    form = Form("({query})")
    query: Node


@dataclass(frozen=True)
class Exists(Clause):
    form = Form("EXISTS {query}")
    query: Node


@dataclass(frozen=True)
class Default(Clause):
    form = Form("DEFAULT<({column:node})>")
    column: ColumnName | None = None


@dataclass(frozen=True)
class Values(Clause):
    form = Form("VALUES({column:node})")
    column: ColumnName


@dataclass(frozen=True)
class MaxValue(Clause):
    form = Form("MAXVALUE")


@dataclass(frozen=True)
class UserVariable(Clause):
    form = Form("@{name}")
    name: str


@dataclass(frozen=True)
class Assignment(Clause):
    form = Form("@{name}:={value}")
    name: str
    value: Node


@dataclass(frozen=True)
class SystemVariable(Clause):
    """``scope``: GLOBAL, INSTANCE, SESSION, or "" if not written."""

    form = Form("@@<{scope:word}.>{name}")
    name: str
    scope: str = ""


@dataclass(frozen=True)
class MatchAgainst(Clause):
    form = Form("MATCH ({columns:nodes}) AGAINST ({against}{modifier:text})")
    columns: tuple[ColumnName, ...]
    against: Node
    modifier: str = ""


@dataclass(frozen=True)
class Between(Clause):
    form = Form("{operand} {negated?NOT }BETWEEN {low} AND {high}")
    operand: Node
    low: Node
    high: Node
    negated: bool = False


@dataclass(frozen=True)
class In:
    """``members`` is a tuple of expressions or one subquery."""

    operand: Node
    members: tuple[Node, ...] | Node
    negated: bool = False

    def restore(self, style: Style = WIRE) -> str:
        within = style.word(" NOT IN " if self.negated else " IN ")
        members = f"({joined(self.members, style)})" if isinstance(self.members, tuple) else self.members.restore(style)
        return self.operand.restore(style) + within + members


@dataclass(frozen=True)
class Like:
    word: str
    operand: Node
    pattern: Node
    negated: bool = False
    escape: str | None = None

    def restore(self, style: Style = WIRE) -> str:
        like = style.word(f" NOT {self.word} " if self.negated else f" {self.word} ")
        escape = "" if self.escape in (None, "\\") else style.word(" ESCAPE ") + string(self.escape or "")
        return self.operand.restore(style) + like + self.pattern.restore(style) + escape


@dataclass(frozen=True)
class Regexp(Clause):
    form = Form("{operand} {negated?NOT }REGEXP {pattern}")
    operand: Node
    pattern: Node
    negated: bool = False


@dataclass(frozen=True)
class IsNull(Clause):
    form = Form("{operand} IS {negated?NOT }NULL")
    operand: Node
    negated: bool = False


@dataclass(frozen=True)
class IsTruth(Clause):
    form = Form("{operand} IS {negated?NOT }{truth}")
    operand: Node
    truth: bool
    negated: bool = False


@dataclass(frozen=True)
class FrameBound:
    """``word`` alone for UNBOUNDED and CURRENT ROW; else the direction of ``amount`` (of a time ``unit``)."""

    word: str
    amount: Node | None = None
    unit: str = ""

    def restore(self, style: Style = WIRE) -> str:
        if self.amount is None:
            return style.word(self.word)
        if self.unit:
            amount = f"{style.word('INTERVAL')} {self.amount.restore(style)} {style.word(self.unit)}"
        else:
            amount = self.amount.restore(style)
        return f"{amount} {style.word(self.word)}"


@dataclass(frozen=True)
class Frame(Clause):
    form = Form("{unit:word} BETWEEN {start} AND {end}")
    unit: str
    start: FrameBound
    end: FrameBound


@dataclass(frozen=True)
class Word(Clause):
    """A word among a call's arguments: a time unit, DATE, LEADING ..."""

    form = Form("{text:word}")
    text: str


@dataclass(frozen=True)
class Call(Clause):
    form = Form("{name:word}({arguments:list})")
    name: str
    arguments: tuple[Node, ...] = ()


@dataclass(frozen=True)
class QualifiedCall:
    """``schema.function(...)``; a name that is not a keyword prints as a name."""

    schema: str
    name: str
    is_word: bool
    arguments: tuple[Node, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        name = style.word(self.name) if self.is_word else quoted(self.name)
        return f"{quoted(self.schema)}.{name}({joined(self.arguments, style, ', ')})"


@dataclass(frozen=True)
class KeywordCall(Clause):
    """A call with keywords between its arguments, as TRIM(LEADING a FROM b): nodes and words, one blank apart."""

    form = Form("{name:word}({pieces:phrase})")
    name: str
    pieces: tuple[Node, ...]


@dataclass(frozen=True)
class DateArithmetic(Clause):
    form = Form("{name:word}({moment}, INTERVAL {amount} {unit:word})")
    name: str
    moment: Node
    amount: Node
    unit: str


@dataclass(frozen=True)
class TemporalLiteral(Clause):
    form = Form("{word:text} {value}")
    word: str
    value: Node


@dataclass(frozen=True)
class MemberOf(Clause):
    form = Form("{value} MEMBER OF ({array})")
    value: Node
    array: Node


@dataclass(frozen=True)
class Aggregate(Clause):
    """``separator`` and ``order`` are GROUP_CONCAT's."""

    form = Form("{name:word}({distinct?DISTINCT }{arguments:list}< {order:node}>< SEPARATOR {separator}>)")
    name: str
    arguments: tuple[Node, ...]
    distinct: bool = False
    order: Node | None = None
    separator: Node | None = None


@dataclass(frozen=True)
class CastType:
    """``precision``: the numbers in parentheses. CHAR(n) CHARSET binary prints as BINARY(n), which is another type."""

    word: str
    precision: tuple[int, ...] = ()
    charset: str = ""
    array: bool = False

    def restore(self, style: Style = WIRE) -> str:
        is_binary = self.charset == "binary"
        text = style.word("BINARY" if is_binary else self.word)
        if self.precision:
            text += f"({', '.join(map(str, self.precision))})"
        if self.charset not in ("", "utf8mb4", "binary"):
            text += style.word(f" CHARSET {self.charset}")
        return text + (" " + style.word("ARRAY") if self.array else "")


@dataclass(frozen=True)
class Cast:
    """``form``: CAST(a AS type), CONVERT(a, type), BINARY a, JSON_SUM_CRC32(a AS type)."""

    form: str
    operand: Node
    type: CastType

    def restore(self, style: Style = WIRE) -> str:
        operand = self.operand.restore(style)
        if self.form == "BINARY":
            return style.word("BINARY ") + operand
        separator = ", " if self.form == "CONVERT" else style.word(" AS ")
        return f"{style.word(self.form)}({operand}{separator}{self.type.restore(style)})"


@dataclass(frozen=True)
class Window:
    """A window's name alone (``only_name``), or its definition."""

    name: str = ""
    only_name: bool = False
    based_on: str = ""
    partition_by: tuple[Node, ...] = ()
    order_by: Node | None = None
    frame: Node | None = None

    def restore(self, style: Style = WIRE) -> str:
        if self.only_name:
            return quoted(self.name)
        parts = [quoted(self.based_on)] if self.based_on else []
        if self.partition_by:
            parts.append(style.word("PARTITION BY ") + joined(self.partition_by, style, ", "))
        parts += [part.restore(style) for part in (self.order_by, self.frame) if part is not None]
        name = quoted(self.name) + style.word(" AS ") if self.name else ""
        return f"{name}({' '.join(parts)})"


@dataclass(frozen=True)
class WindowCall(Clause):
    form = Form("{name:word}({distinct?DISTINCT }{arguments:list}) OVER {window}")
    name: str
    arguments: tuple[Node, ...]
    window: Window
    distinct: bool = False


@dataclass(frozen=True)
class Expression:
    """Source text of an expression (without its outer parentheses), and its syntax tree."""

    text: str
    node: Node

    def restore(self, style: Style = WIRE) -> str:
        return self.node.restore(style)


@dataclass(frozen=True)
class Literal:
    """A constant. ``value`` by kind: str (string), int (integer), Decimal, float, bytes (bits), None (null)."""

    kind: Choice["null", "string", "integer", "decimal", "float", "bits"]
    value: str | int | Decimal | float | bytes | None


@dataclass(frozen=True)
class DefaultExpression:
    """A default that is computed: CURRENT_TIMESTAMP(``fsp``), CURRENT_DATE, or a function call (``text``)."""

    kind: Choice["now", "today", "call"]
    fsp: int = 0
    text: str = ""


def negated(number: int | Decimal | float) -> int | Decimal | float:
    """Return ``-number``, with all its digits: ``-`` would round a decimal to 28. A decimal has no negative zero."""
    if isinstance(number, Decimal):
        return number.copy_negate() if number else number
    return -number
