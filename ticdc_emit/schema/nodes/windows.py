"""The frame of a window, and how it prints. Rule source: pingcap/tidb ``pkg/parser/ast/dml.go`` (``FrameClause``)."""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.schema.nodes.style import WIRE, Node, Style

__all__ = ["Frame", "FrameBound"]


@dataclass(frozen=True)
class FrameBound:
    """``word`` alone for UNBOUNDED and CURRENT ROW; else the direction of ``amount`` (of a time ``unit``)."""

    word: str
    amount: Node | None = None
    unit: str = ""

    def restore(self, style: Style = WIRE) -> str:
        if self.amount is None:
            return style.word(self.word)
        if self.unit:
            amount = f"{style.word('INTERVAL')} {self.amount.restore(style)} {style.word(self.unit)}"
        else:
            amount = self.amount.restore(style)
        return f"{amount} {style.word(self.word)}"


@dataclass(frozen=True)
class Frame:
    """ROWS or RANGE BETWEEN two bounds."""

    unit: str
    start: FrameBound
    end: FrameBound

    def restore(self, style: Style = WIRE) -> str:
        bounds = self.start.restore(style) + style.word(" AND ") + self.end.restore(style)
        return style.word(f"{self.unit} BETWEEN ") + bounds
