"""Optimizer hints, and how they print.

Rule source: pingcap/tidb ``pkg/parser/ast/misc.go`` (``TableOptimizerHint``).
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.names import TableName
from ticdc_emit.schema.nodes.style import WIRE, Style, joined

__all__ = ["Hint", "HintTable"]


@dataclass(frozen=True)
class HintTable:
    table: TableName
    block: str = ""
    partitions: tuple[str, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        text = self.table.restore(style) + ("@" + quoted(self.block) if self.block else "")
        if self.partitions:
            text += style.word(" PARTITION") + f"({', '.join(map(quoted, self.partitions))})"
        return text


@dataclass(frozen=True)
class Hint:
    """``block`` is the query block's name, after an @ unless the hint defines the name (``bare_block``)."""

    name: str
    block: str = ""
    tables: tuple[HintTable, ...] = ()
    indexes: tuple[str, ...] = ()
    number: int | None = None
    has_indexes: bool = False
    bare_block: bool = False
    without_arguments: bool = False

    def restore(self, style: Style = WIRE) -> str:
        block = ("" if self.bare_block else "@") + quoted(self.block) if self.block else ""
        if block and not (self.without_arguments or self.bare_block):
            block += " "
        arguments = joined(self.tables, style, ", ")
        if self.has_indexes:
            arguments += " " + ", ".join(map(quoted, self.indexes))
        if self.number is not None:
            arguments = str(self.number)
        return f"{style.word(self.name)}({block}{arguments})"
