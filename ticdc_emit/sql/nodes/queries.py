"""Queries: optimizer hints, tables after FROM, SELECT, TABLE, VALUES, set operations; how they print.

Rule source: pingcap/tidb ``pkg/parser/ast`` (``dml.go``, and ``TableOptimizerHint`` of ``misc.go``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from ticdc_emit.sql.nodes.base import WIRE, Node, Style, TableName, joined
from ticdc_emit.sql.nodes.expressions import ColumnName, Row, Subquery, Window
from ticdc_emit.sql.words import quoted

__all__ = [
    "CommonTable",
    "Field",
    "Hint",
    "HintTable",
    "IndexHint",
    "Join",
    "Limit",
    "Lock",
    "OrderBy",
    "OrderItem",
    "Query",
    "Sample",
    "Select",
    "SetClause",
    "SetOperation",
    "Source",
    "TableFactor",
    "TableQuery",
    "Tail",
    "ValuesQuery",
    "WildCard",
    "With",
    "cross_join",
    "sources",
]


@dataclass(frozen=True)
class HintTable:
    table: TableName
    block: str = ""
    partitions: tuple[str, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        text = self.table.restore(style) + ("@" + quoted(self.block) if self.block else "")
        if self.partitions:
            text += style.word(" PARTITION") + f"({', '.join(map(quoted, self.partitions))})"
        return text


@dataclass(frozen=True)
class Hint:
    """``block`` is the query block's name, after an @ unless the hint defines the name (``bare_block``)."""

    name: str
    block: str = ""
    tables: tuple[HintTable, ...] = ()
    indexes: tuple[str, ...] = ()
    number: int | None = None
    has_indexes: bool = False
    bare_block: bool = False
    without_arguments: bool = False

    def restore(self, style: Style = WIRE) -> str:
        block = ("" if self.bare_block else "@") + quoted(self.block) if self.block else ""
        if block and not (self.without_arguments or self.bare_block):
            block += " "
        arguments = joined(self.tables, style, ", ")
        if self.has_indexes:
            arguments += " " + ", ".join(map(quoted, self.indexes))
        if self.number is not None:
            arguments = str(self.number)
        return f"{style.word(self.name)}({block}{arguments})"


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


def sources(factor: object) -> Iterator[Source]:
    """Yield the sources of a FROM, from left to right."""
    if isinstance(factor, Source):
        yield factor
    elif isinstance(factor, Join):
        yield from sources(factor.left)
        yield from sources(factor.right)


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


