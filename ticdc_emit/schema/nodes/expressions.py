"""Operators, columns and the other expressions that are not function calls, and how they print.

Rule source: pingcap/tidb ``pkg/parser/ast/expressions.go`` (the ``Restore`` methods), ``pkg/parser/opcode``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.style import WIRE, Node, Style, joined

__all__ = [
    "Assignment",
    "Binary",
    "Case",
    "Collated",
    "ColumnName",
    "Comparison",
    "Default",
    "Exists",
    "MatchAgainst",
    "MaxValue",
    "Parenthesised",
    "Placeholder",
    "Row",
    "Subquery",
    "SystemVariable",
    "Unary",
    "UserVariable",
    "Values",
    "chained",
]


@dataclass(frozen=True)
class ColumnName:
    """A column, perhaps after its table, or after schema and table."""

    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.parts[-1]

    def restore(self, style: Style = WIRE) -> str:
        return style.column(*self.parts)


@dataclass(frozen=True)
class Binary:
    """Operators of one precedence, from left to right: the first operand, then each operator as TiDB writes it (AND,
    DIV, %, <=> ...) with its right operand. In TiDB's tree a chain is as deep as it is long; here it is one node, so
    that its length has no limit.
    """

    first: Node
    rest: tuple[tuple[str, Node], ...]

    def restore(self, style: Style = WIRE) -> str:
        parts = [self.first.restore(style)]
        for operator, operand in self.rest:
            parts += (_operator(operator, style), operand.restore(style))
        return "".join(parts)


def chained(first: Node, rest: Sequence[tuple[str, Node]]) -> Node:
    """Return a chain of operators, or its first operand if there is no operator."""
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
    """A comparison with ANY (SELECT ...) or ALL (SELECT ...)."""

    operator: str
    left: Node
    all: bool
    query: Node

    def restore(self, style: Style = WIRE) -> str:
        quantifier = style.word("ALL" if self.all else "ANY")
        return f"{self.left.restore(style)}{_operator(self.operator, style)}{quantifier} {self.query.restore(style)}"


@dataclass(frozen=True)
class Collated:
    operand: Node
    collation: str

    def restore(self, style: Style = WIRE) -> str:
        return self.operand.restore(style) + style.word(" COLLATE ") + self.collation


@dataclass(frozen=True)
class Case:
    operand: Node | None
    whens: tuple[tuple[Node, Node], ...]
    otherwise: Node | None

    def restore(self, style: Style = WIRE) -> str:
        parts = [style.word("CASE")]
        if self.operand is not None:
            parts.append(self.operand.restore(style))
        for condition, result in self.whens:
            parts += [style.word("WHEN"), condition.restore(style), style.word("THEN"), result.restore(style)]
        if self.otherwise is not None:
            parts += [style.word("ELSE"), self.otherwise.restore(style)]
        return " ".join([*parts, style.word("END")])


@dataclass(frozen=True)
class Parenthesised:
    operand: Node

    def restore(self, style: Style = WIRE) -> str:
        return f"({self.operand.restore(style)})"


@dataclass(frozen=True)
class Row:
    members: tuple[Node, ...]

    def restore(self, style: Style = WIRE) -> str:
        return f"{style.word('ROW')}({joined(self.members, style)})"


@dataclass(frozen=True)
class Subquery:
    query: Node

    def restore(self, style: Style = WIRE) -> str:
        return f"({self.query.restore(style)})"


@dataclass(frozen=True)
class Exists:
    query: Node

    def restore(self, style: Style = WIRE) -> str:
        return style.word("EXISTS ") + self.query.restore(style)


@dataclass(frozen=True)
class Default:
    """DEFAULT as a value, or DEFAULT(column)."""

    column: ColumnName | None = None

    def restore(self, style: Style = WIRE) -> str:
        argument = f"({self.column.restore(style)})" if self.column is not None else ""
        return style.word("DEFAULT") + argument


@dataclass(frozen=True)
class Values:
    column: ColumnName

    def restore(self, style: Style = WIRE) -> str:
        return f"{style.word('VALUES')}({self.column.restore(style)})"


@dataclass(frozen=True)
class MaxValue:
    def restore(self, style: Style = WIRE) -> str:
        return style.word("MAXVALUE")


@dataclass(frozen=True)
class Placeholder:
    def restore(self, style: Style = WIRE) -> str:
        return "?"


@dataclass(frozen=True)
class UserVariable:
    name: str

    def restore(self, style: Style = WIRE) -> str:
        return "@" + quoted(self.name)


@dataclass(frozen=True)
class Assignment:
    """``@name := value``."""

    name: str
    value: Node

    def restore(self, style: Style = WIRE) -> str:
        return f"@{quoted(self.name)}:={self.value.restore(style)}"


@dataclass(frozen=True)
class SystemVariable:
    """``scope``: GLOBAL, INSTANCE, SESSION, or "" if not written."""

    name: str
    scope: str = ""

    def restore(self, style: Style = WIRE) -> str:
        scope = style.word(self.scope) + "." if self.scope else ""
        return f"@@{scope}{quoted(self.name)}"


@dataclass(frozen=True)
class MatchAgainst:
    columns: tuple[ColumnName, ...]
    against: Node
    modifier: str = ""

    def restore(self, style: Style = WIRE) -> str:
        against = f"({self.against.restore(style)}{self.modifier})"
        return f"{style.word('MATCH')} ({joined(self.columns, style)}) {style.word('AGAINST')} {against}"
