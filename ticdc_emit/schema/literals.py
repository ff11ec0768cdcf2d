"""Convert constants to text like TiDB's datums. In: a :class:`Literal`. Out: the stored text of a DEFAULT.

Rule source: pingcap/tidb ``pkg/types`` (``Datum.ToString``, ``Datum.ConvertTo``). Conversions that TiDB refuses raise
``ValueError``.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

import numpy as np

from ticdc_emit.schema.nodes import Literal
from ticdc_emit.schema.types import MySQLType, integer_range

__all__ = [
    "NOT_UTF8",
    "bits_number",
    "float_text",
    "go_utf8",
    "integer_of",
    "integer_text",
    "number_of",
    "plain_text",
    "rounded_float",
]

_FLOAT32_MAX = float(np.finfo(np.float32).max)
_MAX_INTEGER_BYTES, _MAX_INTEGER_DIGITS = 8, 20
_MAX_SHOWN = 60
_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)


NOT_UTF8 = re.compile("([\udc80-\udcff])")
"""A byte that is not UTF-8, in text that was decoded with ``errors="surrogateescape"``."""


def go_utf8(raw: bytes) -> str:
    """Decode UTF-8 as Go's JSON writer does: every invalid byte becomes U+FFFD (TiDB keeps its schemas as JSON)."""
    return NOT_UTF8.sub("\ufffd", raw.decode(errors="surrogateescape"))


def plain_text(literal: Literal) -> str:
    """Return the literal's own text, independent of any column: ``5``, ``1.50``, ``100`` for 1e2, a string as it is."""
    value = literal.value
    if isinstance(value, bytes):
        return str(bits_number(value))
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, Decimal):
        return format(value if value else abs(value), "f")
    return str(value)


def float_text(value: float, *, single: bool = False) -> str:
    """Return the shortest digits that round-trip as float64 (or float32), without an exponent."""
    return str(np.format_float_positional(np.float32(value) if single else np.float64(value), unique=True, trim="-"))


def bits_number(raw: bytes) -> int:
    """Return the number of a hex or bit literal; ``ValueError`` above 64 bits, as in TiDB."""
    significant = raw.lstrip(b"\0")
    if len(significant) > _MAX_INTEGER_BYTES:
        raise ValueError("a hex or bit literal of more than 64 bits is out of range")
    return int.from_bytes(significant, "big")


def number_of(text: str) -> Decimal:
    """Return the number in a text; ``ValueError`` for any other text.

    The exponent may be huge: compare the number's ``adjusted()`` before an ``int()`` writes out its digits.
    """
    try:
        number = Decimal(text.strip()) if _NUMBER.fullmatch(text) else None
    except InvalidOperation:  # an exponent beyond 18 digits
        raise ValueError(f"{_shown(text)} is out of range") from None
    if number is None:
        raise ValueError(f"{_shown(text)} is not a number")
    return number


def _shown(text: str) -> str:
    return repr(text) if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]!r}..."


def _number(literal: Literal) -> Decimal:
    value = literal.value
    if isinstance(value, bytes):
        return Decimal(bits_number(value))
    return Decimal(value) if isinstance(value, float) else number_of(str(value))


def integer_of(literal: Literal, kind: MySQLType, *, unsigned: bool) -> int:
    """Round the literal to an integer of the column type; ``ValueError`` outside its range."""
    if isinstance(literal.value, float):
        number = round(literal.value)
    else:
        exact = _number(literal)
        if exact.adjusted() >= _MAX_INTEGER_DIGITS and exact:
            raise ValueError(f"{_shown(str(literal.value))} is out of range")
        number = int(exact.to_integral_value(ROUND_HALF_UP))
    low, high = integer_range(kind, unsigned=unsigned)
    if not low <= number <= high:
        raise ValueError(f"{number} is out of range")
    return number


def integer_text(literal: Literal, kind: MySQLType, *, unsigned: bool) -> str:
    """Return the text of an integer default; ``ValueError`` if it is out of the type's range."""
    return str(integer_of(literal, kind, unsigned=unsigned))


def rounded_float(literal: Literal, kind: MySQLType, flen: int, decimal: int, *, unsigned: bool) -> str:
    """Return the text of a FLOAT or DOUBLE default, rounded to ``decimal`` digits if the type has them."""
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
