"""Constants as TiDB's datums turn into text: a :class:`Literal` in, the stored text of a DEFAULT out.

Rule source: pingcap/tidb ``pkg/types`` (``Datum.ToString``, ``Datum.ConvertTo``). Conversions that TiDB refuses raise
``ValueError``.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

import numpy as np

from ticdc_emit.schema.nodes import Literal
from ticdc_emit.schema.types import MySQLType, integer_range

__all__ = ["NOT_UTF8", "float_text", "go_utf8", "integer_of", "integer_text", "plain_text", "rounded_float"]

_FLOAT32_MAX = float(np.finfo(np.float32).max)


NOT_UTF8 = re.compile("([\udc80-\udcff])")
"""A byte that is not UTF-8, in text that was decoded with ``errors="surrogateescape"``."""


def go_utf8(raw: bytes) -> str:
    """Decode UTF-8 as Go's JSON writer does: every invalid byte becomes U+FFFD (TiDB keeps its schemas as JSON)."""
    return NOT_UTF8.sub("\ufffd", raw.decode(errors="surrogateescape"))


def plain_text(literal: Literal) -> str:
    """Return the literal's own text, independent of any column: ``5``, ``1.50``, ``100`` for 1e2, a string as it is."""
    value = literal.value
    if isinstance(value, bytes):
        return str(int.from_bytes(value, "big"))
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, Decimal):
        return format(value if value else abs(value), "f")
    return str(value)


def float_text(value: float, *, single: bool = False) -> str:
    """Return the shortest digits that round-trip as float64 (or float32), without an exponent."""
    return str(np.format_float_positional(np.float32(value) if single else np.float64(value), unique=True, trim="-"))


def _number(literal: Literal) -> Decimal:
    value = literal.value
    if isinstance(value, bytes):
        return Decimal(int.from_bytes(value, "big"))
    if isinstance(value, float):
        return Decimal(value)
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        raise ValueError(f"{value!r} is no number") from None
    if not number.is_finite():
        raise ValueError(f"{value!r} is no number")
    return number


def integer_of(literal: Literal, kind: MySQLType, *, unsigned: bool) -> int:
    """Round the literal to an integer of the column type; ``ValueError`` outside its range."""
    if isinstance(literal.value, float):
        number = round(literal.value)
    else:
        number = int(_number(literal).to_integral_value(ROUND_HALF_UP))
    low, high = integer_range(kind, unsigned=unsigned)
    if not low <= number <= high:
        raise ValueError(f"{number} is out of range")
    return number


def integer_text(literal: Literal, kind: MySQLType, *, unsigned: bool) -> str:
    return str(integer_of(literal, kind, unsigned=unsigned))


def rounded_float(literal: Literal, kind: MySQLType, flen: int, decimal: int, *, unsigned: bool) -> str:
    """Return the text of a FLOAT or DOUBLE default, rounded to ``decimal`` digits where the type has them."""
    value = float(_number(literal))
    if isinstance(literal.value, Decimal) and not value:
        value = 0.0  # a decimal has no negative zero
    if unsigned and value < 0:
        raise ValueError("negative for an unsigned column")
    if decimal >= 0:
        value = float(np.rint(value * 10**decimal) / 10**decimal)
        if abs(value) > 10.0 ** (flen - decimal) - 10.0**-decimal:
            raise ValueError(f"{value} is out of range")
    single = kind is MySQLType.FLOAT
    if value in (float("inf"), float("-inf")) or (single and abs(value) > _FLOAT32_MAX):
        raise ValueError(f"{value} is out of range")
    return float_text(value, single=single)
