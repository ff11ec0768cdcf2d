"""What the TiDB grammar yields: one immutable node per DDL statement, made of the clauses in :mod:`.nodes`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ticdc_emit.schema.nodes import AlterSpec, ColumnDef, Constraint, Partitioning, TableName, TableOption

__all__ = [
    "AlterDatabase",
    "AlterTable",
    "CreateDatabase",
    "CreateTable",
    "CreateTableLike",
    "CreateView",
    "DropDatabase",
    "DropTables",
    "RenameTables",
    "Statement",
    "TruncateTable",
    "UseDatabase",
]


@dataclass(frozen=True)
class CreateTable:
    table: TableName
    columns: tuple[ColumnDef, ...]
    constraints: tuple[Constraint, ...] = ()
    options: tuple[TableOption, ...] = ()
    partitioning: Partitioning | None = None
    if_not_exists: bool = False
    temporary: bool = False


@dataclass(frozen=True)
class CreateTableLike:
    table: TableName
    like: TableName
    if_not_exists: bool = False
    temporary: bool = False


@dataclass(frozen=True)
class CreateView:
    """``columns`` are the names in parentheses, if any; ``select`` is the query's text."""

    table: TableName
    columns: tuple[str, ...]
    select: str
    or_replace: bool = False


@dataclass(frozen=True)
class DropTables:
    tables: tuple[TableName, ...]
    if_exists: bool = False
    view: bool = False
    temporary: bool = False


@dataclass(frozen=True)
class TruncateTable:
    table: TableName


@dataclass(frozen=True)
class RenameTables:
    pairs: tuple[tuple[TableName, TableName], ...]


@dataclass(frozen=True)
class CreateDatabase:
    name: str
    charset: str = ""
    collate: str = ""
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterDatabase:
    """``placement_only``: the statement changes the placement policy and no charset."""

    name: str
    charset: str = ""
    collate: str = ""
    placement_only: bool = False


@dataclass(frozen=True)
class DropDatabase:
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class UseDatabase:
    name: str


@dataclass(frozen=True)
class AlterTable:
    """ALTER TABLE, and CREATE / DROP INDEX, which TiDB handles as one."""

    table: TableName
    specs: tuple[AlterSpec, ...] = ()


Statement: TypeAlias = (
    "CreateTable | CreateTableLike | CreateView | DropTables | TruncateTable | RenameTables | CreateDatabase"
    " | AlterDatabase | DropDatabase | UseDatabase | AlterTable"
)
