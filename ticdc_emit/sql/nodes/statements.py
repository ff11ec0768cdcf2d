"""Whole statements, and how they print. Rule source: pingcap/tidb ``pkg/parser/ast/{ddl,dml,misc}.go``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ticdc_emit.errors import UnprintableDdlError
from ticdc_emit.sql.lexer import SqlMode
from ticdc_emit.sql.nodes.alter import (
    WORK,
    AddColumn,
    AddColumns,
    AddConstraint,
    AlterOptions,
    AlterSpec,
    ChangePartitions,
    DropIndex,
    MinorChange,
    PartitionOptions,
    SplitRegions,
)
from ticdc_emit.sql.nodes.base import CURRENT_USER, WIRE, Node, Style, TableName, User, joined, special_comment, string
from ticdc_emit.sql.nodes.expressions import ColumnName
from ticdc_emit.sql.nodes.forms import Clause, Form
from ticdc_emit.sql.nodes.queries import Query, TableFactor, Tail
from ticdc_emit.sql.nodes.tables import ColumnDef, Constraint, Partitioning, TableOption, is_placement, with_ttl_off
from ticdc_emit.sql.words import quoted

# -- databases ---------------------------------------------------------------------------------------------------------


_TIFLASH_REPLICA = Form("SET TIFLASH REPLICA {value:replicas}{labels}")


@dataclass(frozen=True)
class DatabaseOption:
    """``name``: charset, collate, encryption, placement_policy or tiflash_replica (of ``labels``)."""

    name: str
    value: str = ""
    labels: tuple[str, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        if self.name == "placement_policy":
            return ""
        if self.name == "tiflash_replica":
            return _TIFLASH_REPLICA.restore_node(self, style)
        if self.name == "encryption":
            return f"{style.word('ENCRYPTION')} = {string(self.value)}"
        return f"{style.word('CHARACTER SET' if self.name == 'charset' else 'COLLATE')} = {self.value}"


class _WithDatabaseOptions:
    options: tuple[DatabaseOption, ...]

    @property
    def charset(self) -> str:
        return self._last("charset")

    @property
    def collate(self) -> str:
        return self._last("collate")

    @property
    def placement_only(self) -> bool:
        return not (self.charset or self.collate) and any(o.name == "placement_policy" for o in self.options)

    def _last(self, name: str) -> str:
        return next((option.value for option in reversed(self.options) if option.name == name), "")


@dataclass(frozen=True)
class CreateDatabase(Clause, _WithDatabaseOptions):
    form = Form("CREATE DATABASE|SCHEMA {if_not_exists?IF NOT EXISTS }{name:database}{options:database options}")
    name: str
    options: tuple[DatabaseOption, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterDatabase(Clause, _WithDatabaseOptions):
    """``name`` is None for the current database."""

    form = Form("ALTER DATABASE|SCHEMA{name:current or name}{options:some database options}")
    name: str | None
    options: tuple[DatabaseOption, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        is_placement = all(option.name == "placement_policy" for option in self.options)
        return "" if is_placement else super().restore(style)


@dataclass(frozen=True)
class DropDatabase(Clause):
    form = Form("DROP DATABASE|SCHEMA {if_exists?IF EXISTS }{name:database}")
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class UseDatabase(Clause):
    form = Form("USE {name:database}")
    name: str


# -- tables, views and indexes -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CreateTable(Clause):
    """``temporary``: GLOBAL TEMPORARY, TEMPORARY or "". ``duplicates``: IGNORE or REPLACE before AS ``select``;
    ``offset``: the start of the text after the definitions.
    """

    form = Form(
        "CREATE <{temporary:word} >TABLE {if_not_exists?IF NOT EXISTS }{table}< ({elements})>{options:table options}"
        "< {partitioning}>{splits:each}< {duplicates:word}>< AS {select:node}>< ON COMMIT {on_commit:word} ROWS>"
    )
    table: TableName
    columns: tuple[ColumnDef, ...]
    constraints: tuple[Constraint, ...] = ()
    options: tuple[TableOption, ...] = ()
    partitioning: Partitioning | None = None
    if_not_exists: bool = False
    temporary: str = ""
    on_commit: str = ""
    splits: tuple[SplitRegions, ...] = ()
    duplicates: str = ""
    select: Query | None = None
    offset: int = 0

    @property
    def elements(self) -> tuple[ColumnDef | Constraint, ...]:
        return *self.columns, *self.constraints


@dataclass(frozen=True)
class CreateTables:
    """Several CREATE TABLE in one job, like those of BR and fast table creation; ``texts``: the original texts."""

    tables: tuple[CreateTable, ...]
    texts: tuple[str, ...]

    def restore(self, style: Style = WIRE) -> str:
        return joined(self.tables, style, ";")


@dataclass(frozen=True)
class CreateTableLike(Clause):
    form = Form(
        "CREATE <{temporary:word} >TABLE {if_not_exists?IF NOT EXISTS }{table} LIKE {like}"
        "< ON COMMIT {on_commit:word} ROWS>"
    )
    table: TableName
    like: TableName
    if_not_exists: bool = False
    temporary: str = ""
    on_commit: str = ""


@dataclass(frozen=True)
class CreateView(Clause):
    """``select``: the query's text, ``query``: its tree. ``check_option``: LOCAL, or "" for CASCADED (not printed)."""

    form = Form(
        "CREATE {or_replace?OR REPLACE }ALGORITHM == {algorithm:word} DEFINER == {definer} SQL SECURITY {security:word}"
        " VIEW {table}< ({columns:partitions})> AS {query:node}< WITH {check_option:word} CHECK OPTION>"
    )
    table: TableName
    columns: tuple[str, ...]
    select: str
    query: Query
    or_replace: bool = False
    algorithm: str = "UNDEFINED"
    definer: User = CURRENT_USER
    security: str = "DEFINER"
    check_option: str = ""


