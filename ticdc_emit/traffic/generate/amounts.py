"""Numbers as Spark SQL: in the range for a word of the column's name, else in a middle range or at an end of the type.

In: a column and a function that gives hashes. Out: SQL of an integer, a decimal or a float that fits the column.
"""

from __future__ import annotations

from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import MySQLType, integer_range
from ticdc_emit.traffic.generate.natives import native_type, scaled
from ticdc_emit.traffic.generate.sql import Alternating, between, units
from ticdc_emit.traffic.generate.texts import Bits, tokens

__all__ = ["RANGES", "binary_float", "decimal", "integer"]

_FRACTION = 6  # digits of a decimal that vary
_FLAGS = frozenset({"is", "has", "enabled", "active", "deleted", "newsletter", "bool", "flag", "verified"})
_AMOUNTS = frozenset({"amount", "balance", "total", "price", "cost", "salary", "revenue", "income", "value", "limit"})
RANGES = {
    "age": (18, 90), "quantity": (1, 20), "qty": (1, 20), "count": (0, 1000), "units": (1, 100), "rating": (1, 5),
    "stars": (1, 5), "score": (0, 100), "percent": (0, 100), "priority": (1, 5), "level": (1, 10), "line": (1, 99),
    "port": (1024, 65535), "month": (1, 12), "hour": (0, 23), "year": (1990, 2030), "k": (1, 100_000), "fee": (0, 20),
    "rate": (0, 1), "ratio": (0, 1), "discount": (0, 50), "weight": (0, 40), "latitude": (-90, 89), "lat": (-90, 89),
    "longitude": (-180, 179), "lon": (-180, 179), "lng": (-180, 179), "id": (1, 100_000), "price": (1, 500),
}  # fmt: skip


def integer(column: Column, bits: Bits) -> str:
    """Return SQL of an integer: a flag, a likely number for the column's name, or now and then an end of its range."""
    low, high = integer_range(column.type, unsigned=column.unsigned)
    known = tokens(column.name)
    if column.type is MySQLType.TINY and (column.flen == 1 or set(known) & _FLAGS):
        return units(bits(0), 2)
    if named := _named_range(column, low, high):
        return between(bits(0), *named)
    common = between(bits(0), max(low, -1_000_000), min(high, 1_000_000))
    top = min(high, (1 << 63) - 1)  # the greatest value of a Spark long
    bottom = "(-9223372036854775807L - 1L)" if low == -(1 << 63) else f"{low}L"
    if isinstance(alternating := bits(0), Alternating):  # the bottom is even, and the top is odd
        end = f"if({alternating.parity} = 0L, {bottom}, {top}L)"
        return f"if({units(bits(1), 25)} = 0L, {end}, {common})"
    return f"(case {units(bits(1), 50)} when 0L then {bottom} when 1L then {top}L else {common} end)"


def _named_range(column: Column, low: int, high: int) -> tuple[int, int] | None:
    """Return the range for a word of the column's name, limited to ``low`` to ``high``; ``None`` if there is none.

    The last known word decides, as in ``birth_year``.
    """
    least, most = next((RANGES[token] for token in reversed(tokens(column.name)) if token in RANGES), (1, 0))
    least, most = max(least, low), min(most, high)
    return (least, most) if least <= most else None


def decimal(column: Column, bits: Bits) -> str:
    """Return SQL of a DECIMAL: an amount if the column's name is one, else a number of either sign."""
    scale = max(column.decimal, 0)
    varied = min(scale, _FRACTION)
    greatest = 10 ** (column.flen - scale) - 1
    least = 0 if column.unsigned else -greatest
    is_amount = bool(set(tokens(column.name)) & _AMOUNTS)
    common = 10_000 if is_amount else 1_000_000
    usual = max(least, 0 if is_amount else -common), min(greatest, common)
    low, high = _named_range(column, least, greatest) or usual
    unscaled = between(bits(0), low * 10**varied, max(high * 10**varied, 10**varied - 1))
    return scaled(column, unscaled, varied)


def binary_float(column: Column, bits: Bits) -> str:
    """Return hundredths with so few digits that the shortest text of the float has the same digits."""
    most, places = 9_999 if column.type is MySQLType.FLOAT else 999_999, 2
    if column.decimal >= 0:
        most, places = min(most, 10 ** max(column.flen - column.decimal, 0) - 1), min(column.decimal, 2)
    least = 0 if column.unsigned else -most
    low, high = _named_range(column, least, most) or (least, most)
    hundredths = between(bits(0), low * 10**places, max(high * 10**places, 10**places - 1))
    return f"cast(cast({hundredths} as double) / {10**places}D as {native_type(column)})"
