"""The value of a column with options of the user, as Spark SQL.

In: a column, its :class:`~ticdc_emit.traffic.generate.control.Control`, hashes. Out: SQL of the column's native type. A
range or a list of labels has a number of points. The distribution draws one of them, with integers and functions that
give the same result on every machine.

Hashes of the column that must show every update alternate (:class:`~ticdc_emit.traffic.generate.sql.Alternating`): its
points are even at even steps and odd at odd ones, so two neighbours differ, and weights hold for pairs of labels.
"""

from __future__ import annotations

from collections.abc import Sequence

from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import FLOAT_TYPES, MOMENT_TYPES, MySQLType
from ticdc_emit.traffic.generate.control import Control, pattern_parts, unit_of
from ticdc_emit.traffic.generate.natives import moment, native_type, scaled
from ticdc_emit.traffic.generate.sql import Alternating, listed, text_of, units
from ticdc_emit.traffic.generate.texts import Bits

__all__ = ["controlled", "is_null"]

_SHARES = 10_000  # steps of a share of NULLs
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MOST_DIGITS = 9  # of one hash
_NORMAL_PARTS, _NORMAL_BITS = 4, 15


def controlled(column: Column, control: Control, bits: Bits) -> str:
    """Return the value."""
    if control.pattern:
        return f"concat({', '.join(_pattern(control.pattern, bits))})"
    if control.labels:
        label = f"get({listed(control.labels)}, cast({_label(control, bits)} as int))"
        return label if native_type(column) == "string" else f"cast({label} as {native_type(column)})"
    return _in_range(column, control.first, _point(control.count, control.distribution, bits))


def is_null(control: Control, bits: str) -> str:
    """Return whether the value is NULL, from a separate hash."""
    return f"{units(bits, _SHARES)} < {round((control.nulls or 0) * _SHARES)}L"


def _in_range(column: Column, first: int, point: str) -> str:
    if column.type in MOMENT_TYPES:
        return moment(column, f"({first}L + {point} * {unit_of(column)}L)")
    value = f"({first}L + {point})"
    if column.type is MySQLType.DATE:
        return f"date_add(date'1970-01-01', cast({value} as int))"
    if column.type is MySQLType.NEWDECIMAL:
        return scaled(column, value, len(str(unit_of(column))) - 1)
    if column.type in FLOAT_TYPES:
        return f"cast(cast({value} as double) / {unit_of(column)}D as {native_type(column)})"
    return f"cast({value} as {native_type(column)})"


def _label(control: Control, bits: Bits) -> str:
    count = len(control.labels)
    if not control.weights:
        return _point(count, control.distribution, bits)
    total, bounds = sum(control.weights), [0.0]
    for weight in control.weights:
        bounds.append(bounds[-1] + weight / total)
    drawn = f"(pmod({bits(0)!s}, {1 << 30}L) / {1 << 30}D)"
    return _alternated(_among(drawn, bounds, 0, count), count, bits)


def _among(drawn: str, bounds: Sequence[float], low: int, high: int) -> str:
    """Return the index of the span between bounds that has a number from 0 to 1, by binary search."""
    if high - low == 1:
        return f"{low}L"
    middle = (low + high) // 2
    parts = _among(drawn, bounds, low, middle), _among(drawn, bounds, middle, high)
    return f"if({drawn} < {bounds[middle]!r}D, {parts[0]}, {parts[1]})"


def _point(count: int, distribution: str, bits: Bits) -> str:
    """Return a number from 0 to ``count - 1`` (bigint)."""
    if distribution == "uniform" or count == 1:
        return units(bits(0), count)
    drawn = str(bits(0))
    if distribution == "zipf":  # the logarithm is uniform: every order of magnitude is equally likely
        point = f"(cast(floor(pow({count + 1}D, pmod({drawn}, {1 << 30}L) / {1 << 30}D)) as bigint) - 1L)"
    else:  # the sum of some uniform numbers
        parts = [
            f"(shiftright({drawn}, {_NORMAL_BITS * n}) & {(1 << _NORMAL_BITS) - 1}L)" for n in range(_NORMAL_PARTS)
        ]
        share = f"({' + '.join(parts)}) / {_NORMAL_PARTS << _NORMAL_BITS}D"
        point = f"cast(floor({share} * {count}D) as bigint)"
    return _alternated(f"least(greatest({point}, 0L), {count - 1}L)", count, bits)


def _alternated(point: str, count: int, bits: Bits) -> str:
    """Return the point; for alternating hashes, the point of its pair with the step's parity."""
    alternating = bits(0)
    if not isinstance(alternating, Alternating) or count == 1:
        return point
    paired = f"(({point}) & -2L | {alternating.parity})"
    return f"({paired} - if({paired} >= {count}L, 2L, 0L))"


def _pattern(pattern: str, bits: Bits) -> list[str]:
    parts: list[str] = []
    nth = 0
    for is_placeholder, text in pattern_parts(pattern):
        if not is_placeholder:
            parts.append(text_of(text))
            continue
        width = _MOST_DIGITS if text[0] == "#" else 1
        for start in range(0, len(text), width):
            parts.append(_drawn(text[start : start + width], bits(nth)))
            nth += 1
    return parts


def _drawn(placeholder: str, bits: str) -> str:
    width = len(placeholder)
    if placeholder[0] == "#":
        return f"lpad(cast({units(bits, 10**width)} as string), {width}, '0')"
    letters = _LETTERS if placeholder == "?" else _LETTERS.upper()
    return f"substring('{letters}', cast({units(bits, 26)} as int) + 1, 1)"
