"""Parse texts as Go's standard library does, with Go's error texts.

In: the text of an option.  Out: bool, int or milliseconds; a :class:`GoSyntaxError` whose message equals Go's.
Rules: ``strconv.ParseBool``, ``strconv.ParseInt(text, 10, bits)`` and ``time.ParseDuration`` of the Go library.
"""

from __future__ import annotations

import re
from fractions import Fraction

__all__ = ["GoSyntaxError", "parse_bool", "parse_duration_ms", "parse_int", "quote"]

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_NUMBER = re.compile(r"[0-9]*(?:\.[0-9]*)?")
_UNIT = re.compile(r"[^.0-9]+")
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


class GoSyntaxError(ValueError):
    """A text that Go cannot parse; ``str()`` is Go's message."""


def quote(text: str) -> str:
    """Return ``text`` as ``strconv.Quote`` writes it: in double quotes, control characters escaped."""
    parts = ['"']
    for character in text:
        code = ord(character)
        if character in '"\\':
            parts.append("\\" + character)
        elif character in _ESCAPES:
            parts.append(_ESCAPES[character])
        elif code < 0x20 or code == 0x7F:
            parts.append(f"\\x{code:02x}")
        elif character.isprintable():
            parts.append(character)
        else:
            parts.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    parts.append('"')
    return "".join(parts)


def parse_bool(text: str) -> bool:
    """``1 t T TRUE true True`` and their opposites; anything else is a :class:`GoSyntaxError`."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise GoSyntaxError(f"strconv.ParseBool: parsing {quote(text)}: invalid syntax")


def parse_int(text: str, bits: int = 64) -> int:
    """Return a decimal integer with optional sign that fits ``bits``; else a :class:`GoSyntaxError`."""
    if not _INTEGER.match(text):
        raise GoSyntaxError(f"strconv.ParseInt: parsing {quote(text)}: invalid syntax")
    out_of_range = GoSyntaxError(f"strconv.ParseInt: parsing {quote(text)}: value out of range")
    # Python refuses to convert very long digit strings; nothing longer than this fits 64 bits anyway.
    if len(text.lstrip("+-").lstrip("0")) > 20:
        raise out_of_range
    value = int(text)
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise out_of_range
    return value


def parse_duration_ms(text: str) -> int:
    """Return a Go duration such as ``10s`` or ``1m30.5s`` in whole milliseconds; else a :class:`GoSyntaxError`."""
    invalid = GoSyntaxError(f"time: invalid duration {_quote_bytes(text)}")
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    total = Fraction(0)
    while rest:
        number = _NUMBER.match(rest)
        digits = number.group() if number else ""
        if digits in ("", "."):
            raise invalid
        rest = rest[len(digits) :]
        unit = _UNIT.match(rest)
        if unit is None:
            raise GoSyntaxError(f"time: missing unit in duration {_quote_bytes(text)}")
        scale = _NANOSECONDS.get(unit.group())
        if scale is None:
            raise GoSyntaxError(f"time: unknown unit {_quote_bytes(unit.group())} in duration {_quote_bytes(text)}")
        whole, _, fraction = digits.partition(".")
        if len(whole) > 19:
            raise invalid
        total += (Fraction(int(whole or "0")) + Fraction(int(fraction or "0"), 10 ** len(fraction))) * scale
        rest = rest[unit.end() :]
    if total >= 1 << 63:
        raise invalid
    milliseconds = int(total / 10**6)
    return -milliseconds if negative else milliseconds


def _quote_bytes(text: str) -> str:
    """Return ``text`` as package ``time`` quotes it: every byte outside printable ASCII as ``\\xNN``."""
    shown = []
    for byte in text.encode("utf-8", "surrogatepass"):
        character = chr(byte)
        if byte < 0x20 or byte >= 0x80:
            shown.append(f"\\x{byte:02x}")
        else:
            shown.append("\\" + character if character in '"\\' else character)
    return '"' + "".join(shown) + '"'
