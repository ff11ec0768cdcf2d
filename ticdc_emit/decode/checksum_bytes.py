"""The bytes of values in a row checksum, the same in every protocol.

In: a value. Out: its bytes in TiDB's CRC32. Rule sources: "TiCDC Row Data Checksum Verification Based on Avro"
(``buildChecksumBytes``); reference ``pingcap/tidb: pkg/util/rowcodec/common.go`` (``appendDatumForChecksum``).
"""

from __future__ import annotations

import math
import re
import struct
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

__all__ = ["UNSIGNED", "blob", "double", "in_utc", "text", "vector", "word"]

UNSIGNED = re.compile(r"\d{1,20}", re.ASCII)
_WORD = (1 << 64) - 1
_ZERO_DAY = "0000-00-00"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?", re.ASCII)
_NUMBER = r"-?\d+(?:\.\d+)?"
_VECTOR = re.compile(rf"\[(?:{_NUMBER}(?:,{_NUMBER})*)?\]", re.ASCII)


def word(value: int) -> bytes:
    """Return the bytes of an integer of any width: 64 bits, a negative one in two's complement."""
    return (value & _WORD).to_bytes(8, "little")


def double(value: float) -> bytes:
    """Return the bytes of a FLOAT or DOUBLE; of zero for what is not finite."""
    return struct.pack("<d", value if math.isfinite(value) else 0.0)


def text(value: str) -> bytes:
    """Return the bytes of text, and of values that are printed: DECIMAL, JSON, times."""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is not text")
    return blob(value.encode())


def blob(value: bytes) -> bytes:
    """Return the bytes of binary data: its length, then itself."""
    return len(value).to_bytes(4, "little") + value


def vector(value: str) -> bytes:
    """Return the bytes of a VECTOR, from its text: its length, then its numbers."""
    if not _VECTOR.fullmatch(value):
        raise ValueError(f"{value!r} is not a vector")
    numbers = [float(number) for number in value[1:-1].split(",") if number]
    return struct.pack(f"<I{len(numbers)}f", len(numbers), *numbers)


def in_utc(text: str, time_zone: str) -> str:
    """Return TIMESTAMP text in UTC; an ambiguous local time is read as by Go's ``time.Date``."""
    if text.startswith(_ZERO_DAY) or time_zone == "UTC":
        return text
    if not _MOMENT.fullmatch(text):
        raise ValueError(f"{text!r} is not a TIMESTAMP")
    place = ZoneInfo(time_zone)
    clock = datetime.fromisoformat(text[:19]).replace(tzinfo=timezone.utc)

    def offset(at: datetime) -> timedelta:
        return at.astimezone(place).utcoffset() or timedelta()

    shift = offset(clock - offset(clock))
    if offset(clock - shift) != shift:
        raise ValueError(f"the clocks of {time_zone} skip {text!r}")
    return f"{clock - shift:%Y-%m-%d %H:%M:%S}{text[19:]}"
