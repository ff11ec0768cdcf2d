"""Text of JSON documents and of VECTOR's numbers as TiDB prints them, for values that the encoders are tested with.

It uses only Python's own printing and nothing of the encoders, so an error there is not repeated here. Rule sources:
pingcap/tidb ``pkg/types/json_binary.go`` (``marshalTo``: keys in the order of their bytes, ``", "`` and ``": "``
between items; ``marshalFloat64To``), ``pkg/types/vector.go`` (``String``).
"""

from __future__ import annotations

import json
import struct
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

__all__ = ["document_text", "single_text"]

_FIXED_FROM, _FIXED_BELOW = 1e-15, 1e15
_SINGLE_DIGITS = 9  # enough digits for every float32
_GO_TIE, _GO_TIE_TEXT = 2.0**-12, "0.00024414063"  # here Go does not choose the even one of two shortest texts


def document_text(value: Any) -> str:
    """Return a document: ``None``, a bool, an integer of 64 bits, a finite float, text, a list, a dict of these."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)}: {document_text(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(document_text, value)) + "]"
    if isinstance(value, float):
        return _double(value)
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _double(value: float) -> str:
    if value and not _FIXED_FROM <= abs(value) < _FIXED_BELOW:
        mantissa, _, exponent = f"{Decimal(repr(value)).normalize():E}".partition("E")
        return f"{mantissa}e{int(exponent)}"
    fixed = f"{Decimal(repr(value)):f}"
    return fixed if "." in fixed else f"{fixed}.0"


def single_text(value: float) -> str:
    """Return a finite float32 in the fewest digits that identify it, without an exponent."""
    if abs(value) == _GO_TIE:
        return _GO_TIE_TEXT if value > 0 else f"-{_GO_TIE_TEXT}"
    exact = Decimal(value)
    for digits in range(1, _SINGLE_DIGITS + 1):
        last = Decimal(1).scaleb(exact.adjusted() + 1 - digits)
        # below a power of two, the next float32 is nearer than above it
        around = (exact.quantize(last, rounding) for rounding in (ROUND_FLOOR, ROUND_CEILING))
        if texts := [text for text in around if _single(float(text)) == value]:
            nearest = min(texts, key=lambda text: (abs(text - exact), text.as_tuple().digits[-1] % 2))
            return f"{nearest.normalize():f}"
    raise AssertionError(value)


def _single(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:  # rounded up beyond the greatest float32
        return float("inf")
