"""What TiCDC's Debezium messages make of a row: written down once more, without the library, for the tests to compare.

====================== =============================================== =================================================
MySQL                  in the payload                                  what is meant
====================== =============================================== =================================================
BIT(1); BIT(n)         true, false; base64 of the little-endian bytes  number
integers               number; BIGINT UNSIGNED from 2**63 on wraps     number
DECIMAL, FLOAT, DOUBLE number                                          the nearest double: digits are lost
CHAR ... TEXT, JSON,   text                                            text
VECTOR, ENUM, SET
BINARY ... BLOB        base64                                          bytes
DATE                   days since 1970; years below 100 are of the     date; one that does not exist is NULL, in a
                       20th and 21st century                           NOT NULL column 1970-01-01
DATETIME               ms (up to 3 digits) or us since 1970            the same
TIMESTAMP              ISO 8601 in UTC; before 1970-01-01 00:00:01,    instant
                       read without a zone, 1970-01-01T00:00:00Z
TIME                   us                                              duration
YEAR                   number                                          number
NULL with a DEFAULT    that of the default; YEAR's is text; VARBINARY  the default; a TIMESTAMP's, stored in UTC, is
                       and BLOB twice: base64, then text               read in the changefeed's zone;
                                                                       CURRENT_TIMESTAMP is NULL, DATETIME 1970-01-01
====================== =============================================== =================================================

Sources: "TiCDC Debezium Protocol"; reference ``pingcap/tiflow: pkg/sink/codec/debezium/codec.go``; the vectors.
"""

from __future__ import annotations

import base64
import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

__all__ = ["OracleColumn", "connect_type", "meant", "payload", "recorded_column", "schema_default"]

_EPOCH = dt.datetime(1970, 1, 1)
_UTC_EPOCH = _EPOCH.replace(tzinfo=dt.timezone.utc)
_STRINGS = {"char", "varchar", "var_string", "tinytext", "text", "mediumtext", "longtext"}
_BINARIES = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}
_INTEGERS = {"tinyint", "smallint", "mediumint", "int", "bigint"}


@dataclass(frozen=True)
class OracleColumn:
    """A column. ``kind``: its type's name; ``size``: bits of a BIT, digits of a second's fraction.

    ``default``: as TiDB stores it, text (BIT: a number), ``None`` for none. ``scaled``: FLOAT(m, d).
    """

    name: str
    kind: str
    size: int
    not_null: bool
    unsigned: bool = False
    default: str | int | None = None
    elements: tuple[str, ...] = ()
    scaled: bool = False


def recorded_column(column: Mapping[str, Any]) -> OracleColumn:
    """Return a column of a recorded table."""
    found = re.match(r"(\w*)(?:\((\d+))?", column["sql_type"])
    assert found is not None
    kind, flags, default = found[1], column["flags"] or (), column.get("default")
    if isinstance(default, dict):
        default = base64.b64decode(default["base64"])
    if kind == "bit" and default is not None:
        default = int.from_bytes(default if isinstance(default, bytes) else default.encode(), "big")
    fsp = kind in ("datetime", "timestamp", "time")
    return OracleColumn(
        name=column["name"],
        kind=kind,
        size=max(0, column["decimal"]) if fsp else column["flen"],
        not_null="not_null" in flags,
        unsigned="unsigned" in flags,
        default=default,
        elements=tuple(column["elems"] or ()),
        scaled=kind == "float" and column["decimal"] >= 0,
    )


def meant(column: OracleColumn, value: Any, zone: str) -> Any:
    """Return what a consumer that knows the column gets of a recorded value: Python's type of the table above."""
    if value is not None:
        return _meant(column, value, zone)
    if column.default is None or (column.kind, column.default) == ("timestamp", "CURRENT_TIMESTAMP"):
        return None
    found = _meant(column, column.default, zone)
    return None if column.kind == "timestamp" and found == _UTC_EPOCH else found