@dataclass(frozen=True)
class DropTables(Clause):
    form = Form("DROP <{temporary:word} >{view:table or view} {if_exists?IF EXISTS }{tables}")
    tables: tuple[TableName, ...]
    if_exists: bool = False
    view: bool = False
    temporary: str = ""


@dataclass(frozen=True)
class TruncateTable(Clause):
    form = Form("TRUNCATE TABLE? {table}")
    table: TableName


@dataclass(frozen=True)
class RenameTables(Clause):
    form = Form("RENAME TABLE {pairs:renamings}", lead=1)
    pairs: tuple[tuple[TableName, TableName], ...]


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
    if isinstance(clause, MinorChange):
        return clause if clause.row.is_sent else None
    if isinstance(clause, PartitionOptions):
        return None if clause.only_placement else clause
    if isinstance(clause, AlterOptions):
        options = with_ttl_off(clause.options)
        is_nothing = not options or all(map(is_placement, clause.options))
        return None if is_nothing else AlterOptions(options, clause.convert)
    return clause


def _stands_alone(clause: AlterSpec) -> bool:
    if isinstance(clause, ChangePartitions):
        return clause.kind in ("partition by", "remove")
    return isinstance(clause, MinorChange) and not clause.row.with_comma


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
        return text + index.options.restore(style) + _work(self.algorithm, self.lock, style)


@dataclass(frozen=True)
class DropIndexOn(AlterTable):
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
    return "".join(" " + WORK[word].restore({"how": how}, style) for word, how in given if how not in ("", "DEFAULT"))


Statement: TypeAlias = (
    "CreateTable | CreateTables | CreateTableLike | CreateView | DropTables | TruncateTable | RenameTables"
    " | CreateDatabase | AlterDatabase | DropDatabase | UseDatabase | AlterTable"
)
"""Those that change schemas."""


# -- other statements --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recover:
    """RECOVER TABLE by name (perhaps the ``number``-th of them) or BY JOB ``number``."""

    table: TableName | None
    number: int = 0

    def restore(self, style: Style = WIRE) -> str:
        if self.table is None:
            return style.word("RECOVER TABLE BY JOB ") + str(self.number)
        return style.word("RECOVER TABLE ") + self.table.restore(style) + (f" {self.number}" if self.number else "")


@dataclass(frozen=True)
class Flashback:
    """FLASHBACK of ``what``: TABLE, DATABASE or CLUSTER. To a new name, to a ``timestamp``, or to a ``tso``."""

    what: str
    names: tuple[TableName, ...] = ()
    new_name: str = ""
    timestamp: str | None = None
    tso: int = 0

    def restore(self, style: Style = WIRE) -> str:
        text = style.word(f"FLASHBACK {self.what}") + (f" {joined(self.names, style, ', ')}" if self.names else "")
        if self.timestamp is not None:
            return text + style.word(" TO TIMESTAMP ") + string(self.timestamp.replace("\\", "\\\\"))
        if self.tso:
            return text + style.word(" TO TSO ") + str(self.tso)
        return text + (style.word(" TO ") + quoted(self.new_name) if self.new_name else "")


@dataclass(frozen=True)
class LockTables:
    """LOCK TABLES; without any: UNLOCK TABLES."""

    locks: tuple[tuple[TableName, str], ...]

    def restore(self, style: Style = WIRE) -> str:
        if not self.locks:
            return style.word("UNLOCK TABLES")
        locks = (f"{table.restore(style)} {style.word(kind)}" for table, kind in self.locks)
        return style.word("LOCK TABLES ") + ", ".join(locks)


