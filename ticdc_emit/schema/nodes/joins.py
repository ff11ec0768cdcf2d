"""The sources of a SELECT: tables, subqueries and joins, and how they print.

Rule source: pingcap/tidb ``pkg/parser/ast/dml.go`` (``Join``, ``TableSource``, ``NewCrossJoin``). A join without
condition replaces the leftmost table on its right side: ``a JOIN (b LEFT JOIN c)`` written without parentheses is ``(a
JOIN b) LEFT JOIN c``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.expressions import ColumnName, Subquery
from ticdc_emit.schema.nodes.names import TableName
from ticdc_emit.schema.nodes.style import WIRE, Node, Style, joined

__all__ = ["IndexHint", "Join", "Sample", "Source", "TableFactor", "cross_join"]


@dataclass(frozen=True)
class IndexHint:
    """USE, IGNORE or FORCE INDEX; ``scope`` is "" or what follows FOR."""

    word: str
    scope: str
    indexes: tuple[str, ...]

    def restore(self, style: Style = WIRE) -> str:
        scope = f" FOR {self.scope}" if self.scope else ""
        return style.word(f"{self.word} INDEX{scope} ") + f"({', '.join(map(quoted, self.indexes))})"


@dataclass(frozen=True)
class Sample:
    """TABLESAMPLE."""

    method: str = ""
    size: Node | None = None
    unit: str = ""
    seed: Node | None = None

    def restore(self, style: Style = WIRE) -> str:
        method = style.word(self.method) + " " if self.method else ""
        size = self.size.restore(style) if self.size is not None else ""
        unit = " " + style.word(self.unit) if self.unit else ""
        seed = f" {style.word('REPEATABLE')}({self.seed.restore(style)})" if self.seed is not None else ""
        return f"{style.word('TABLESAMPLE')} {method}({size}{unit}){seed}"


@dataclass(frozen=True)
class Source:
    """A table or subquery in FROM."""

    origin: TableName | Subquery
    alias: str = ""
    partitions: tuple[str, ...] = ()
    as_of: Node | None = None
    hints: tuple[IndexHint, ...] = ()
    sample: Sample | None = None
    lateral: bool = False
    columns: tuple[str, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        text = (style.word("LATERAL ") if self.lateral else "") + self.origin.restore(style)
        if self.partitions:
            text += style.word(" PARTITION") + f"({', '.join(map(quoted, self.partitions))})"
        if self.alias:
            text += style.word(" AS ") + quoted(self.alias)
            if self.columns:
                text += f"({', '.join(map(quoted, self.columns))})"
        if self.as_of is not None:
            text += style.word(" AS OF TIMESTAMP ") + self.as_of.restore(style)
        parts = [text, *(hint.restore(style) for hint in self.hints)]
        if self.sample is not None:
            parts.append(self.sample.restore(style))
        return " ".join(parts)


@dataclass(frozen=True)
class Join:
    """``right`` is None around a single table, as TiDB has it. ``kind``: "", LEFT or RIGHT."""

    left: TableFactor
    right: TableFactor | None = None
    kind: str = ""
    natural: bool = False
    straight: bool = False
    on: Node | None = None
    using: tuple[ColumnName, ...] = ()
    in_parentheses: bool = False

    def restore(self, style: Style = WIRE) -> str:
        left = self.left.restore(style)
        with_comma = isinstance(self.left, Join) and self.left.right is None and _is_subquery(self.left.left)
        if isinstance(self.left, Join) and not with_comma:
            left = f"({left})"
        if self.right is None:
            return left
        words = [word for word, given in (("NATURAL", self.natural), (self.kind, self.kind)) if given]
        text = left + "".join(" " + style.word(word) for word in words)
        text += style.word(" STRAIGHT_JOIN ") if self.straight else ", " if with_comma else style.word(" JOIN ")
        right = self.right.restore(style)
        text += f"({right})" if isinstance(self.right, Join) else right
        if self.on is not None:
            text += style.word(" ON ") + self.on.restore(style)
        if self.using:
            text += style.word(" USING ") + f"({joined(self.using, style)})"
        return text


TableFactor: TypeAlias = "Source | Join"


def _is_subquery(factor: TableFactor) -> bool:
    return isinstance(factor, Source) and isinstance(factor.origin, Subquery)


def cross_join(left: TableFactor, right: TableFactor) -> Join:
    """Return the join without condition of ``left`` and ``right``."""
    if not isinstance(right, Join) or right.right is None or right.in_parentheses:
        return Join(left, right)
    return _replanted(right, left)


def _replanted(join: Join, left: TableFactor) -> Join:
    if join.kind == "RIGHT" and join.in_parentheses and join.right is not None:
        join = replace(join, left=join.right, right=join.left, kind="LEFT")
    leftmost = join.left
    if isinstance(leftmost, Join) and leftmost.right is not None:
        return replace(join, left=_replanted(leftmost, left))
    return replace(join, left=Join(left, leftmost))
