"""Constants in a syntax tree, and how they print. Values in, TiDB's canonical text out.

Rule source: pingcap/tidb ``pkg/types/parser_driver/value_expr.go`` (``ValueExpr.Restore``, the driver that production
links), ``pkg/types/binary_literal.go``, ``pkg/types/mydecimal.go`` (``FromString``).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal as Choice

from ticdc_emit.schema.nodes.style import WIRE, Style, string

__all__ = ["Constant", "decimal_digits", "exponent_text"]

_WORD_DIGITS, _MAX_WORDS = 9, 9
_LARGEST_DECIMAL = "9" * 65


@dataclass(frozen=True)
class Constant:
    """``value``: digits of an integer or decimal, float, text, bytes of a hex or bit literal; None for the words.

    ``charset`` is that of a string's introducer; "" if none is printed. It is never printed for bytes.
    """

    kind: Choice["null", "true", "false", "integer", "decimal", "float", "string", "hex", "bits"]
    value: str | float | bytes | None = None
    charset: str = ""

    def restore(self, style: Style = WIRE) -> str:
        value = self.value
        if isinstance(value, str):
            if self.kind != "string":
                return value
            introducer = f"_{style.word(self.charset)}" if self.charset else ""
            return introducer + string(value.replace("\\", "\\\\"))
        if isinstance(value, float):
            return exponent_text(value)
        if isinstance(value, bytes):
            return f"x'{value.hex()}'" if self.kind == "hex" else _bits_text(value)
        return style.word(self.kind)


def _bits_text(value: bytes) -> str:
    if not value:
        return "b''"
    return f"b'{int.from_bytes(value, 'big'):b}'"


def exponent_text(value: float) -> str:
    """Return a float as Go's ``strconv`` does with format ``e``: the fewest digits, two or more in the exponent."""
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0") or "0"
    power = exponent + len(digits) - 1 if value else 0
    mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def decimal_digits(text: str) -> str:
    """Return a decimal literal as TiDB keeps it: no leading zeros, and as many digits as its nine words hold."""
    whole, _, fraction = text.partition(".")
    whole = whole.lstrip("0")
    words = -(-len(whole) // _WORD_DIGITS)
    if words > _MAX_WORDS:
        return _LARGEST_DECIMAL
    if words + -(-len(fraction) // _WORD_DIGITS) > _MAX_WORDS:
        fraction = fraction[: (_MAX_WORDS - words) * _WORD_DIGITS]
    return (whole or "0") + ("." + fraction if fraction else "")
