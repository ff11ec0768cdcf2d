"""The changes of ALTER TABLE, and how they print. Rule source: pingcap/tidb ``pkg/parser/ast/ddl.go``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as Choice
from typing import NamedTuple, TypeAlias

from ticdc_emit.sql.nodes.base import WIRE, Node, Style, TableName, joined, special_comment
from ticdc_emit.sql.nodes.expressions import ColumnName, Constant, DefaultExpression, Literal
from ticdc_emit.sql.nodes.forms import Clause, Form
from ticdc_emit.sql.nodes.tables import (
    ColumnDef,
    Constraint,
    PartitionDefinition,
    Partitioning,
    Split,
    TableOption,
    is_placement,
)
from ticdc_emit.sql.words import quoted


@dataclass(frozen=True)
class Position:
    """FIRST (``after`` is "") or AFTER a column."""

    after: str = ""
    qualifier: tuple[str, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        if not self.after:
            return style.word(" FIRST")
        return style.word(" AFTER ") + quoted(*self.qualifier, self.after)


@dataclass(frozen=True)
class AddColumn(Clause):
    form = Form("ADD COLUMN {if_not_exists:if not exists}{column:node}<{position}>")
    column: ColumnDef
    position: Position | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class AddColumns(Clause):
    form = Form("ADD COLUMN {if_not_exists:if not exists}({elements:list})")
    columns: tuple[ColumnDef, ...]
    constraints: tuple[Constraint, ...] = ()
    if_not_exists: bool = False

    @property
    def elements(self) -> tuple[ColumnDef | Constraint, ...]:
        return *self.columns, *self.constraints


@dataclass(frozen=True)
class DropColumn(Clause):
    form = Form("DROP COLUMN {if_exists:if exists}{parts:qualified}")
    name: str
    if_exists: bool = False
    qualifier: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        return *self.qualifier, self.name


@dataclass(frozen=True)
class ChangeColumn(Clause):
    """MODIFY and CHANGE COLUMN; ``old_name`` is the name before. ``old``: as CHANGE writes it, None in MODIFY."""

    form = Form("{verb:word} COLUMN {if_exists:if exists}<{old} >{column:node}<{position}>")
    old_name: str
    column: ColumnDef
    position: Position | None = None
    if_exists: bool = False
    old: ColumnName | None = None

    @property
    def verb(self) -> str:
        return "MODIFY" if self.old is None else "CHANGE"


@dataclass(frozen=True)
class RenameColumn(Clause):
    form = Form("RENAME COLUMN {old_name:column} TO {new_name:column}")
    old_name: str
    new_name: str


@dataclass(frozen=True)
class SetColumnDefault:
    """ALTER COLUMN SET DEFAULT, or DROP DEFAULT (``default`` is None)."""

    column: str
    default: Literal | DefaultExpression | None
    node: Node | None = None
    qualifier: tuple[str, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        head = style.word("ALTER COLUMN ") + quoted(*self.qualifier, self.column)
        if self.node is None:
            return head + style.word(" DROP DEFAULT")
        value = self.node.restore(style)
        return head + style.word(" SET DEFAULT ") + (value if isinstance(self.node, Constant) else f"({value})")


@dataclass(frozen=True)
class AddConstraint(Clause):
    form = Form("ADD {constraint:node}")
    constraint: Constraint


@dataclass(frozen=True)
class DropIndex(Clause):
    """DROP INDEX, or DROP PRIMARY KEY (``name`` is ``PRIMARY`` and it ``is_primary``)."""

    form = Form("DROP INDEX|KEY {if_exists:if exists}{name:index}")
    name: str
    if_exists: bool = False
    is_primary: bool = False

    def restore(self, style: Style = WIRE) -> str:
        return style.word("DROP PRIMARY KEY") if self.is_primary else super().restore(style)


@dataclass(frozen=True)
class DropForeignKey(Clause):
    form = Form("DROP FOREIGN KEY {name:foreign key}")
    name: str


@dataclass(frozen=True)
class RenameIndex(Clause):
    form = Form("RENAME INDEX|KEY {old_name:index} TO {new_name:index}")
    old_name: str
    new_name: str


@dataclass(frozen=True)
class SetIndexVisibility(Clause):
    form = Form("ALTER INDEX {name:index} {visible}")
    name: str
    visible: bool


@dataclass(frozen=True)
class AlterOptions:
    """Table options; ``convert`` is CONVERT TO CHARACTER SET, which rewrites the columns too."""

    options: tuple[TableOption, ...]
    convert: bool = False

    def restore(self, style: Style = WIRE) -> str:
        first = self.options[0]
        names = [option.name for option in self.options]
        if self.convert or names == ["charset", "collate"] or (first.name == "charset" and first.value is None):
            charset = style.word("DEFAULT" if first.value is None else str(first.value))
            text = style.word("CONVERT TO " if self.convert else "") + style.word("CHARACTER SET ") + charset
            if names == ["charset", "collate"]:
                text += style.word(f" COLLATE {self.options[1].value}")
            return text
        return joined(self.options, style, " ")


@dataclass(frozen=True)
class RenameTo(Clause):
    form = Form("RENAME AS {table}")
    table: TableName


@dataclass(frozen=True)
class RemoveTtl:
    def restore(self, style: Style = WIRE) -> str:
        return special_comment(style.word("REMOVE TTL"), "ttl")


# -- partitions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AddPartitions(Clause):
    form = Form(
        "ADD PARTITION{if_not_exists: if not exists}{no_binlog? NO_WRITE_TO_BINLOG|LOCAL}"
        "< PARTITIONS {count:partition count}>< ({definitions})>"
    )
    definitions: tuple[PartitionDefinition, ...] = ()
    count: int = 0
    if_not_exists: bool = False
    no_binlog: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(definition.name for definition in self.definitions)


PartitionsChange: TypeAlias = Choice["drop", "truncate", "reorganize", "coalesce", "remove", "partition by"]


@dataclass(frozen=True)
class ChangePartitions:
    """DROP, TRUNCATE, REORGANIZE, COALESCE, REMOVE PARTITIONING, PARTITION BY; ``names`` empty: all of them."""

    kind: PartitionsChange
    names: tuple[str, ...] = ()
    definitions: tuple[PartitionDefinition, ...] = ()
    count: int = 0
    if_exists: bool = False
    by: Partitioning | None = None
    no_binlog: bool = False

    @property
    def into(self) -> tuple[str, ...]:
        return tuple(definition.name for definition in self.definitions)

    def restore(self, style: Style = WIRE) -> str:
        return PARTITION_FORMS[self.kind].restore_node(self, style)


PARTITION_FORMS: dict[PartitionsChange, Form] = {
    "drop": Form("DROP PARTITION {if_exists:if exists}{names:partitions}"),
    "truncate": Form("TRUNCATE PARTITION {names:partitions or all}"),
    "coalesce": Form("COALESCE PARTITION {no_binlog?NO_WRITE_TO_BINLOG|LOCAL }{count:partition count}"),
    "remove": Form("REMOVE PARTITIONING"),
    "partition by": Form("{by}"),
    "reorganize": Form(
        "REORGANIZE PARTITION{no_binlog? NO_WRITE_TO_BINLOG|LOCAL}< {names:partitions} INTO ({definitions})>"
    ),
}
"""The forms of :class:`ChangePartitions`."""


@dataclass(frozen=True)
class ExchangePartition(Clause):
    form = Form("EXCHANGE PARTITION {partition} WITH TABLE {table}{validate:validation}")
    partition: str
    table: TableName
    validate: bool = True


# -- what leaves the schema as it is -----------------------------------------------------------------------------------


class NoSchemaChange(Clause):
    @property
    def action(self) -> str:
        """The ActionType of TiDB's job, "" if TiDB runs none."""
        return ""


