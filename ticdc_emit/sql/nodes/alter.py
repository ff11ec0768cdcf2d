"""The changes of ALTER TABLE to partitions, and how they print.

Rule source: pingcap/tidb ``pkg/parser/ast/ddl.go`` (``AlterTableSpec.Restore``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as Choice
from typing import TypeAlias

from ticdc_emit.sql.nodes.base import WIRE, Node, Style, TableName, joined, special_comment, string
from ticdc_emit.sql.nodes.expressions import ColumnName, Constant, DefaultExpression, Literal
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

__all__ = [
    "AddColumn",
    "AddColumns",
    "AddConstraint",
    "AddPartitions",
    "AlterAttributes",
    "AlterCheck",
    "AlterOptions",
    "AlterSpec",
    "ChangeColumn",
    "ChangePartitions",
    "DropCheck",
    "DropColumn",
    "DropForeignKey",
    "DropIndex",
    "ExchangePartition",
    "ExtendedStatistics",
    "Forced",
    "IntervalChange",
    "MaskingPolicyChange",
    "MaskingRule",
    "NoSchemaChange",
    "OrderByColumns",
    "PartitionMaintenance",
    "PartitionOptions",
    "Position",
    "RemoveTtl",
    "RenameColumn",
    "RenameIndex",
    "RenameTo",
    "SetColumnDefault",
    "SetIndexVisibility",
    "SplitRegions",
    "TiFlashReplica",
]


@dataclass(frozen=True)
class AddPartitions:
    """ADD PARTITION: definitions, or ``count`` more of HASH or KEY."""

    definitions: tuple[PartitionDefinition, ...] = ()
    count: int = 0
    if_not_exists: bool = False
    no_binlog: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(definition.name for definition in self.definitions)

    def restore(self, style: Style = WIRE) -> str:
        text = style.word("ADD PARTITION")
        if self.if_not_exists:
            text += special_comment(" IF NOT EXISTS")
        if self.no_binlog:
            text += style.word(" NO_WRITE_TO_BINLOG")
        if self.definitions:
            return f"{text} ({joined(self.definitions, style, ', ')})"
        return text + (style.word(" PARTITIONS ") + str(self.count) if self.count else "")


@dataclass(frozen=True)
class ChangePartitions:
    """DROP, TRUNCATE, REORGANIZE, COALESCE, REMOVE PARTITIONING, PARTITION BY; ``names`` empty: all of them."""

    kind: Choice["drop", "truncate", "reorganize", "coalesce", "remove", "partition by"]
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
        if self.by is not None:
            return self.by.restore(style)
        if self.kind == "remove":
            return style.word("REMOVE PARTITIONING")
        text = style.word(f"{self.kind} PARTITION") + (style.word(" NO_WRITE_TO_BINLOG") if self.no_binlog else "")
        if self.kind == "coalesce":
            return f"{text} {self.count}"
        names = ",".join(map(quoted, self.names))
        if self.kind == "drop":
            return f"{text} {special_comment('IF EXISTS ') if self.if_exists else ''}{names}"
        if self.kind == "truncate":
            return f"{text} {names or style.word('ALL')}"
        if not self.names:
            return text
        return f"{text} {names}{style.word(' INTO ')}({joined(self.definitions, style, ', ')})"


@dataclass(frozen=True)
class ExchangePartition:
    partition: str
    table: TableName
    validate: bool = True

    def restore(self, style: Style = WIRE) -> str:
        head = style.word("EXCHANGE PARTITION ") + quoted(self.partition)
        without = "" if self.validate else style.word(" WITHOUT VALIDATION")
        return head + style.word(" WITH TABLE ") + self.table.restore(style) + without


@dataclass(frozen=True)
class NoSchemaChange:
    """``action`` is the change's ActionType, "" if TiDB ignores it; ``words`` is the printed form."""

    words: str = ""
    action: str = ""

    def restore(self, style: Style = WIRE) -> str:
        return style.word(self.words)


