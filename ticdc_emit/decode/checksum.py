"""The consumer's side of row checksums, after "TiCDC Row Data Checksum Verification Based on Avro".

In: a decoded value and its schema. Out: the checksum, or an error. The schema alone says how: its fields up to
``_tidb_op`` are the columns in the order of their ids, each with its ``tidb_type``; the CRC32 runs over the bytes that
``buildChecksumBytes`` of the document makes of each value.

Where the document's program is wrong or silent:

=================================  ============================================================================
the document                       here
=================================  ============================================================================
takes TIMESTAMP text as it is      TiDB's checksum is over UTC: the text is moved there from the changefeed's
                                   time zone, which the message does not tell (parameter ``time_zone``)
splits ``allowed`` at every comma  not at ``\\,``, which is a comma inside an ENUM element
looks labels up as they are        elements are shown with ``''`` and ``\\'`` as ``'``: labels are compared so
does not know VECTOR               dimensions (32 bits) and float32 values
goes on after an empty value       a delete has no value, and nothing to check
ends the program at a wrong type   :class:`DecodeError`
checks ``"0"`` too                 no checksum, as in TiCDC's own verifier: each half of a split UPDATE shows it
says that columns are sorted       so only with integrity checks on; without, there is no checksum to verify
by id
=================================  ============================================================================

What no consumer can know: which of two elements a label is that differ only in ``''`` and ``'``, where an element of an
ENUM ends that has a backslash as its last character, whether an empty SET holds an element without characters, and the
values of columns that a column selector took away.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any
from zlib import crc32
from zoneinfo import ZoneInfo

from ticdc_emit.decode.errors import ChecksumMismatchError, DecodeError

__all__ = ["verify_checksum"]

_CHECKSUM = "_tidb_row_level_checksum"
_FIRST_EXTENSION_FIELD = "_tidb_op"
_WORD = (1 << 64) - 1
_ZERO_DAY = "0000-00-00"
_UNSIGNED = re.compile(r"\d{1,20}", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?", re.ASCII)
_NUMBER = r"-?\d+(?:\.\d+)?"
_VECTOR = re.compile(rf"\[(?:{_NUMBER}(?:,{_NUMBER})*)?\]", re.ASCII)
_SEPARATOR = re.compile(r"(?<!\\),")


def verify_checksum(
    value: Mapping[str, Any] | None, schema: Mapping[str, Any] | str, time_zone: str = "UTC"
) -> int | None:
    """Check a decoded value against the checksum that it carries, and return that; ``None`` if it carries none.

    ``schema``: the registered schema of the value, parsed or as text. ``time_zone``: the changefeed's, in which
    TIMESTAMP values are shown. Raises :class:`ChecksumMismatchError`, and :class:`DecodeError` for a value or schema
    that TiCDC would not send.
    """
    stated = None if value is None else value.get(_CHECKSUM)
    if value is None or stated in (None, "", "0"):
        return None
    if not (isinstance(stated, str) and _UNSIGNED.fullmatch(stated)):
        raise DecodeError(f"the checksum {stated!r} is no number", field=_CHECKSUM)
    record = _record(schema)
    actual = 0
    for field in record["fields"]:
        name = field["name"]
        if name == _FIRST_EXTENSION_FIELD:
            break
        try:
            actual = crc32(_checksum_bytes(value[name], _parameters(field), time_zone), actual)
        except (LookupError, ValueError, TypeError, OverflowError) as fault:
            raise DecodeError(f"the value cannot be checked: {type(fault).__name__}: {fault}", field=name) from fault
    expected = int(stated)
    if actual != expected:
        raise ChecksumMismatchError(
            f"the row's checksum is {actual}, the message says {expected}",
            remedy=f"If the changefeed does not show TIMESTAMP in {time_zone}, give its time zone",
            table=record.get("name"),
            expected=expected,
            actual=actual,
            corrupted=value.get("_tidb_corrupted"),
        )
    return expected


def _record(schema: Mapping[str, Any] | str) -> Mapping[str, Any]:
    try:
        record: Mapping[str, Any] = json.loads(schema) if isinstance(schema, str) else schema
        [field["name"] for field in record["fields"]]
    except (ValueError, LookupError, TypeError) as fault:
        raise DecodeError(f"the schema is not one of a table: {fault}") from fault
    return record


def _parameters(field: Mapping[str, Any]) -> Mapping[str, str]:
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    described: Mapping[str, Any] = next((kind for kind in kinds if isinstance(kind, Mapping)), {})
    found: Mapping[str, str] = described["connect.parameters"]
    return found


def _checksum_bytes(value: Any, parameters: Mapping[str, str], time_zone: str) -> bytes:
    if value is None:
        return b""
    kind = parameters["tidb_type"]
    if kind == "ENUM":
        return _word(1 + _elements(parameters).index(_as_allowed(value)))
    if kind == "SET":
        elements, number = _elements(parameters), 0
        for label in value.split(",") if value else ():
            number |= 1 << elements.index(_as_allowed(label))
        return _word(number)
    if kind == "TIMESTAMP":
        return _text(_in_utc(value, time_zone))
    return _BYTES[kind](value)


def _word(value: int | str) -> bytes:
    """An integer, or the text of BIGINT UNSIGNED."""
    if isinstance(value, str) and not _UNSIGNED.fullmatch(value):
        raise ValueError(f"{value!r} is no unsigned number")
    return (int(value) & _WORD).to_bytes(8, "little")


def _bit(value: bytes) -> bytes:
    return int.from_bytes(value, "big").to_bytes(8, "little")


def _double(value: float) -> bytes:
    return struct.pack("<d", value if math.isfinite(value) else 0.0)


def _text(value: str) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is no text")
    return _blob(value.encode())


def _blob(value: bytes) -> bytes:
    return len(value).to_bytes(4, "little") + value


def _vector(value: str) -> bytes:
    if not _VECTOR.fullmatch(value):
        raise ValueError(f"{value!r} is no vector")
    numbers = [float(number) for number in value[1:-1].split(",") if number]
    return struct.pack(f"<I{len(numbers)}f", len(numbers), *numbers)


_BYTES: Mapping[str, Callable[[Any], bytes]] = {
    **dict.fromkeys(("INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "YEAR"), _word),
    **dict.fromkeys(("FLOAT", "DOUBLE"), _double),
    **dict.fromkeys(("DECIMAL", "TEXT", "JSON", "DATE", "DATETIME", "TIME"), _text),
    "BIT": _bit,
    "BLOB": _blob,
    "TiDBVECTORFloat32": _vector,
}


def _elements(parameters: Mapping[str, str]) -> list[str]:
    return _SEPARATOR.split(parameters["allowed"])


def _as_allowed(label: str) -> str:
    """Return a label as ``allowed`` shows it (pkg/sink/codec/common: EscapeEnumAndSetOptions)."""
    return label.replace(",", "\\,").replace("\\'", "'").replace("''", "'")


def _in_utc(text: str, time_zone: str) -> str:
    """Return TIMESTAMP text in UTC, reading a wall clock that shows twice as Go's ``time.Date`` does."""
    if text.startswith(_ZERO_DAY) or time_zone == "UTC":
        return text
    if not _MOMENT.fullmatch(text):
        raise ValueError(f"{text!r} is no TIMESTAMP")
    place = ZoneInfo(time_zone)
    clock = datetime.fromisoformat(text[:19]).replace(tzinfo=timezone.utc)

    def offset(at: datetime) -> timedelta:
        return at.astimezone(place).utcoffset() or timedelta()

    shift = offset(clock - offset(clock))
    if offset(clock - shift) != shift:
        raise ValueError(f"the clocks of {time_zone} skip {text!r}")
    return f"{clock - shift:%Y-%m-%d %H:%M:%S}{text[19:]}"
