"""SELECT and related queries in views, CREATE TABLE ... AS and subqueries, and how they print.

Rule source: pingcap/tidb ``pkg/parser/ast/dml.go`` (the ``Restore`` methods of ``SelectStmt``, ``SetOprStmt``,
``WithClause``, ``Limit`` ...).
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.calls import Window
from ticdc_emit.schema.nodes.expressions import Row
from ticdc_emit.schema.nodes.names import TableName
from ticdc_emit.schema.nodes.style import WIRE, Node, Style, joined

__all__ = [
    "CommonTable",
    "Field",
    "Limit",
    "Lock",
    "OrderBy",
    "OrderItem",
    "Query",
    "Select",
    "SetClause",
    "SetOperation",
    "TableQuery",
    "Tail",
    "ValuesQuery",
    "WildCard",
    "With",
]


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