@dataclass(frozen=True)
class WildCard:
    """``*``, ``table.*`` or ``schema.table.*``."""

    qualifier: tuple[str, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        return f"{quoted(*self.qualifier)}.*" if self.qualifier else "*"


@dataclass(frozen=True)
class Field:
    """One column of a SELECT; ``start`` and ``end`` are its position in the statement."""

    value: Node
    alias: str = ""
    start: int = 0
    end: int = 0

    def restore(self, style: Style = WIRE) -> str:
        alias = style.word(" AS ") + quoted(self.alias) if self.alias else ""
        return self.value.restore(style) + alias


@dataclass(frozen=True)
class OrderItem:
    value: Node
    descending: bool = False

    def restore(self, style: Style = WIRE) -> str:
        return self.value.restore(style) + (style.word(" DESC") if self.descending else "")


@dataclass(frozen=True)
class OrderBy:
    items: tuple[OrderItem, ...]

    def restore(self, style: Style = WIRE) -> str:
        return style.word("ORDER BY ") + joined(self.items, style)


@dataclass(frozen=True)
class Limit:
    count: Node
    offset: Node | None = None

    def restore(self, style: Style = WIRE) -> str:
        offset = self.offset.restore(style) + "," if self.offset is not None else ""
        return style.word("LIMIT ") + offset + self.count.restore(style)


@dataclass(frozen=True)
class Lock:
    """FOR UPDATE or FOR SHARE, ``tables`` after OF, and NOWAIT, WAIT n or SKIP LOCKED."""

    word: str
    tables: tuple[TableName, ...] = ()
    wait: str = ""

    def restore(self, style: Style = WIRE) -> str:
        tables = style.word(" OF ") + joined(self.tables, style, ", ") if self.tables else ""
        return style.word(self.word) + tables + (" " + style.word(self.wait) if self.wait else "")


@dataclass(frozen=True)
class Tail:
    """The end of any query: ORDER BY, LIMIT and the lock."""

    order: OrderBy | None = None
    limit: Limit | None = None
    lock: Lock | None = None

    def restore(self, style: Style = WIRE) -> str:
        return "".join(" " + part.restore(style) for part in (self.order, self.limit, self.lock) if part is not None)


@dataclass(frozen=True)
class CommonTable:
    name: str
    columns: tuple[str, ...]
    query: Node

    def restore(self, style: Style = WIRE) -> str:
        columns = f" ({', '.join(map(quoted, self.columns))})" if self.columns else ""
        return quoted(self.name) + columns + style.word(" AS ") + self.query.restore(style)


@dataclass(frozen=True)
class With:
    tables: tuple[CommonTable, ...]
    recursive: bool = False

    def restore(self, style: Style = WIRE) -> str:
        recursive = "RECURSIVE " if self.recursive else ""
        return style.word(f"WITH {recursive}") + joined(self.tables, style, ", ") + " "


@dataclass(frozen=True)
class Query:
    """Common parts of SELECT, TABLE, VALUES and set operations: a WITH, parentheses, a tail."""

    tail: Tail = Tail()
    common: With | None = None
    in_parentheses: bool = False
    common_inside: bool = True

    def restore(self, style: Style = WIRE) -> str:
        common = self.common.restore(style) if self.common is not None else ""
        body = self._body(style) + self.tail.restore(style)
        if not self.in_parentheses:
            return common + body
        return f"({common}{body})" if self.common_inside else f"{common}({body})"

    def _body(self, style: Style) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class Select(Query):
    """``options`` are its words before the hints, in TiDB's order; ``modifiers`` those after them."""

    fields: tuple[Field, ...] = ()
    options: tuple[str, ...] = ()
    hints: tuple[Node, ...] = ()
    modifiers: tuple[str, ...] = ()
    tables: Node | None = None
    where: Node | None = None
    group_by: tuple[OrderItem, ...] = ()
    rollup: bool = False
    having: Node | None = None
    windows: tuple[Window, ...] = ()

    def _body(self, style: Style) -> str:
        parts = [style.word(word) for word in ("SELECT", *self.options)]
        if self.hints:
            parts.append(f"/*+ {joined(self.hints, style, ' ')}*/")
        parts += [style.word(word) for word in self.modifiers]
        parts.append(joined(self.fields, style))
        if self.tables is not None:
            parts.append(style.word("FROM ") + self.tables.restore(style))
        elif self.where is not None:
            parts.append(style.word("FROM DUAL"))
        if self.where is not None:
            parts.append(style.word("WHERE ") + self.where.restore(style))
        if self.group_by:
            rollup = style.word(" WITH ROLLUP") if self.rollup else ""
            parts.append(style.word("GROUP BY ") + joined(self.group_by, style) + rollup)
        if self.having is not None:
            parts.append(style.word("HAVING ") + self.having.restore(style))
        if self.windows:
            parts.append(style.word("WINDOW ") + joined(self.windows, style))
        return " ".join(parts)


@dataclass(frozen=True)
class TableQuery(Query):
    table: TableName | None = None

    def _body(self, style: Style) -> str:
        assert self.table is not None
        return style.word("TABLE ") + self.table.restore(style)


@dataclass(frozen=True)
class ValuesQuery(Query):
    rows: tuple[Row, ...] = ()

    def _body(self, style: Style) -> str:
        return style.word("VALUES ") + joined(self.rows, style, ", ")


@dataclass(frozen=True)
class SetClause:
    """One query of a set operation after its ``operator`` (UNION ALL ...; "" for the first).

    In parentheses it may be a list of clauses with its own WITH and tail.
    """

    queries: tuple[Node, ...]
    operator: str = ""
    in_parentheses: bool = False
    common: With | None = None
    tail: Tail = Tail()

    def restore(self, style: Style = WIRE) -> str:
        operator = style.word(f" {self.operator} ") if self.operator else ""
        body = joined(self.queries, style, "") + self.tail.restore(style)
        common = self.common.restore(style) if self.common is not None else ""
        return operator + (f"({common}{body})" if self.in_parentheses else common + body)


@dataclass(frozen=True)
class SetOperation(Query):
    clauses: tuple[SetClause, ...] = ()

    def _body(self, style: Style) -> str:
        return joined(self.clauses, style, "")