class MinorForm(NamedTuple):
    """``is_sent``: whether a changefeed sends the clause. ``with_comma``: whether TiDB prints a comma before it."""

    form: Form
    action: str = ""
    is_sent: bool = True
    with_comma: bool = True


@dataclass(frozen=True)
class MinorChange(NoSchemaChange):
    """A change that is its ``row`` of :data:`MINOR_CHANGES` and the values of the row's form."""

    row: MinorForm
    values: tuple[tuple[str, object], ...] = ()

    @property
    def action(self) -> str:
        return self.row.action

    def restore(self, style: Style = WIRE) -> str:
        return self.row.form.restore(dict(self.values), style)


def _minor(text: str, action: str = "", *, lead: int | None = None, sent: bool = True, comma: bool = True) -> MinorForm:
    return MinorForm(Form(text, lead), action, sent, comma)


WORK = {
    "ALGORITHM": Form("ALGORITHM = {how:DEFAULT|COPY|INPLACE|INSTANT}"),
    "LOCK": Form("LOCK = {how:DEFAULT|NONE|SHARED|EXCLUSIVE}"),
}
"""How TiDB should work on an index, after CREATE INDEX and DROP INDEX too."""
MINOR_CHANGES = (
    *map(MinorForm, WORK.values()),
    _minor("WITH VALIDATION"),
    _minor("WITHOUT VALIDATION"),
    _minor("ENABLE KEYS"),
    _minor("DISABLE KEYS"),
    _minor("READ ONLY"),
    _minor("READ WRITE"),
    _minor("SECONDARY_LOAD"),
    _minor("SECONDARY_UNLOAD"),
    _minor("IMPORT TABLESPACE", comma=False),
    _minor("DISCARD TABLESPACE", comma=False),
    _minor("ORDER BY {columns:order}", lead=1),
    _minor("CACHE", "alter table cache"),
    _minor("NOCACHE", "alter table nocache"),
    _minor("ATTRIBUTES={value:text or default}", "alter table attributes", sent=False),
    _minor("STATS_OPTIONS={value:text or default}"),
    _minor("SET [HYPO ]TIFLASH REPLICA {count:replicas}{labels}", "set tiflash replica"),
    _minor("ALTER CHECK|CONSTRAINT {name:constraint}{not_enforced? NOT} ENFORCED"),
    _minor("DROP CHECK|CONSTRAINT {name:constraint}"),
    _minor("OPTIMIZE PARTITION {no_binlog?NO_WRITE_TO_BINLOG|LOCAL }{names:partitions or all}"),
    _minor("REPAIR PARTITION {no_binlog?NO_WRITE_TO_BINLOG|LOCAL }{names:partitions or all}"),
    _minor("REBUILD PARTITION {no_binlog?NO_WRITE_TO_BINLOG|LOCAL }{names:partitions or all}"),
    _minor("CHECK PARTITION {names:partitions or all}"),
    _minor("IMPORT PARTITION {names:partitions or all} TABLESPACE"),
    _minor("DISCARD PARTITION {names:partitions or all} TABLESPACE"),
)
"""Changes of one fixed form that leave the schema as it is, in any place of ALTER TABLE."""
PARTITION_ATTRIBUTES = _minor("ATTRIBUTES={value:text or default}", "alter table partition attributes", sent=False)
FORCE = _minor("FORCE /* AlterTableForce is not supported */ ")


