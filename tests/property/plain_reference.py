"""The same rules once more, row by row and in the simplest Python: what the columnar code is compared with.

Nothing here uses the library's renderers. Sources: the writer table of the reference's JSON writers, Go's
``FormatFloat``, TiDB's text forms (semantics 2.0.1 to 2.0.4, 2.6).
"""

from __future__ import annotations

import datetime as dt
import json
import struct
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def escape(text: str, writer: str) -> str:
    """Escape for one of the writers ``easyjson``, ``encoding/json``, ``json-iterator``."""
    out = ""
    for char in text:
        if char in _SHORT:
            out += _SHORT[char]
        elif writer == "encoding/json" and char in "\b\f":
            out += {"\b": "\\b", "\f": "\\f"}[char]
        elif ord(char) < 0x20 or (writer != "json-iterator" and char in "<>&\u2028\u2029"):
            out += f"\\u{ord(char):04x}"
        else:
            out += char
    return out


def fixed_float(value: float, single: bool) -> str:
    """Return the shortest decimal that reads back, never with an exponent."""
    if not single:
        text = repr(value)
    elif abs(value) == 2.0**-12:  # exactly between two shortest decimals; Go takes the upper one
        text = "0.00024414063" if value > 0 else "-0.00024414063"
    else:
        text = next(t for t in (f"{value:.{digits}e}" for digits in range(9)) if _single(float(t)) == value)
    number = format(Decimal(text), "f")
    return number.rstrip("0").rstrip(".") if "." in number else number


def _single(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf")


def moment_text(microseconds: int, fsp: int, zone: str | None) -> str:
    """Return an instant (or, without zone, a wall clock) as TiDB's text."""
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(microseconds=microseconds)
    if zone is not None:
        moment = moment.astimezone(ZoneInfo(zone))
    text = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d} "
    text += f"{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}"
    return text + ("." + f"{moment.microsecond:06d}"[:fsp] if fsp else "")


def time_text(microseconds: int, fsp: int) -> str:
    """Return a TIME as TiDB's text."""
    seconds, fraction = divmod(abs(microseconds), 10**6)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return ("-" if microseconds < 0 else "") + text + ("." + f"{fraction:06d}"[:fsp] if fsp else "")


def json_document(value: Any) -> str:
    """Return a JSON value as TiDB prints it."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode())
        return "{" + ", ".join(f"{json_document(key)}: {json_document(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(json_document(item) for item in value) + "]"
    if isinstance(value, str):
        return '"' + "".join(char if char in "<>&" else escape(char, "encoding/json") for char in value) + '"'
    if isinstance(value, float):
        if value and (abs(value) < 1e-15 or abs(value) >= 1e15):
            sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
            whole, rest = str(digits[0]), "".join(map(str, digits[1:]))
            power = int(exponent) + len(digits) - 1
            return ("-" if sign else "") + whole + (f".{rest}" if rest else "") + f"e{power}"
        text = fixed_float(value, single=False)
        return text if "." in text else text + ".0"
    return json.dumps(value)
