"""The changes of ALTER TABLE to partitions, and how they print.

Rule source: pingcap/tidb ``pkg/parser/ast/ddl.go`` (``AlterTableSpec.Restore``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as Choice

from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.names import TableName
from ticdc_emit.schema.nodes.partitions import PartitionDefinition, Partitioning
from ticdc_emit.schema.nodes.style import WIRE, Style, joined, special_comment

__all__ = ["AddPartitions", "ChangePartitions", "ExchangePartition"]


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