@dataclass(frozen=True)
class Forced(NoSchemaChange):
    """FORCE alone."""

    def restore(self, style: Style = WIRE) -> str:
        return style.word("FORCE") + " /* AlterTableForce is not supported */ "


@dataclass(frozen=True)
class TiFlashReplica(NoSchemaChange):
    count: int = 0
    labels: tuple[str, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        labels = style.word(" LOCATION LABELS ") + ", ".join(map(string, self.labels)) if self.labels else ""
        return f"{style.word('SET TIFLASH REPLICA ')}{self.count}{labels}"


@dataclass(frozen=True)
class AlterAttributes(NoSchemaChange):
    """ATTRIBUTES or STATS_OPTIONS (``words``), of the table or a partition; ``value`` None for DEFAULT."""

    value: str | None = None

    def restore(self, style: Style = WIRE) -> str:
        shown = style.word("DEFAULT") if self.value is None else string(self.value)
        return f"{style.word(self.words)}={shown}"


@dataclass(frozen=True)
class AlterCheck(NoSchemaChange):
    name: str = ""
    enforced: bool = True

    def restore(self, style: Style = WIRE) -> str:
        return (
            style.word("ALTER CHECK ")
            + quoted(self.name)
            + style.word("" if self.enforced else " NOT")
            + (style.word(" ENFORCED"))
        )


@dataclass(frozen=True)
class DropCheck(NoSchemaChange):
    name: str = ""

    def restore(self, style: Style = WIRE) -> str:
        return style.word("DROP CHECK ") + quoted(self.name)


@dataclass(frozen=True)
class OrderByColumns(NoSchemaChange):
    columns: tuple[tuple[ColumnName, bool], ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        items = (column.restore(style) + style.word(" DESC" if desc else "") for column, desc in self.columns)
        return style.word("ORDER BY ") + ",".join(items)


@dataclass(frozen=True)
class PartitionMaintenance(NoSchemaChange):
    """CHECK, OPTIMIZE, REPAIR, REBUILD, IMPORT, DISCARD (``words``) of partitions; no ``names``: ALL."""

    names: tuple[str, ...] = ()
    no_binlog: bool = False

    def restore(self, style: Style = WIRE) -> str:
        binlog = "NO_WRITE_TO_BINLOG " if self.no_binlog else ""
        names = ",".join(map(quoted, self.names)) or style.word("ALL")
        tablespace = " TABLESPACE" if self.words in ("IMPORT", "DISCARD") else ""
        return style.word(f"{self.words} PARTITION {binlog}") + names + style.word(tablespace)


@dataclass(frozen=True)
class PartitionOptions(NoSchemaChange):
    """Options of one partition."""

    partition: str = ""
    options: tuple[TableOption, ...] = ()

    @property
    def only_placement(self) -> bool:
        return all(map(is_placement, self.options))

    def restore(self, style: Style = WIRE) -> str:
        return f"/*T![placement] PARTITION {quoted(self.partition)} {joined(self.options, style, ' ')} */"


@dataclass(frozen=True)
class ExtendedStatistics(NoSchemaChange):
    """ADD or DROP STATS_EXTENDED; ``words`` holds the verb and IF [NOT] EXISTS."""

    name: str = ""
    kind: str = ""
    columns: tuple[ColumnName, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        columns = f" {style.word(self.kind)}({joined(self.columns, style, ', ')})" if self.kind else ""
        return style.word(self.words) + quoted(self.name) + columns


@dataclass(frozen=True)
class MaskingRule:
    """What a masking policy shows of a column. ``restricted``: statements that may not read it masked; ``state``: ""
    where it is not written.
    """

    column: str
    expression: Node
    restricted: tuple[str, ...] = ()
    state: str = ""

    def restore(self, style: Style = WIRE) -> str:
        text = f"({quoted(self.column)}){style.word(' AS ')}{self.expression.restore(style)}"
        if self.restricted:
            text += " " + restricted_text(self.restricted, style)
        return text + (style.word(f" {self.state}") if self.state else "")


def restricted_text(operations: tuple[str, ...], style: Style) -> str:
    return style.word("RESTRICT ON ") + (f"({', '.join(operations)})" if operations else style.word("NONE"))


@dataclass(frozen=True)
class MaskingPolicyChange(NoSchemaChange):
    """ADD, ENABLE, DISABLE, DROP or MODIFY (``words``) MASKING POLICY; MODIFY sets an ``expression`` or what it
    restricts.
    """

    name: str = ""
    rule: MaskingRule | None = None
    expression: Node | None = None
    restricted: tuple[str, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        text = style.word(f"{self.words} MASKING POLICY ") + quoted(self.name)
        if self.rule is not None:
            return text + style.word(" ON ") + self.rule.restore(style)
        if self.words != "MODIFY":
            return text
        if self.expression is not None:
            return text + style.word(" SET EXPRESSION = ") + self.expression.restore(style)
        return text + style.word(" SET ") + restricted_text(self.restricted, style)


@dataclass(frozen=True)
class IntervalChange(NoSchemaChange):
    """FIRST, LAST, SPLIT MAXVALUE or MERGE FIRST (``words``) PARTITION LESS THAN a bound.

    ``start`` and ``end``: where the clause is in the statement.
    """

    bound: Node | None = None
    no_binlog: bool = False
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    def restore(self, style: Style = WIRE) -> str:
        assert self.bound is not None
        binlog = style.word(" NO_WRITE_TO_BINLOG") if self.no_binlog else ""
        return f"{style.word(self.words)} PARTITION LESS THAN ({self.bound.restore(style)}){binlog}"


@dataclass(frozen=True)
class SplitRegions(NoSchemaChange):
    """SPLIT of the table (``index`` is None), of the primary key ("") or of an index."""

    index: str | None = None
    split: Split | None = None

    def restore(self, style: Style = WIRE) -> str:
        assert self.split is not None
        what = "" if self.index is None else f"INDEX {quoted(self.index)} " if self.index else "PRIMARY KEY "
        return f"{style.word('SPLIT')} {what}{self.split.restore(style)}"


def _if_exists(given: bool) -> str:
    return special_comment("IF EXISTS ") if given else ""


def _if_not_exists(given: bool) -> str:
    return special_comment("IF NOT EXISTS ") if given else ""


@dataclass(frozen=True)
class Position:
    """FIRST (``after`` is "") or AFTER a column."""

    after: str = ""
    qualifier: tuple[str, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        if not self.after:
            return style.word(" FIRST")
        return style.word(" AFTER ") + quoted(*self.qualifier, self.after)


def _position(position: Position | None, style: Style) -> str:
    return position.restore(style) if position is not None else ""


@dataclass(frozen=True)
class AddColumn:
    column: ColumnDef
    position: Position | None = None
    if_not_exists: bool = False

    def restore(self, style: Style = WIRE) -> str:
        column = self.column.restore(style) + _position(self.position, style)
        return style.word("ADD COLUMN ") + _if_not_exists(self.if_not_exists) + column


@dataclass(frozen=True)
class AddColumns:
    """ADD COLUMN with a list in parentheses, which may hold keys."""

    columns: tuple[ColumnDef, ...]
    constraints: tuple[Constraint, ...] = ()
    if_not_exists: bool = False

    def restore(self, style: Style = WIRE) -> str:
        added = joined((*self.columns, *self.constraints), style, ", ")
        return f"{style.word('ADD COLUMN ')}{_if_not_exists(self.if_not_exists)}({added})"


@dataclass(frozen=True)
class DropColumn:
    name: str
    if_exists: bool = False
    qualifier: tuple[str, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        return style.word("DROP COLUMN ") + _if_exists(self.if_exists) + quoted(*self.qualifier, self.name)


@dataclass(frozen=True)
class ChangeColumn:
    """MODIFY and CHANGE COLUMN; ``old_name`` is the name before. ``old``: as CHANGE writes it, None in MODIFY."""

    old_name: str
    column: ColumnDef
    position: Position | None = None
    if_exists: bool = False
    old: ColumnName | None = None

    def restore(self, style: Style = WIRE) -> str:
        verb = style.word("MODIFY COLUMN " if self.old is None else "CHANGE COLUMN ")
        old = self.old.restore(style) + " " if self.old is not None else ""
        column = self.column.restore(style) + _position(self.position, style)
        return verb + _if_exists(self.if_exists) + old + column


@dataclass(frozen=True)
class RenameColumn:
    old_name: str
    new_name: str

    def restore(self, style: Style = WIRE) -> str:
        return style.word("RENAME COLUMN ") + quoted(self.old_name) + style.word(" TO ") + quoted(self.new_name)


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
class AddConstraint:
    constraint: Constraint

    def restore(self, style: Style = WIRE) -> str:
        return style.word("ADD ") + self.constraint.restore(style)


@dataclass(frozen=True)
class DropIndex:
    """DROP INDEX, or DROP PRIMARY KEY (``name`` is ``PRIMARY`` and it ``is_primary``)."""

    name: str
    if_exists: bool = False
    is_primary: bool = False

    def restore(self, style: Style = WIRE) -> str:
        if self.is_primary:
            return style.word("DROP PRIMARY KEY")
        return style.word("DROP INDEX ") + _if_exists(self.if_exists) + quoted(self.name)


@dataclass(frozen=True)
class DropForeignKey:
    name: str

    def restore(self, style: Style = WIRE) -> str:
        return style.word("DROP FOREIGN KEY ") + quoted(self.name)


@dataclass(frozen=True)
class RenameIndex:
    old_name: str
    new_name: str

    def restore(self, style: Style = WIRE) -> str:
        return style.word("RENAME INDEX ") + quoted(self.old_name) + style.word(" TO ") + quoted(self.new_name)


@dataclass(frozen=True)
class SetIndexVisibility:
    name: str
    visible: bool

    def restore(self, style: Style = WIRE) -> str:
        return style.word("ALTER INDEX ") + quoted(self.name) + style.word(" VISIBLE" if self.visible else " INVISIBLE")


@dataclass(frozen=True)
class AlterOptions:
    """Table options; ``convert`` is CONVERT TO CHARACTER SET, which rewrites the columns too."""

    options: tuple[TableOption, ...]
    convert: bool = False

    def restore(self, style: Style = WIRE) -> str:
        first = self.options[0]
        names = [option.name for option in self.options]
        if names == ["charset", "collate"] or (first.name == "charset" and first.value is None):
            charset = style.word("DEFAULT" if first.value is None else str(first.value))
            text = style.word("CONVERT TO " if self.convert else "") + style.word("CHARACTER SET ") + charset
            if names == ["charset", "collate"]:
                text += style.word(f" COLLATE {self.options[1].value}")
            return text
        return joined(self.options, style, " ")


@dataclass(frozen=True)
class RenameTo:
    table: TableName

    def restore(self, style: Style = WIRE) -> str:
        return style.word("RENAME AS ") + self.table.restore(style)


@dataclass(frozen=True)
class RemoveTtl:
    def restore(self, style: Style = WIRE) -> str:
        return special_comment(style.word("REMOVE TTL"), "ttl")


AlterSpec: TypeAlias = (
    "AddColumn | AddColumns | DropColumn | ChangeColumn | RenameColumn | SetColumnDefault | AddConstraint | DropIndex"
    " | DropForeignKey | RenameIndex | SetIndexVisibility | AlterOptions | RenameTo | AddPartitions"
    " | ChangePartitions | ExchangePartition | RemoveTtl | NoSchemaChange"
)
