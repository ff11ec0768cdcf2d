"""The user's options for one column, checked: ranges in the column's units, labels, patterns.

:mod:`~ticdc_emit.traffic.generate.column_options` reads a :class:`Control` from a file,
:mod:`~ticdc_emit.traffic.generate.controlled` turns it into SQL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import FLOAT_TYPES, MOMENT_TYPES, MySQLType
from ticdc_emit.traffic.generate.tables import Name

__all__ = ["Control", "Controls", "pattern_parts", "unit_of"]

_FRACTION_DIGITS = 6  # of a DECIMAL, that vary


@dataclass(frozen=True)
class Control:
    """The checked options of one column.

    ``first`` and ``count``: a range in units of the column (:func:`unit_of`). ``labels``: canonical texts, ``weights``
    one for each. ``pattern``: as given. ``nulls``: the share of NULLs, ``None`` for the usual one.
    """

    first: int = 0
    count: int = 0
    labels: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    pattern: str = ""
    distribution: str = "uniform"
    nulls: float | None = None

    @property
    def has_values(self) -> bool:
        """Whether it defines values, not only the share of NULLs."""
        return bool(self.count or self.labels or self.pattern)

    @property
    def varies(self) -> bool:
        """Whether there are at least two values besides NULL."""
        if self.pattern:
            return any(is_placeholder for is_placeholder, _ in pattern_parts(self.pattern))
        return max(self.count, len(self.labels)) > 1


Controls = Mapping[tuple[Name, str], Control]
"""By table and column."""


def pattern_parts(pattern: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a pattern: (whether it is placeholders, text). Consecutive placeholders of one kind are one
    part.
    """
    parts: list[tuple[bool, str]] = []
    escaped = False
    for sign in pattern:
        is_placeholder = sign in "#?^" and not escaped
        if sign == "\\" and not escaped:
            escaped = True
            continue
        escaped = False
        if parts and parts[-1][0] == is_placeholder and (not is_placeholder or parts[-1][1][0] == sign):
            parts[-1] = is_placeholder, parts[-1][1] + sign
        else:
            parts.append((is_placeholder, sign))
    yield from parts


def unit_of(column: Column) -> int:
    """Return how many points of a range make 1 (DECIMAL, FLOAT, DOUBLE), or how many microseconds make a point."""
    if column.type in MOMENT_TYPES:
        return int(10 ** (6 - max(column.decimal, 0)))
    if column.type is MySQLType.NEWDECIMAL:
        return int(10 ** min(max(column.decimal, 0), _FRACTION_DIGITS))
    if column.type in FLOAT_TYPES:
        return int(10 ** (min(column.decimal, 2) if column.decimal >= 0 else 2))
    return 1