@dataclass(frozen=True)
class RepairTable(Clause):
    form = Form("ADMIN REPAIR TABLE {table} {definition}")
    table: TableName
    definition: CreateTable


@dataclass(frozen=True)
class OptimizeTables(Clause):
    form = Form("OPTIMIZE {no_binlog?NO_WRITE_TO_BINLOG|LOCAL }TABLE|TABLES {tables}")
    tables: tuple[TableName, ...]
    no_binlog: bool = False


@dataclass(frozen=True)
class Analyze(Clause):
    """ANALYZE TABLE, which ALTER TABLE ... ANALYZE PARTITION is too."""

    form = Form(
        "ANALYZE {no_binlog?NO_WRITE_TO_BINLOG|LOCAL }TABLE {tables:close tables}< PARTITION {partitions}>"
        "{of_indexes? INDEX}< {indexes:partitions}>"
    )
    tables: tuple[TableName, ...]
    partitions: tuple[str, ...] = ()
    of_indexes: bool = False
    indexes: tuple[str, ...] = ()
    no_binlog: bool = False


@dataclass(frozen=True)
class Compact(Clause):
    form = Form("ALTER [IGNORE]TABLE {table} COMPACT< PARTITION {partitions}>{tiflash? TIFLASH REPLICA}")
    table: TableName
    partitions: tuple[str, ...] = ()
    tiflash: bool = False


@dataclass(frozen=True)
class PlacementPolicy(Clause):
    """Its options are placement options, which a changefeed leaves out one by one."""

    form = Form("{verb:CREATE|ALTER|DROP} PLACEMENT POLICY {condition}{name:policy}")
    verb: str
    condition: str
    name: str
    options: int = 0

    def restore(self, style: Style = WIRE) -> str:
        return "" if self.verb == "ALTER" else f"/*T![placement] {super().restore(style)}{' ' * self.options} */"


@dataclass(frozen=True)
class Sequence(Clause):
    """``options`` as they print: ``START WITH 5``."""

    form = Form("{verb:CREATE|ALTER} SEQUENCE {condition}{name:table}")
    verb: str
    condition: str
    name: TableName
    options: tuple[str, ...] = ()
    table_options: tuple[TableOption, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        options = [*map(style.word, self.options), *(option.restore(style) for option in self.table_options)]
        return " ".join([super().restore(style), *options])


@dataclass(frozen=True)
class DropSequences(Clause):
    form = Form("DROP SEQUENCE {if_exists?IF EXISTS }{names:tables}")
    names: tuple[TableName, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class ResourceGroup(Clause):
    """Only the start of its options is known (``None`` for no options)."""

    form = Form("{verb:CREATE|ALTER|DROP} RESOURCE GROUP {condition}{name:resource group}")
    verb: str
    condition: str
    name: str
    options_offset: int | None = None

    def restore(self, style: Style = WIRE) -> str:
        if self.options_offset is not None:
            raise UnprintableDdlError(
                "the options of a resource group are not printed",
                remedy="Leave the statement out of what the changefeed sends",
                position=self.options_offset,
            )
        return special_comment(super().restore(style), "resource_group", style)


OtherStatement: TypeAlias = (
    "DropSequences | Flashback | LockTables | PlacementPolicy | Recover | RepairTable | ResourceGroup | Sequence"
)
"""Those of them that the catalog runs."""


# -- rows, transactions and variables ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assigned:
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
    """INSERT or REPLACE (``word``). ``columns``: ``None`` if it names none. ``duplicate``: ON DUPLICATE KEY UPDATE."""

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
    """UPDATE of ``tables``, one or a join of several."""

    tables: TableFactor
    assignments: tuple[Assigned, ...]
    where: Node | None
    tail: Tail
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Delete:
    tables: TableFactor
    where: Node | None
    tail: Tail
    options: tuple[str, ...] = ()


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
    """One of SET. ``scope``: GLOBAL, SESSION, "@" for a user variable, or "". ``value``: ``None`` for DEFAULT."""

    name: str
    value: Node | None
    scope: str = ""


@dataclass(frozen=True)
class SetStatement:
    """SET of variables; SET NAMES is the variable ``names``, SET TRANSACTION the variable ``transaction``."""

    variables: tuple[Variable, ...]


ChangeStatement: TypeAlias = "Insert | Update | Delete | Begin | Commit | Rollback | Savepoint | SetStatement | Query"
"""What :class:`~ticdc_emit.sql.parser.changes.ChangeParser` reads."""
