"""Values that encode a row's number, so that a unique key differs in every row.

In: a column and SQL of the number (bigint, from 0 on). Out: SQL of the column's native type, and how many numbers it
can encode.
"""

from __future__ import annotations

from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import (
    INTEGER_TYPES,
    MOMENT_TYPES,
    STRING_TYPES,
    MySQLType,
    integer_range,
)
from ticdc_emit.traffic.generate.natives import moment, native_type, padded, scaled
from ticdc_emit.traffic.generate.sql import hashed, salt_of
from ticdc_emit.traffic.generate.texts import unique_text

__all__ = ["capacity", "from_number"]

_FIRST_SECOND = 1_704_067_200  # 2024
_TEXT_WIDTH, _BINARY_WIDTH = 12, 8


def capacity(column: Column, prefix: int | None = None) -> int:
    """Return how many numbers a column can encode; 0 if it cannot."""
    kind = column.type
    if kind in INTEGER_TYPES:
        return integer_range(kind, unsigned=column.unsigned)[1] + 1
    if kind is MySQLType.NEWDECIMAL:
        return int(10 ** min(column.flen - column.decimal, 18))
    if kind in STRING_TYPES:
        width = _text_width(column, prefix)
        return int(256**width if column.is_binary else 36**width)
    if kind is MySQLType.BIT:
        return 1 << max(column.flen, 1)
    if kind in MOMENT_TYPES:
        return 400_000_000  # seconds until 2036
    if kind is MySQLType.DATE:
        return 2_000_000
    if kind is MySQLType.DOUBLE:
        return 1 << 53
    return 0


def _text_width(column: Column, prefix: int | None) -> int:
    """Return the number of characters (bytes in a binary column) that encode a number."""
    limits = [limit for limit in (column.flen, prefix) if limit is not None and limit > 0]
    return min([_BINARY_WIDTH if column.is_binary else _TEXT_WIDTH, *limits])


def from_number(
    column: Column, seed_of: tuple[object, ...], number: str, width: int | None, *, digit: bool = False
) -> str:
    """Return the value that encodes a number (bigint, from 0 on): different for different numbers, equal for equal
    ones.

    ``width``: the number of characters or bytes of a text that encode it, if not all. ``digit``: the number is small.
    """
    kind = column.type
    if kind in INTEGER_TYPES:
        return f"cast({number} + 1L as {native_type(column)})"
    if kind is MySQLType.NEWDECIMAL:
        return scaled(column, f"({number} + 1L)", 0)
    if kind is MySQLType.BIT:
        return number
    if kind is MySQLType.DOUBLE:
        return f"cast({number} + 1L as double)"
    if kind in MOMENT_TYPES:
        return moment(column, f"(({number} + {_FIRST_SECOND}L) * 1000000L)")
    if kind is MySQLType.DATE:
        return f"date_add(date'1970-01-01', cast({number} as int))"
    text_width = _text_width(column, width)
    if column.is_binary:
        return padded(column, f"unhex(lpad(hex({number}), {2 * text_width}, '0'))", text_width)

    def person(nth: int) -> str:
        return hashed(salt_of(*seed_of) + nth, number)

    return unique_text(column, number, text_width, person, whole=width is None and not digit)
