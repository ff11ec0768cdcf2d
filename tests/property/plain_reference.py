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

__all__ = ["canal_message", "escape", "fixed_float", "json_document", "moment_text", "promoted", "time_text"]

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


def promoted(base: int, kind: str, value: int | None) -> int:
    """Return the Java type of an unsigned integer."""
    limit, larger = {
        "tinyint": (127, 5), "smallint": (32767, 4), "mediumint": (1 << 24, 4), "int": ((1 << 31) - 1, -5),
        "bigint": ((1 << 63) - 1, 3),
    }[kind]  # fmt: skip
    return larger if value is not None and value > limit else base


def canal_message(
    schema: str,
    table: str,
    primary_key: list[str],
    kind: str,
    commit_ts: int,
    build_ms: int,
    types: dict[str, tuple[int, str]],
    old: list[tuple[str, str | bytes | None]] | None,
    data: list[tuple[str, str | bytes | None]],
    extension: bool,
    empty: str = "{}",
) -> str:
    """Return one Canal-JSON row message; ``types`` maps a column to its Java type and MySQL type name."""

    def quoted(text: str) -> str:
        return f'"{escape(text, "easyjson")}"'

    def image(columns: list[tuple[str, str | bytes | None]]) -> str:
        items = []
        for name, value in columns:
            text = value.decode("latin-1") if isinstance(value, bytes) else value
            items.append(f"{quoted(name)}:{'null' if text is None else quoted(text)}")
        return "[{" + ",".join(items) + "}]"

    shown = [name for name, _ in data]
    sql_types = "{" + ",".join(f"{quoted(name)}:{types[name][0]}" for name in shown) + "}" if shown else "null"
    mysql_types = "{" + ",".join(f"{quoted(name)}:{quoted(types[name][1])}" for name in shown) + "}"
    message = f'{{"id":0,"database":{quoted(schema)},"table":{quoted(table)},'
    message += f'"pkNames":[{",".join(map(quoted, primary_key))}],"isDdl":false,"type":"{kind}",'
    message += f'"es":{commit_ts >> 18},"ts":{build_ms},"sql":"","sqlType":{sql_types},'
    message += f'"mysqlType":{mysql_types if shown else empty},'
    message += f'"old":{"null" if old is None else image(old)},"data":{image(data)}'
    return message + (f',"_tidb":{{"commitTs":{commit_ts}}}' if extension else "") + "}"
