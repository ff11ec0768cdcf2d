"""Changes of ALTER TABLE that do not affect columns or indexes, and how they print.

Rule source: pingcap/tidb ``pkg/parser/ast/ddl.go`` (``AlterTableSpec.Restore``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.expressions import ColumnName
from ticdc_emit.schema.nodes.keys import Split
from ticdc_emit.schema.nodes.style import WIRE, Node, Style, joined, string
from ticdc_emit.schema.nodes.table_options import TableOption, is_placement

__all__ = [
    "AlterAttributes",
    "AlterCheck",
    "DropCheck",
    "ExtendedStatistics",
    "Forced",
    "IntervalChange",
    "MaskingPolicyChange",
    "MaskingRule",
    "NoSchemaChange",
    "OrderByColumns",
    "PartitionMaintenance",
    "PartitionOptions",
    "SplitRegions",
    "TiFlashReplica",
]


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
