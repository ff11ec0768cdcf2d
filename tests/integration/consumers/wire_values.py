"""What a protocol makes of a value: canonical text in, the value that a consumer of the protocol must hold out.

Written from the documents of the protocols, for the columns of ``cookbook_data``; it shares no code with the encoders.
``kind`` is a column's type in SQL.
"""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from cookbook_data import ADDED, COLUMNS, TIME_ZONE

Shape = Callable[[str, str], Any]

_WHOLE = ("tinyint", "int", "bigint", "year")
_LABELS = {"new": 1, "paid": 2, "it's": 3}
_BITS = {"a": 1, "b": 2, "c": 4}
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def kind_of(table: str, column: str) -> str:
    """Return the type of a column in SQL."""
    return COLUMNS[table].get(column) or ADDED[table][column][0]


def shaped(table: str, rows: Mapping[Any, Mapping[str, str | None]], shape: Shape) -> dict[Any, dict[str, Any]]:
    """Return rows of canonical text with the values that ``shape`` gives."""
    return {
        key: {
            name: None if text is None else shape(kind_of(table, name), text)  # NULL is NULL everywhere
            for name, text in row.items()
        }
        for key, row in rows.items()
    }


def canal(kind: str, text: str) -> str:
    """Return the text in ``data`` of Canal-JSON: ENUM, SET and BIT as numbers, binary data as ISO-8859-1."""
    if kind.startswith("varbinary"):
        return b64decode(text).decode("latin-1")
    if kind.startswith("enum"):
        return str(_LABELS[text])
    if kind.startswith("set"):
        return str(_mask(text))
    return text


def debezium(kind: str, text: str) -> Any:
    """Return the JSON value of Debezium: days, milliseconds, microseconds, doubles, base64 of little-endian BIT."""
    name, _, rest = kind.partition("(")
    if name.startswith(_WHOLE):
        number = int(text)
        return number - (1 << 64) if number >= 1 << 63 else number
    if name in ("float", "double", "decimal"):
        return float(text)
    if name == "bit":
        width = int(rest.rstrip(")"))
        return text == "1" if width == 1 else b64encode(int(text).to_bytes((width + 7) // 8, "little")).decode()
    if name == "date":
        return (_wall(text) - _EPOCH).days
    if name.startswith(("datetime", "time")):
        return _time(name, rest, text)
    return text


def debezium_avro(kind: str, text: str) -> Any:
    """Return the Avro value of Debezium with BIGINT UNSIGNED as string: as in JSON, with bytes and exact decimals."""
    name = kind.partition("(")[0]
    if kind == "bigint unsigned":
        return text
    if name == "decimal":
        return Decimal(text)
    if name == "float":
        return _float32(text)
    if name == "varbinary":
        return b64decode(text)
    value = debezium(kind, text)
    return b64decode(value) if name == "bit" and not isinstance(value, bool) else value


def avro(kind: str, text: str) -> Any:
    """Return the value of TiCDC's Avro: exact decimals, dates and times as text, big-endian BIT."""
    name = kind.partition("(")[0]
    if name.startswith(_WHOLE):
        number = int(text)
        return number - (1 << 64) if number >= 1 << 63 else number
    if name == "decimal":
        return Decimal(text)
    if name in ("float", "double"):
        return _float32(text) if name == "float" else float(text)
    if name == "varbinary":
        return b64decode(text)
    if name == "bit":
        number = int(text)
        return number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big")
    return text


def open_protocol(kind: str, text: str) -> Any:
    """Return the value of Open Protocol: numbers as numbers, ENUM, SET and BIT too; TEXT and binary data decoded."""
    name = kind.partition("(")[0]
    if name.startswith(_WHOLE) or name == "bit":
        return int(text)
    if name in ("float", "double"):
        return float(text)
    if name == "enum":
        return _LABELS[text]
    if name == "set":
        return _mask(text)
    return b64decode(text) if name == "varbinary" else text


def stored_csv(kind: str, text: str) -> Any:
    """Return the value of a field in a CSV file, read as the type of its column: labels and times are texts."""
    name = kind.partition("(")[0]
    if name.startswith(_WHOLE) or name == "bit":
        return int(text)
    return text if name == "timestamp" else avro(kind, text)


def _time(name: str, rest: str, text: str) -> Any:
    fsp = int(rest.rstrip(") notul") or 0)
    if name == "timestamp":
        moment = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(TIME_ZONE)).astimezone(timezone.utc)
        return moment.isoformat("T", "milliseconds").replace("+00:00", "Z")
    if name == "time":
        sign, clock = (-1, text[1:]) if text.startswith("-") else (1, text)
        hours, minutes, seconds = clock.split(":")
        return sign * ((int(hours) * 60 + int(minutes)) * 60_000_000 + int(Decimal(seconds) * 1_000_000))
    passed = _wall(text) - _EPOCH
    micros = (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds
    return micros if fsp > 3 else micros // 1_000


def _wall(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def _mask(labels: str) -> int:
    return sum(_BITS[label] for label in labels.split(",") if label)


def _float32(text: str) -> float:
    return float(struct.unpack("f", struct.pack("f", float(text)))[0])
