"""Queries, and how they print. Rule source: pingcap/tidb ``pkg/parser/ast/{dml,misc}.go``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from ticdc_emit.sql.nodes.base import WIRE, Node, Style, TableName, joined
from ticdc_emit.sql.nodes.expressions import ColumnName, Row, Subquery, Window
from ticdc_emit.sql.nodes.forms import Clause, Form


@dataclass(frozen=True)
class Hint(Clause):
    form = Form("{name:word}({tables:list})")
    name: str
    tables: tuple[TableName, ...] = ()


@dataclass(frozen=True)
class IndexHint(Clause):
    form = Form("{word:word} INDEX ({indexes:names})")
    word: str
    indexes: tuple[str, ...]


@dataclass(frozen=True)
class Sample(Clause):
    form = Form("TABLESAMPLE <{method:word} >(<{size}>< {unit:word}>)< REPEATABLE({seed})>")
    method: str = ""
    size: Node | None = None
    unit: str = ""
    seed: Node | None = None


@dataclass(frozen=True)
class Source(Clause):
    form = Form(
        "{origin}< PARTITION({partitions:names})>< AS {alias:name}>< AS OF TIMESTAMP {as_of}>{hints:each}< {sample}>"
    )
    origin: TableName | Subquery
    alias: str = ""
    partitions: tuple[str, ...] = ()
    as_of: Node | None = None
    hints: tuple[IndexHint, ...] = ()
    sample: Sample | None = None


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
        alone = self.left.left if isinstance(self.left, Join) and self.left.right is None else None
        with_comma = isinstance(alone, Source) and isinstance(alone.origin, Subquery)
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
    if isinstance(factor, Source):
        yield factor
    elif isinstance(factor, Join):
        yield from sources(factor.left)
        yield from sources(factor.right)


def cross_join(left: TableFactor, right: TableFactor) -> Join:
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
class WildCard(Clause):
    form = Form("<{qualifier:qualified}.>*")
    qualifier: tuple[str, ...] = ()


@dataclass(frozen=True)
class Field(Clause):
    form = Form("{value}< AS {alias:name}>")
    value: Node
    alias: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class OrderItem(Clause):
    form = Form("{value}{descending? DESC}")
    value: Node
    descending: bool = False


@dataclass(frozen=True)
class OrderBy(Clause):
    form = Form("ORDER BY {items}")
    items: tuple[OrderItem, ...]


@dataclass(frozen=True)
class Limit(Clause):
    form = Form("LIMIT <{offset},>{count}")
    count: Node
    offset: Node | None = None


@dataclass(frozen=True)
class Lock(Clause):
    form = Form("{word:word}< OF {tables:list}>< {wait:word}>")
    word: str
    tables: tuple[TableName, ...] = ()
    wait: str = ""


@dataclass(frozen=True)
class Tail(Clause):
    form = Form("< {order:node}>< {limit}>< {lock}>")
    order: OrderBy | None = None
    limit: Limit | None = None
    lock: Lock | None = None


@dataclass(frozen=True)
class CommonTable(Clause):
    form = Form("{name}< ({columns:names})> AS {query:subquery}")
    name: str
    query: Node
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class With(Clause):
    form = Form("WITH {recursive?RECURSIVE }{tables:list} ")
    tables: tuple[CommonTable, ...]
    recursive: bool = False


@dataclass(frozen=True)
class Query:
    """Common parts of SELECT, TABLE, VALUES and set operations: a WITH, parentheses, a tail."""

    form: ClassVar[Form]
    tail: Tail = Tail()
    common: With | None = None
    in_parentheses: bool = False
    common_inside: bool = True

    def restore(self, style: Style = WIRE) -> str:
        common = self.common.restore(style) if self.common is not None else ""
        body = self.form.restore_node(self, style) + self.tail.restore(style)
        if not self.in_parentheses:
            return common + body
        return f"({common}{body})" if self.common_inside else f"{common}({body})"


@dataclass(frozen=True)
class Select(Query):
    """``options`` are its words before the hints, in TiDB's order; ``modifiers`` those after them."""

    form = Form(
        "SELECT{options:each word}< /*+ {hints:phrase}*/>{modifiers:each word} {fields}< FROM {tables:node}>"
        "{is_from_dual? FROM DUAL}< WHERE {where}>< GROUP BY {group_by}{rollup? WITH ROLLUP}>< HAVING {having}>"
        "< WINDOW {windows}>"
    )
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

    @property
    def is_from_dual(self) -> bool:
        return self.tables is None and self.where is not None


@dataclass(frozen=True)
class TableQuery(Query):
    form = Form("TABLE {table}")
    table: TableName | None = None


@dataclass(frozen=True)
class ValuesQuery(Query):
    form = Form("VALUES {rows:list}")
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class SetClause:
    """One query of a set operation after its ``operator`` ("" for the first), or a list of them in parentheses."""

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
    form = Form("{clauses:run}")
    clauses: tuple[SetClause, ...] = ()