@dataclass(frozen=True)
class PartitionOptions(NoSchemaChange):
    partition: str
    options: tuple[TableOption, ...]

    @property
    def action(self) -> str:
        return "alter table partition placement"

    @property
    def only_placement(self) -> bool:
        return all(map(is_placement, self.options))

    def restore(self, style: Style = WIRE) -> str:
        return f"/*T![placement] PARTITION {quoted(self.partition)} {joined(self.options, style, ' ')} */"


@dataclass(frozen=True)
class IntervalChange(NoSchemaChange):
    """FIRST, LAST, SPLIT MAXVALUE or MERGE FIRST PARTITION LESS THAN a bound, with its place in the statement."""

    form = Form("{words:word} PARTITION LESS THAN ({bound}){no_binlog? NO_WRITE_TO_BINLOG}")
    words: str
    bound: Node
    no_binlog: bool = False
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True)
class SplitRegions(NoSchemaChange):
    """SPLIT of the table (``index`` is None), of the primary key ("") or of an index."""

    index: str | None
    split: Split

    def restore(self, style: Style = WIRE) -> str:
        what = "" if self.index is None else f"INDEX {quoted(self.index)} " if self.index else "PRIMARY KEY "
        return f"{style.word('SPLIT')} {what}{self.split.restore(style)}"


AlterSpec: TypeAlias = (
    "AddColumn | AddColumns | DropColumn | ChangeColumn | RenameColumn | SetColumnDefault | AddConstraint | DropIndex"
    " | DropForeignKey | RenameIndex | SetIndexVisibility | AlterOptions | RenameTo | AddPartitions"
    " | ChangePartitions | ExchangePartition | RemoveTtl | NoSchemaChange"
)