def _meant(column: OracleColumn, value: Any, zone: str) -> Any:
    kind = column.kind
    if isinstance(value, dict):
        return base64.b64decode(value["base64"])
    if kind in _BINARIES:
        return value.encode() if isinstance(value, str) else value
    if kind == "bit":
        return bool(value) if column.size == 1 else value
    if kind in _INTEGERS or kind == "year":
        return int(value)
    if kind in ("float", "double", "decimal"):
        return float(value)
    if kind in ("enum", "set") and isinstance(value, int):  # a number where a label is the empty text, or is none
        if kind == "enum":
            return ("", *column.elements)[value]
        return ",".join(label for place, label in enumerate(column.elements) if value >> place & 1)
    if kind == "date":
        moment = _moment(value)
        return moment.date() if moment else _EPOCH.date() if column.not_null else None
    if kind == "datetime":
        if value == "CURRENT_TIMESTAMP":
            return _EPOCH
        return _moment(value) or (_EPOCH if column.not_null else None)
    if kind == "timestamp":
        return _UTC_EPOCH if value < "1970-01-01 00:00:01" else _instant(value, ZoneInfo(zone))
    if kind == "time":
        sign, hours, minutes, seconds = re.fullmatch(r"(-?)(\d+):(\d\d):(\d\d(?:\.\d+)?)", value).groups()  # type: ignore[union-attr]
        whole, _, fraction = seconds.partition(".")
        micros = (int(hours) * 3600 + int(minutes) * 60 + int(whole)) * 10**6 + int(fraction.ljust(6, "0"))
        return dt.timedelta(microseconds=-micros if sign else micros)
    assert isinstance(value, str)
    return value


def _moment(text: str) -> dt.datetime | None:
    """Return a DATE or DATETIME with the year that is meant, ``None`` for one that does not exist."""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d+))?)?", text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    year += 2000 if year < 70 else 1900 if year < 100 else 0
    try:
        return dt.datetime(year, month, day, hour, minute, second, int((found[7] or "").ljust(6, "0")))
    except ValueError:
        return None


def _instant(text: str, zone: ZoneInfo) -> dt.datetime:
    """Return the instant of a wall clock; where it comes twice, the one that Go takes."""
    clock = dt.datetime.fromisoformat(text.ljust(26, "0") if "." in text else text).replace(tzinfo=dt.timezone.utc)
    found = clock
    for _ in range(2):
        offset = found.astimezone(zone).utcoffset()
        assert offset is not None
        found = clock - offset
    return found


def payload(column: OracleColumn, value: Any, zone: str) -> Any:
    """Return what the JSON of the payload has for a recorded value, of two members of one name the first."""
    found, kind = meant(column, value, zone), column.kind
    if value is None and kind == "year" and column.default is not None:
        return column.default
    if isinstance(found, bytes):
        return base64.b64encode(found).decode()
    if kind == "bit" and found is not None and column.size > 1:
        return base64.b64encode(found.to_bytes((column.size + 7) // 8, "little")).decode()
    if kind == "bigint" and found is not None:
        return found - (1 << 64) if found >= 1 << 63 else found
    if isinstance(found, dt.timedelta):
        return found // dt.timedelta(microseconds=1)
    if kind == "timestamp" and found is not None:
        text = found.strftime("%Y-%m-%dT%H:%M:%S")
        return (
            text + (f".{found.microsecond:06d}"[: 1 + column.size] if column.size and found != _UTC_EPOCH else "") + "Z"
        )
    if isinstance(found, dt.datetime):
        return (found - _EPOCH) // (dt.timedelta(milliseconds=1) if column.size <= 3 else dt.timedelta(microseconds=1))
    if isinstance(found, dt.date):
        return (found - _EPOCH.date()).days
    return found


def schema_default(column: OracleColumn) -> Any:
    """Return the ``default`` of a column's schema as JSON has it, ``None`` for none; numbers as float."""
    kind, default = column.kind, column.default
    if default is None or kind in _BINARIES:
        return default
    if kind == "timestamp" and default == "CURRENT_TIMESTAMP":
        default = "0000-00-00 00:00:00"
    found = payload(column, default, "UTC")
    if kind == "timestamp" and found == "1970-01-01T00:00:00Z" and not column.not_null:
        return None
    if kind == "year":
        found += 2000 if found < 70 else 1900 if found < 100 else 0
    if kind == "bigint":
        found = float(default)
    return float(found) if isinstance(found, int) and not isinstance(found, bool) else found


def connect_type(column: OracleColumn) -> str:
    """Return the type of the column in Kafka Connect's schema."""
    kind = column.kind
    if kind == "bit":
        return "boolean" if column.size == 1 else "bytes"
    if kind == "float":
        return "double" if column.scaled else "float"
    fixed = {"double": "double", "decimal": "double", "date": "int32", "year": "int32", "mediumint": "int32"}
    fixed |= {"tinyint": "int16", "bigint": "int64", "datetime": "int64", "time": "int64"}
    fixed |= {"smallint": "int32" if column.unsigned else "int16", "int": "int64" if column.unsigned else "int32"}
    return fixed.get(kind, "string")
