"""Commit times of changes and of the schema changes between them.

In: the number of a change, or its commit time as SQL. Out: TSO, and the number of schema changes before it, computed
without a list that would grow with the traffic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from ticdc_emit.tso import LOGICAL_BITS

__all__ = ["Clock", "gap_of"]

_GAP_BITS = 20  # of a gap's fraction


def gap_of(rate: float, ddl_rate: float) -> int:
    """Return the gap between two schema changes, from changes and schema changes per second; 0 without any."""
    return round(rate / ddl_rate * (1 << _GAP_BITS)) if ddl_rate else 0


@dataclass(frozen=True)
class Clock:
    """Change number n commits at ``start + n * tick``, both TSO.

    Schema change number n is halfway between change ``(n + 1) * gap >> 20`` and the next one; ``gap`` 0 means no schema
    changes.
    """

    start: int
    tick: int
    gap: int = 0

    @property
    def micros(self) -> int:
        return (self.start >> LOGICAL_BITS) * 1000

    def stamp(self, change: str) -> str:
        """Return SQL of a change's commit time."""
        return f"{self.start}L + {change} * {self.tick}L"

    def schema_changes(self, rows: int) -> Iterator[int]:
        """Yield the commit times of schema changes before the last of ``rows`` changes."""
        for number in count(1) if self.gap else ():
            place = number * self.gap >> _GAP_BITS
            if place >= rows - 1:
                return
            yield self.start + place * self.tick + self.tick // 2

    def schema_changes_before(self, stamp: str) -> str:
        """Return SQL of the number of schema changes before a change that commits at ``stamp``."""
        change = f"(({stamp} - {self.start}L) div {self.tick}L)"
        return f"((shiftleft({change}, {_GAP_BITS}) - 1L) div {self.gap}L)"
