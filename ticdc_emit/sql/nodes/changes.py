"""Statements that change rows, and what a session says around them: transactions, SET.

Rule source: pingcap/tidb ``pkg/parser/ast`` (``dml.go``: ``InsertStmt``, ``UpdateStmt``, ``DeleteStmt``; ``misc.go``:
``BeginStmt``, ``SavepointStmt``, ``SetStmt`` ...).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ticdc_emit.sql.lexer import SqlMode
from ticdc_emit.sql.nodes.base import Node, TableName
from ticdc_emit.sql.nodes.expressions import ColumnName
from ticdc_emit.sql.nodes.queries import Query, TableFactor, Tail, With


@dataclass(frozen=True)
class Assigned:
    """``column = value`` of SET."""

    column: ColumnName
    value: Node


@dataclass(frozen=True)
class LiteralRows:
    """Rows of literals, each as it is written: their texts by column, and the SQL mode in which they are read."""

    columns: tuple[list[str], ...]
    mode: SqlMode


InsertedRows: TypeAlias = "tuple[tuple[Node, ...] | LiteralRows, ...]"


@dataclass(frozen=True)
class Insert:
    """INSERT or REPLACE (``word``) of ``rows`` or of a ``query``.

    ``columns``: those that the statement names, ``None`` if it names none. ``options``: LOW_PRIORITY, IGNORE ...
    ``duplicate``: what follows ON DUPLICATE KEY UPDATE.
    """

    word: str
    table: TableName
    columns: tuple[ColumnName, ...] | None = None
    rows: InsertedRows = ()
    query: Query | None = None
    options: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    duplicate: tuple[Assigned, ...] = ()


@dataclass(frozen=True)
class Update:
    """UPDATE of ``tables``, one or a join of several. ``common``: the WITH before it."""

    tables: TableFactor
    assignments: tuple[Assigned, ...]
    where: Node | None
    tail: Tail
    options: tuple[str, ...] = ()
    common: With | None = None


@dataclass(frozen=True)
class Delete:
    """DELETE from ``tables``, one or a join of several. ``targets``: those of them that lose rows, if it names them."""

    tables: TableFactor
    where: Node | None
    tail: Tail
    options: tuple[str, ...] = ()
    targets: tuple[TableName, ...] = ()
    common: With | None = None


# -- transactions and variables ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Begin:
    """BEGIN or START TRANSACTION. ``mode``: PESSIMISTIC, OPTIMISTIC or what follows TRANSACTION, "" for nothing."""

    mode: str = ""


@dataclass(frozen=True)
class Commit:
    """``completion``: AND CHAIN, RELEASE ..., "" for nothing."""

    completion: str = ""


@dataclass(frozen=True)
class Rollback:
    """``savepoint``: the name after TO, "" for the whole transaction."""

    savepoint: str = ""
    completion: str = ""


@dataclass(frozen=True)
class Savepoint:
    """SAVEPOINT, or RELEASE SAVEPOINT (``releases``)."""

    name: str
    releases: bool = False


@dataclass(frozen=True)
class Variable:
    """One variable of SET. ``scope``: GLOBAL or SESSION, "@" for a user variable, "" if the statement gives none.

    ``value``: ``None`` for DEFAULT.
    """

    name: str
    value: Node | None
    scope: str = ""


@dataclass(frozen=True)
class SetStatement:
    """SET of variables; SET NAMES is the variable ``names``, SET TRANSACTION the variable ``transaction``."""

    variables: tuple[Variable, ...]


ChangeStatement: TypeAlias = "Insert | Update | Delete | Begin | Commit | Rollback | Savepoint | SetStatement | Query"
"""What :class:`~ticdc_emit.sql.parser.changes.ChangeParser` reads."""
