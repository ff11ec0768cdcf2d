"""Row values of Debezium messages, by their schema.

In: a schema's ``fields`` and an image of JSON values. Out: a mapping from column to value:

==================================== ================================================================================
BIT(1)                               bool
BIT(n)                               int: the bytes are little-endian
TINYINT to BIGINT, YEAR              int; a BIGINT UNSIGNED from 2**63 on is negative without ``tidb_type``
FLOAT, DOUBLE, DECIMAL               float (FLOAT without scale: the one that 32 bits hold)
DATE, DATETIME                       date, datetime without zone
TIMESTAMP                            datetime in UTC
TIME                                 timedelta
CHAR, TEXT, JSON, VECTOR, ENUM, SET  str: labels with commas between
BINARY, VARBINARY, BLOB              bytes; base64 text without ``tidb_type``, for nothing else tells them from text
==================================== ================================================================================

A NULL in a column with a DEFAULT arrives as that default, a date that does not exist as NULL or 1970-01-01. The
messages do not distinguish them. Rule sources: "TiCDC Debezium Protocol" (data types); reference ``pingcap/tiflow:
pkg/sink/codec/debezium/codec.go`` (``writeDebeziumFieldValue``).
"""

from __future__ import annotations

import datetime as dt
import struct
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ticdc_emit.decode.connect.records import DebeziumField
from ticdc_emit.decode.errors import DecodeError

__all__ = ["typed_image"]

_INTEGER_BITS = {"int16": 16, "int32": 32, "int64": 64}
_BINARY = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}
_DAY_ZERO = dt.date(1970, 1, 1)
_EPOCH = dt.datetime(1970, 1, 1)


def typed_image(image: Mapping[str, Any], fields: Sequence[DebeziumField], part: str) -> dict[str, Any]:
    """Return the columns of an image as Python values; ``part``: ``key`` or ``value``, for errors.

    Raises :class:`DecodeError` for a column that the schema does not have, and for a value that is not of its type.
    """
    by_name = {field.name: field for field in fields}
    values = {}
    for name, value in image.items():
        field = by_name.get(name)
        if field is None:
            raise DecodeError("the schema has no such column", part=part, field=name)
        try:
            values[name] = _typed(value, field)
        except (ValueError, OverflowError, struct.error) as fault:
            raise DecodeError(
                f"{value!r:.100} is not a value of the type {field.semantic_type or field.type}", part=part, field=name
            ) from fault
    return values


def _typed(value: Any, field: DebeziumField) -> Any:
    if value is None:
        if not field.optional:
            raise ValueError
        return None
    if field.semantic_type in _SEMANTIC:
        kind, convert = _SEMANTIC[field.semantic_type]
        if kind != field.type:
            raise ValueError
        return convert(value)
    return _plain(value, field)


def _plain(value: Any, field: DebeziumField) -> Any:
    if field.type == "boolean" and isinstance(value, bool):
        return value
    if field.type in _INTEGER_BITS:
        number = _integer(value, _INTEGER_BITS[field.type])
        return number + (1 << 64) if number < 0 and field.tidb_type == "bigint unsigned" else number
    if field.type == "string":
        text = _text(value)
        return b64decode(text, validate=True) if field.tidb_type in _BINARY else text
    if field.type in ("float", "double") and isinstance(value, int | float) and not isinstance(value, bool):
        return struct.unpack("<f", struct.pack("<f", value))[0] if field.type == "float" else float(value)
    raise ValueError


def _integer(value: Any, bits: int) -> int:
    limit = 1 << (bits - 1)
    if not isinstance(value, int) or isinstance(value, bool) or not -limit <= value < limit:
        raise ValueError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _year(value: Any) -> int:
    # the default that replaces a NULL is text
    return int(value) if isinstance(value, str) and value.isdecimal() else _integer(value, 32)


def _timestamp(value: Any) -> dt.datetime:
    text = _text(value)
    shape = "%Y-%m-%dT%H:%M:%S.%fZ" if "." in text else "%Y-%m-%dT%H:%M:%SZ"
    return dt.datetime.strptime(text, shape).replace(tzinfo=dt.timezone.utc)


_SEMANTIC: Mapping[str | None, tuple[str, Callable[[Any], Any]]] = {
    "io.debezium.data.Bits": (
        "bytes",
        lambda value: int.from_bytes(b64decode(_text(value), validate=True), "little"),
    ),
    "io.debezium.data.Enum": ("string", _text),
    "io.debezium.data.EnumSet": ("string", _text),
    "io.debezium.data.Json": ("string", _text),
    "io.debezium.data.TiDBVectorFloat32": ("string", _text),
    "io.debezium.time.Date": ("int32", lambda value: _DAY_ZERO + dt.timedelta(days=_integer(value, 32))),
    "io.debezium.time.Timestamp": ("int64", lambda value: _EPOCH + dt.timedelta(milliseconds=_integer(value, 64))),
    "io.debezium.time.MicroTimestamp": ("int64", lambda value: _EPOCH + dt.timedelta(microseconds=_integer(value, 64))),
    "io.debezium.time.ZonedTimestamp": ("string", _timestamp),
    "io.debezium.time.MicroTime": ("int64", lambda value: dt.timedelta(microseconds=_integer(value, 64))),
    "io.debezium.time.Year": ("int32", _year),
}
