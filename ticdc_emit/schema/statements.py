"""DDL statements, one immutable node each, made of the clauses in :mod:`~ticdc_emit.schema.nodes`; and how they print.

Rule source: pingcap/tidb ``pkg/parser/ast/ddl.go`` (the ``Restore`` methods of the statements).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ticdc_emit.schema.database_statements import (
    AlterDatabase,
    CreateDatabase,
    DatabaseOption,
    DropDatabase,
    UseDatabase,
)
from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.alter import AddColumn, AddColumns, AddConstraint, AlterOptions, AlterSpec, DropIndex
from ticdc_emit.schema.nodes.columns import ColumnDef
from ticdc_emit.schema.nodes.keys import Constraint, Split
from ticdc_emit.schema.nodes.minor_changes import AlterAttributes, NoSchemaChange, PartitionOptions
from ticdc_emit.schema.nodes.names import CURRENT_USER, TableName, User
from ticdc_emit.schema.nodes.partition_changes import ChangePartitions
from ticdc_emit.schema.nodes.partitions import Partitioning
from ticdc_emit.schema.nodes.queries import Query
from ticdc_emit.schema.nodes.style import WIRE, Style, if_exists, if_not_exists, joined, special_comment
from ticdc_emit.schema.nodes.table_options import TableOption, is_placement, with_ttl_off

__all__ = [
    "AlterDatabase",
    "AlterTable",
    "CreateDatabase",
    "CreateIndex",
    "CreateTable",
    "CreateTableLike",
    "CreateTables",
    "CreateView",
    "DatabaseOption",
    "DropDatabase",
    "DropIndexOn",
    "DropTables",
    "RenameTables",
    "Statement",
    "TruncateTable",
    "UseDatabase",
]

_NO_COMMA_BEFORE = ("IMPORT TABLESPACE", "DISCARD TABLESPACE")


@dataclass(frozen=True)
class CreateTable:
    """``temporary``: GLOBAL TEMPORARY (which has an ``on_commit``) or TEMPORARY, "" for neither.

    ``duplicates``: IGNORE or REPLACE before AS ``select``; ``offset``: the start of the text after the definitions.
    """

    table: TableName
    columns: tuple[ColumnDef, ...]
    constraints: tuple[Constraint, ...] = ()
    options: tuple[TableOption, ...] = ()
    partitioning: Partitioning | None = None
    if_not_exists: bool = False
    temporary: str = ""
    on_commit: str = ""
    splits: tuple[tuple[str | None, Split], ...] = ()
    duplicates: str = ""
    select: Query | None = None
    offset: int = 0

    def restore(self, style: Style = WIRE) -> str:
        head = f"CREATE {self.temporary} TABLE " if self.temporary else "CREATE TABLE "
        text = style.word(head + if_not_exists(self.if_not_exists)) + self.table.restore(style)
        if self.columns or self.constraints:
            text += f" ({joined((*self.columns, *self.constraints), style)})"
        options = with_ttl_off(self.options) if style.sent else self.options
        text += "".join(" " + option.restore(style) for option in options)
        if self.partitioning is not None:
            text += " " + self.partitioning.restore(style)
        for index, split in self.splits:
            what = "" if index is None else f"INDEX {quoted(index)} " if index else "PRIMARY KEY "
            text += f" {style.word('SPLIT')} {what}{split.restore(style)}"
        if self.select is not None:
            text += style.word(f" {self.duplicates} AS " if self.duplicates else " AS ") + self.select.restore(style)
        return text + (style.word(f" ON COMMIT {self.on_commit} ROWS") if self.on_commit else "")


@dataclass(frozen=True)
class CreateTables:
    """Several CREATE TABLE in one job, like those of BR and fast table creation; ``texts``: the original texts."""

    tables: tuple[CreateTable, ...]
    texts: tuple[str, ...]

    def restore(self, style: Style = WIRE) -> str:
        return joined(self.tables, style, ";")


@dataclass(frozen=True)
class CreateTableLike:
    table: TableName
    like: TableName
    if_not_exists: bool = False
    temporary: str = ""
    on_commit: str = ""

    def restore(self, style: Style = WIRE) -> str:
        head = f"CREATE {self.temporary} TABLE " if self.temporary else "CREATE TABLE "
        names = self.table.restore(style) + style.word(" LIKE ") + self.like.restore(style)
        end = style.word(f" ON COMMIT {self.on_commit} ROWS") if self.on_commit else ""
        return style.word(head + if_not_exists(self.if_not_exists)) + names + end


@dataclass(frozen=True)
class CreateView:
    """``columns`` are the names in parentheses, if any; ``select`` is the query's text, ``query`` its syntax tree.

    ``check_option``: LOCAL or CASCADED; TiDB does not print the second, which is the default.
    """

    table: TableName
    columns: tuple[str, ...]
    select: str
    query: Query
    or_replace: bool = False
    algorithm: str = "UNDEFINED"
    definer: User = CURRENT_USER
    security: str = "DEFINER"
    check_option: str = "CASCADED"
    select_offset: int = 0

    def restore(self, style: Style = WIRE) -> str:
        replace = "OR REPLACE " if self.or_replace else ""
        head = f"{style.word(f'CREATE {replace}ALGORITHM')} = {style.word(self.algorithm)} {style.word('DEFINER')} = "
        head += self.definer.restore(style) + style.word(f" SQL SECURITY {self.security} VIEW ")
        columns = f" ({','.join(map(quoted, self.columns))})" if self.columns else ""
        text = head + self.table.restore(style) + columns + style.word(" AS ") + self.query.restore(style)
        return text + ("" if self.check_option == "CASCADED" else style.word(f" WITH {self.check_option} CHECK OPTION"))


@dataclass(frozen=True)
class DropTables:
    tables: tuple[TableName, ...]
    if_exists: bool = False
    view: bool = False
    temporary: str = ""

    def restore(self, style: Style = WIRE) -> str:
        kind = "VIEW" if self.view else f"{self.temporary} TABLE".strip()
        return style.word(f"DROP {kind} {if_exists(self.if_exists)}") + joined(self.tables, style, ", ")


@dataclass(frozen=True)
class TruncateTable:
    table: TableName

    def restore(self, style: Style = WIRE) -> str:
        return style.word("TRUNCATE TABLE ") + self.table.restore(style)


@dataclass(frozen=True)
class RenameTables:
    pairs: tuple[tuple[TableName, TableName], ...]

    def restore(self, style: Style = WIRE) -> str:
        pairs = (f"{old.restore(style)}{style.word(' TO ')}{new.restore(style)}" for old, new in self.pairs)
        return style.word("RENAME TABLE ") + ", ".join(pairs)


@dataclass(frozen=True)
class AlterTable:
    """``clauses`` as written; ``specs`` one for each column and key that is added."""

    table: TableName
    clauses: tuple[AlterSpec, ...] = ()

    @property
    def specs(self) -> tuple[AlterSpec, ...]:
        specs: list[AlterSpec] = []
        for clause in self.clauses:
            if isinstance(clause, AddColumns):
                specs += (AddColumn(column, None, clause.if_not_exists) for column in clause.columns)
                specs += map(AddConstraint, clause.constraints)
            else:
                specs.append(clause)
        return tuple(specs)

    def restore(self, style: Style = WIRE) -> str:
        if all(isinstance(clause, PartitionOptions) and clause.only_placement for clause in self.clauses):
            return ""
        text = style.word("ALTER TABLE ") + self.table.restore(style)
        for number, clause in enumerate(sent for clause in self.clauses if (sent := _sent(clause)) is not None):
            text += (" " if not number or _stands_alone(clause) else ", ") + clause.restore(style)
        return text


def _sent(clause: AlterSpec) -> AlterSpec | None:
    """Return the clause as a changefeed sends it: without attributes and placement, TTL off."""
    if isinstance(clause, AlterAttributes):
        return None if clause.words == "ATTRIBUTES" else clause
    if isinstance(clause, PartitionOptions):
        return None if clause.only_placement else clause
    if isinstance(clause, AlterOptions):
        options = with_ttl_off(clause.options)
        is_nothing = not options or all(map(is_placement, clause.options))
        return None if is_nothing else AlterOptions(options, clause.convert)
    return clause


def _stands_alone(clause: AlterSpec) -> bool:
    """Return whether TiDB puts no comma before the clause."""
    if isinstance(clause, ChangePartitions):
        return clause.kind in ("partition by", "remove")
    return isinstance(clause, NoSchemaChange) and clause.words in _NO_COMMA_BEFORE


@dataclass(frozen=True)
class CreateIndex(AlterTable):
    """CREATE INDEX, which TiDB handles as ALTER TABLE. ``kind`` is "" or UNIQUE, FULLTEXT, VECTOR ..."""

    kind: str = ""
    algorithm: str = ""
    lock: str = ""

    @property
    def constraint(self) -> Constraint:
        (clause,) = self.clauses
        assert isinstance(clause, AddConstraint)
        return clause.constraint

    def restore(self, style: Style = WIRE) -> str:
        index = self.constraint
        absent = special_comment("IF NOT EXISTS ") if index.if_not_exists else ""
        head = style.word(f"CREATE {self.kind} INDEX " if self.kind else "CREATE INDEX ") + absent + quoted(index.name)
        text = f"{head}{style.word(' ON ')}{self.table.restore(style)} ({joined(index.keys, style, ', ')})"
        options = index.options.restore(style)
        return text + (f" {options}" if options else "") + _work(self.algorithm, self.lock, style)


@dataclass(frozen=True)
class DropIndexOn(AlterTable):
    """DROP INDEX, which TiDB handles as ALTER TABLE."""

    algorithm: str = ""
    lock: str = ""

    def restore(self, style: Style = WIRE) -> str:
        (clause,) = self.clauses
        assert isinstance(clause, DropIndex)
        present = special_comment("IF EXISTS ") if clause.if_exists else ""
        text = style.word("DROP INDEX ") + present + quoted(clause.name) + style.word(" ON ")
        return text + self.table.restore(style) + _work(self.algorithm, self.lock, style)


def _work(algorithm: str, lock: str, style: Style) -> str:
    given = (("ALGORITHM", algorithm), ("LOCK", lock))
    return "".join(
        f" {style.word(word)} = {style.word(value)}" for word, value in given if value not in ("", "DEFAULT")
    )


Statement: TypeAlias = (
    "CreateTable | CreateTables | CreateTableLike | CreateView | DropTables | TruncateTable | RenameTables"
    " | CreateDatabase | AlterDatabase | DropDatabase | UseDatabase | AlterTable"
)
