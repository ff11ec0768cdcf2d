"""The values of quoted strings and names, hex and bit literals in SQL.

Rule source: pingcap/tidb ``pkg/parser/lexer.go`` (``scanString``, ``handleEscape``).
"""

from __future__ import annotations

import re

__all__ = ["decode_bits", "decode_hex", "decode_quoted"]

_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def decode_quoted(raw: str, *, escapes: bool = True) -> str:
    """Return the value of a quoted string or identifier, ``raw`` with its quotes (``'``, ``"`` or a backtick)."""
    quote, body = raw[0], raw[1:-1]
    if quote != "`" and escapes and "\\" in body:
        # Split at escapes first: a quote that a backslash escapes must not pair with the next one.
        parts = _ESCAPE.split(body)
        for index, part in enumerate(parts):
            parts[index] = _ESCAPES.get(part, part) if index % 2 else part.replace(quote * 2, quote)
        return "".join(parts)
    return body.replace(quote * 2, quote)


def decode_hex(digits: str) -> bytes:
    """Return the bytes of ``x'..'`` or ``0x..``; an odd number of digits gets a leading zero."""
    return bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits)


def decode_bits(digits: str) -> bytes:
    """Return the bytes of ``b'..'`` or ``0b..``, as few as hold all digits."""
    return int(digits or "0", 2).to_bytes((len(digits) + 7) // 8, "big")
