"""The predicates of SQL that have words of their own: BETWEEN, IN, LIKE, REGEXP and IS, and how they print.

Rule source: pingcap/tidb ``pkg/parser/ast/expressions.go`` (the ``Restore`` methods).
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.schema.nodes.style import WIRE, Node, Style, joined, string

__all__ = ["Between", "In", "IsNull", "IsTruth", "Like", "Regexp"]


@dataclass(frozen=True)
class Between:
    operand: Node
    low: Node
    high: Node
    negated: bool = False

    def restore(self, style: Style = WIRE) -> str:
        between = style.word(" NOT BETWEEN " if self.negated else " BETWEEN ")
        bounds = self.low.restore(style) + style.word(" AND ") + self.high.restore(style)
        return self.operand.restore(style) + between + bounds


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
    """LIKE or ILIKE; ``escape`` is None if not written."""

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
class Regexp:
    operand: Node
    pattern: Node
    negated: bool = False

    def restore(self, style: Style = WIRE) -> str:
        regexp = style.word(" NOT REGEXP " if self.negated else " REGEXP ")
        return self.operand.restore(style) + regexp + self.pattern.restore(style)


@dataclass(frozen=True)
class IsNull:
    operand: Node
    negated: bool = False

    def restore(self, style: Style = WIRE) -> str:
        return self.operand.restore(style) + style.word(" IS NOT NULL" if self.negated else " IS NULL")


@dataclass(frozen=True)
class IsTruth:
    operand: Node
    truth: bool
    negated: bool = False

    def restore(self, style: Style = WIRE) -> str:
        verb = " IS NOT " if self.negated else " IS "
        return self.operand.restore(style) + style.word(verb + ("TRUE" if self.truth else "FALSE"))
