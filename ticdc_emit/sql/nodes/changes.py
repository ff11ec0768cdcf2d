"""Statements that change rows, and what a session says around them: transactions, SET; how they print.

Rule source: pingcap/tidb ``pkg/parser/ast`` (``dml.go``: ``InsertStmt``, ``UpdateStmt``, ``DeleteStmt``; ``misc.go``:
``BeginStmt``, ``SavepointStmt``, ``SetStmt`` ...).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ticdc_emit.sql.lexer import SqlMode
from ticdc_emit.sql.nodes.base import WIRE, Node, Style, TableName, joined
from ticdc_emit.sql.nodes.expressions import ColumnName
from ticdc_emit.sql.nodes.queries import Hint, Query, TableFactor, Tail, With
from ticdc_emit.sql.words import quoted

__all__ = [
    "Assigned",
    "Begin",
    "ChangeStatement",
    "Commit",
    "Delete",
    "Insert",
    "InsertedRows",
    "LiteralRows",
    "Rollback",
    "Savepoint",
    "SetStatement",
    "Update",
    "Variable",
]


@dataclass(frozen=True)
class Assigned:
    """``column = value`` of SET."""

    column: ColumnName
    value: Node

    def restore(self, style: Style = WIRE) -> str:
        return f"{self.column.restore(style)}={self.value.restore(style)}"


def _hinted(word: str, hints: tuple[Hint, ...], options: tuple[str, ...], style: Style) -> str:
    """Return the words before the table: the statement's first word, optimizer hints, LOW_PRIORITY, IGNORE ..."""
    parts = [style.word(word)]
    if hints:
        parts.append(f"/*+ {joined(hints, style, ' ')}*/")
    return " ".join([*parts, *(style.word(option) for option in options)]) + " "


def _where(where: Node | None, style: Style) -> str:
    return style.word(" WHERE ") + where.restore(style) if where is not None else ""


@dataclass(frozen=True)
class LiteralRows:
    """Rows of literals, each as it is written: their texts by column, and the SQL mode in which they are read."""

    columns: tuple[list[str], ...]
    mode: SqlMode

    def restore(self, style: Style = WIRE) -> str:
        return ",".join(f"({','.join(row)})" for row in zip(*self.columns, strict=True))


InsertedRows: TypeAlias = "tuple[tuple[Node, ...] | LiteralRows, ...]"


