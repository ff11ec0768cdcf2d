"""The changes of ALTER TABLE, one node each, and how they print.

Rule source: pingcap/tidb ``pkg/parser/ast/ddl.go`` (``AlterTableSpec.Restore``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.columns import ColumnDef
from ticdc_emit.schema.nodes.expressions import ColumnName
from ticdc_emit.schema.nodes.keys import Constraint
from ticdc_emit.schema.nodes.literals import Constant
from ticdc_emit.schema.nodes.minor_changes import NoSchemaChange
from ticdc_emit.schema.nodes.names import TableName
from ticdc_emit.schema.nodes.partition_changes import AddPartitions, ChangePartitions, ExchangePartition
from ticdc_emit.schema.nodes.style import WIRE, Node, Style, joined, special_comment
from ticdc_emit.schema.nodes.table_options import TableOption
from ticdc_emit.schema.nodes.values import DefaultExpression, Literal

__all__ = [
    "AddColumn",
    "AddColumns",
    "AddConstraint",
    "AlterOptions",
    "AlterSpec",
    "ChangeColumn",
    "DropColumn",
    "DropForeignKey",
    "DropIndex",
    "Position",
    "RemoveTtl",
    "RenameColumn",
    "RenameIndex",
    "RenameTo",
    "SetColumnDefault",
    "SetIndexVisibility",
]


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
