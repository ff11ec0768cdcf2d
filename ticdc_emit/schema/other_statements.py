"""DDL and related statements of TiDB's parser that do not change a table's definition, and how they print.

Their canonical text is available. The catalog also runs those that are jobs. Rule source: pingcap/tidb
``pkg/parser/ast/ddl.go``, ``pkg/parser/ast/stats.go``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ticdc_emit.errors import UnprintableDdlError
from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.minor_changes import MaskingRule
from ticdc_emit.schema.nodes.names import TableName
from ticdc_emit.schema.nodes.style import WIRE, Style, if_exists, joined, special_comment, string
from ticdc_emit.schema.nodes.table_options import TableOption
from ticdc_emit.schema.statements import CreateTable

__all__ = [
    "Analyze",
    "Compact",
    "CreateMaskingPolicy",
    "DropSequences",
    "Flashback",
    "LockTables",
    "OtherStatement",
    "PlacementPolicy",
    "Recover",
    "RepairTable",
    "ResourceGroup",
    "Sequence",
    "TableWork",
]


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
class RepairTable:
    table: TableName
    definition: CreateTable

    def restore(self, style: Style = WIRE) -> str:
        return f"{style.word('ADMIN REPAIR TABLE ')}{self.table.restore(style)} {self.definition.restore(style)}"


@dataclass(frozen=True)
class TableWork:
    """OPTIMIZE TABLE, or any other ``words`` before a list of tables."""

    words: str
    tables: tuple[TableName, ...]

    def restore(self, style: Style = WIRE) -> str:
        return style.word(self.words) + " " + joined(self.tables, style, ", ")


@dataclass(frozen=True)
class Analyze:
    """ANALYZE TABLE, which ALTER TABLE ... ANALYZE PARTITION is too."""

    tables: tuple[TableName, ...]
    partitions: tuple[str, ...] = ()
    indexes: tuple[str, ...] | None = None
    no_binlog: bool = False

    def restore(self, style: Style = WIRE) -> str:
        binlog = "NO_WRITE_TO_BINLOG " if self.no_binlog else ""
        text = style.word(f"ANALYZE {binlog}TABLE ") + joined(self.tables, style)
        if self.partitions:
            text += style.word(" PARTITION ") + ",".join(map(quoted, self.partitions))
        if self.indexes is not None:
            text += style.word(" INDEX") + (" " + ",".join(map(quoted, self.indexes)) if self.indexes else "")
        return text


@dataclass(frozen=True)
class Compact:
    """ALTER TABLE ... COMPACT."""

    table: TableName
    partitions: tuple[str, ...] = ()
    tiflash: bool = False

    def restore(self, style: Style = WIRE) -> str:
        text = style.word("ALTER TABLE ") + self.table.restore(style) + style.word(" COMPACT")
        if self.partitions:
            text += style.word(" PARTITION ") + ",".join(map(quoted, self.partitions))
        return text + (style.word(" TIFLASH REPLICA") if self.tiflash else "")


@dataclass(frozen=True)
class PlacementPolicy:
    """CREATE, ALTER or DROP PLACEMENT POLICY; its options are placement options, which a changefeed leaves out one by
    one.
    """

    verb: str
    name: str
    options: int = 0
    condition: str = ""

    def restore(self, style: Style = WIRE) -> str:
        if self.verb == "ALTER":
            return ""
        words = style.word(f"{self.verb} PLACEMENT POLICY {self.condition}")
        return f"/*T![placement] {words}{quoted(self.name)}{' ' * self.options} */"


@dataclass(frozen=True)
class CreateMaskingPolicy:
    name: str
    table: TableName
    rule: MaskingRule
    or_replace: bool = False
    if_not_exists: bool = False

    def restore(self, style: Style = WIRE) -> str:
        replace = "OR REPLACE " if self.or_replace else ""
        absent = "IF NOT EXISTS " if self.if_not_exists else ""
        text = style.word(f"CREATE {replace}MASKING POLICY {absent}") + quoted(self.name) + style.word(" ON ")
        return f"{text}{self.table.restore(style)} {self.rule.restore(style)}"


@dataclass(frozen=True)
class Sequence:
    """CREATE or ALTER SEQUENCE. ``options`` as they print: ``START WITH 5``."""

    verb: str
    name: TableName
    condition: str = ""
    options: tuple[str, ...] = ()
    table_options: tuple[TableOption, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        text = style.word(f"{self.verb} SEQUENCE {self.condition}") + self.name.restore(style)
        options = [*map(style.word, self.options), *(option.restore(style) for option in self.table_options)]
        return " ".join([text, *options])


@dataclass(frozen=True)
class DropSequences:
    names: tuple[TableName, ...]
    if_exists: bool = False

    def restore(self, style: Style = WIRE) -> str:
        return style.word("DROP SEQUENCE " + if_exists(self.if_exists)) + joined(self.names, style, ", ")


@dataclass(frozen=True)
class ResourceGroup:
    """CREATE, ALTER or DROP RESOURCE GROUP; only the start of its options is known (``None`` for no options)."""

    verb: str
    name: str
    condition: str = ""
    options_offset: int | None = None

    def restore(self, style: Style = WIRE) -> str:
        if self.options_offset is not None:
            raise UnprintableDdlError(
                "the options of a resource group are not printed",
                remedy="Leave the statement out of what the changefeed sends",
                position=self.options_offset,
            )
        text = style.word(f"{self.verb} RESOURCE GROUP {self.condition}") + quoted(self.name)
        return special_comment(text, "resource_group", style)


OtherStatement: TypeAlias = (
    "CreateMaskingPolicy | DropSequences | Flashback | LockTables | PlacementPolicy | Recover | RepairTable"
    " | ResourceGroup | Sequence"
)
"""Those that the catalog runs."""