@dataclass(frozen=True)
class Insert:
    """INSERT or REPLACE (``word``) of ``rows`` or of a ``query``.

    ``columns``: those that the statement names, ``None`` if it names none. ``as_set``: it has the form SET a = 1.
    ``options``: LOW_PRIORITY, IGNORE ... ``duplicate``: what follows ON DUPLICATE KEY UPDATE.
    """

    word: str
    table: TableName
    columns: tuple[ColumnName, ...] | None = None
    rows: InsertedRows = ()
    query: Query | None = None
    as_set: bool = False
    options: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    duplicate: tuple[Assigned, ...] = ()
    hints: tuple[Hint, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        text = _hinted(self.word, self.hints, self.options, style) + style.word("INTO ") + self.table.restore(style)
        if self.partitions:
            text += style.word(" PARTITION") + f"({', '.join(map(quoted, self.partitions))})"
        if self.as_set:
            (values,) = self.rows
            assert isinstance(values, tuple)
            assigned = (Assigned(*each) for each in zip(self.columns or (), values, strict=True))
            text += style.word(" SET ") + joined(assigned, style)
        else:
            if self.columns is not None:
                text += f" ({joined(self.columns, style)})"
            if self.query is not None:
                text += " " + self.query.restore(style)
            else:
                rows = (f"({joined(row, style)})" if isinstance(row, tuple) else row.restore() for row in self.rows)
                text += style.word(" VALUES ") + ",".join(rows)
        if self.duplicate:
            text += style.word(" ON DUPLICATE KEY UPDATE ") + joined(self.duplicate, style)
        return text


@dataclass(frozen=True)
class Update:
    """UPDATE of ``tables``, one or a join of several. ``common``: the WITH before it."""

    tables: TableFactor
    assignments: tuple[Assigned, ...]
    where: Node | None
    tail: Tail
    options: tuple[str, ...] = ()
    common: With | None = None
    hints: tuple[Hint, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        common = self.common.restore(style) if self.common is not None else ""
        text = common + _hinted("UPDATE", self.hints, self.options, style) + self.tables.restore(style)
        text += style.word(" SET ") + joined(self.assignments, style, ", ")
        return text + _where(self.where, style) + self.tail.restore(style)


@dataclass(frozen=True)
class Delete:
    """DELETE from ``tables``, one or a join of several. ``targets``: those that lose rows, if the statement names them:
    before FROM, or before USING (``using``).
    """

    tables: TableFactor
    where: Node | None
    tail: Tail
    options: tuple[str, ...] = ()
    targets: tuple[TableName, ...] = ()
    using: bool = False
    common: With | None = None
    hints: tuple[Hint, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        text = self.common.restore(style) if self.common is not None else ""
        text += _hinted("DELETE", self.hints, self.options, style)
        targets, tables = joined(self.targets, style), self.tables.restore(style)
        if not self.targets:
            text += style.word("FROM ") + tables
        elif self.using:
            text += style.word("FROM ") + targets + style.word(" USING ") + tables
        else:
            text += targets + style.word(" FROM ") + tables
        return text + _where(self.where, style) + self.tail.restore(style)


# -- transactions and variables ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Begin:
    """BEGIN or START TRANSACTION. ``mode``: PESSIMISTIC, OPTIMISTIC or what follows TRANSACTION, "" for nothing."""

    mode: str = ""

    def restore(self, style: Style = WIRE) -> str:
        if self.mode in ("PESSIMISTIC", "OPTIMISTIC"):
            return style.word(f"BEGIN {self.mode}")
        return style.word("START TRANSACTION") + (style.word(f" {self.mode}") if self.mode else "")


@dataclass(frozen=True)
class Commit:
    """``completion``: AND CHAIN, RELEASE ..., "" for nothing."""

    completion: str = ""

    def restore(self, style: Style = WIRE) -> str:
        return style.word("COMMIT") + (style.word(f" {self.completion}") if self.completion else "")


@dataclass(frozen=True)
class Rollback:
    """``savepoint``: the name after TO, "" for the whole transaction."""

    savepoint: str = ""
    completion: str = ""

    def restore(self, style: Style = WIRE) -> str:
        text = style.word("ROLLBACK")
        if self.savepoint:
            return text + style.word(" TO ") + self.savepoint
        return text + (style.word(f" {self.completion}") if self.completion else "")


@dataclass(frozen=True)
class Savepoint:
    """SAVEPOINT, or RELEASE SAVEPOINT (``releases``)."""

    name: str
    releases: bool = False

    def restore(self, style: Style = WIRE) -> str:
        return style.word("RELEASE " if self.releases else "") + style.word("SAVEPOINT ") + self.name


@dataclass(frozen=True)
class Variable:
    """One variable of SET. ``scope``: GLOBAL or SESSION, "@" for a user variable, "" if the statement gives none.

    ``value``: ``None`` for DEFAULT.
    """

    name: str
    value: Node | None
    scope: str = ""

    def restore(self, style: Style = WIRE) -> str:
        prefix = "@" if self.scope == "@" else f"@@{style.word(self.scope or 'SESSION')}."
        value = style.word("DEFAULT") if self.value is None else self.value.restore(style)
        return f"{prefix}{quoted(self.name)}={value}"


@dataclass(frozen=True)
class SetStatement:
    """SET of variables; SET NAMES is the variable ``names``, SET TRANSACTION the variable ``transaction``."""

    variables: tuple[Variable, ...]

    def restore(self, style: Style = WIRE) -> str:
        return style.word("SET ") + joined(self.variables, style, ", ")


ChangeStatement: TypeAlias = "Insert | Update | Delete | Begin | Commit | Rollback | Savepoint | SetStatement | Query"
"""What :class:`~ticdc_emit.sql.parser.changes.ChangeParser` reads."""
