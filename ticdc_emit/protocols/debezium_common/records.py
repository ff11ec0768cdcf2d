"""The content of Debezium messages, as far as JSON and Avro have it alike; keys, images and schemas differ. In: the
members of a payload, and the fields of its schema. Out: events, and what makes canonical text of values.
"""

from __future__ import annotations

import datetime as dt
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from ticdc_emit.protocols.canonical_text import BINARY_TYPES, WORD, Convert, decimal_of_scale, in_zone, moment_text
from ticdc_emit.protocols.debezium_common.schema import SEMANTIC_TYPES
from ticdc_emit.protocols.events import (
    DdlEvent,
    DecodeError,
    RowEvent,
    RowOp,
    WatermarkEvent,
    member,
    millis,
    objects,
    tso,
)
from ticdc_emit.schema.defaults import duration_text, float_text
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import DATE_TYPES, FLOAT_TYPES, INTEGER_TYPES, ColumnFlag, MySQLType


@dataclass(frozen=True)
class DebeziumField:
    """A column in the schema of a row or key.

    ``type`` is Kafka Connect's, ``semantic_type`` Debezium's (``io.debezium.time.Date``). ``parameters``: the
    ``length`` of BIT, the ``allowed`` labels. ``default``: as in the message (days, base64, text), or ``None``.
    """

    name: str
    type: str
    optional: bool
    semantic_type: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    default: Any = None
    tidb_type: str | None = None


class DebeziumMessage(NamedTuple):
    """A record: its payload and, of a row with schema, the columns of key and images, also virtual generated ones."""

    payload: Mapping[str, Any]
    key_fields: tuple[DebeziumField, ...] | None = None
    fields: tuple[DebeziumField, ...] | None = None


_OPS: Mapping[str, RowOp] = {"c": "insert", "u": "update", "d": "delete"}
_IMAGES = {"c": (False, True), "u": (None, True), "d": (True, False)}
"""Whether ``before`` and ``after`` exist; an update has ``before`` unless ``output-old-value`` is off."""


def row_event(
    message: DebeziumMessage, key: Mapping[str, Any], before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> RowEvent:
    """Return the event of a row. Raises :class:`~ticdc_emit.protocols.events.DecodeError`."""
    op = member(message.payload, "op", str)
    if op not in _OPS:
        raise DecodeError(f"{op!r:.20} is not an op of Debezium messages", part="value", field="op")
    for name, shown, image in zip(("before", "after"), _IMAGES[op], (before, after), strict=True):
        if shown is not None and shown is not (image is not None):
            raise DecodeError(f"a change with op {op!r} has {'no' if shown else 'a'} row {name}", part="value")
    db, table, commit_ts, commit_ms = _source(message.payload)
    return RowEvent(db, table, _OPS[op], commit_ts, before, after, key, commit_ms, message=message)


def ddl_event(payload: Mapping[str, Any]) -> DdlEvent:
    """Return the event of a schema change; errors as of :func:`row_event`."""
    db, table, commit_ts, commit_ms = _source(payload)
    member(payload, "databaseName", str)
    objects(payload, "tableChanges")
    return DdlEvent(member(payload, "ddl", str), commit_ts, db, table, commit_ms, DebeziumMessage(payload))


def watermark_event(payload: Mapping[str, Any]) -> WatermarkEvent:
    """Return the event of a watermark; errors as of :func:`row_event`."""
    return WatermarkEvent(_source(payload)[2], DebeziumMessage(payload))


def _source(payload: Mapping[str, Any]) -> tuple[str, str, int, int]:
    source = member(payload, "source", dict)
    member(payload, "ts_ms", int)
    for name in ("version", "connector", "cluster_id"):
        member(source, name, str)
    if "start_ts" in source:
        tso(source, "start_ts")
    return member(source, "db", str), member(source, "table", str), tso(source, "commit_ts"), millis(source, "ts_ms")


_T = TypeVar("_T")


def nullable(members: Mapping[str, Any], name: str, kind: type[_T], part: str = "value") -> _T | None:
    """Return a member that may be null."""
    return None if name in members and members[name] is None else member(members, name, kind, part=part)


_EPOCH = dt.datetime(1970, 1, 1)
_YEAR_1 = dt.datetime(1, 1, 1) - _EPOCH
_CALENDAR = dt.timedelta(days=146_097)
"""The 400 years after which the calendar repeats."""
_MILLIS_FSP = 3
_ZERO_MOMENT = "0000-00-00 00:00:00"
_BEFORE_ALL = "1970-01-01T00:00:00"  # one second before the first TIMESTAMP
_PLAIN = {
    "boolean": MySQLType.BIT,
    "int16": MySQLType.SHORT,
    "int32": MySQLType.LONG,
    "int64": MySQLType.LONGLONG,
    "float": MySQLType.FLOAT,
    "double": MySQLType.DOUBLE,
    "string": MySQLType.LONG_BLOB,
}


def debezium_convert(column: Column, zone: str) -> Convert | None:
    """Return a function that converts a column's values to canonical text. ``zone``: the changefeed's."""
    kind, fsp = column.type, column.fraction_digits
    if kind in INTEGER_TYPES:
        return (lambda value: str(int(value) & WORD)) if column.unsigned else str
    if kind in FLOAT_TYPES:
        single = kind is MySQLType.FLOAT
        return lambda value: float_text(value, single=single)
    if kind is MySQLType.NEWDECIMAL:
        return lambda value: decimal_of_scale(value if isinstance(value, str) else repr(value), fsp)
    if kind is MySQLType.BIT:
        return _bits
    if kind is MySQLType.YEAR:
        return lambda value: str(int(value))
    if kind in DATE_TYPES:
        return lambda value: _moment(dt.timedelta(days=value), 0)[:10]
    if kind is MySQLType.DATETIME:
        unit = "milliseconds" if fsp <= _MILLIS_FSP else "microseconds"
        return lambda value: _moment(dt.timedelta(**{unit: value}), fsp)
    if kind is MySQLType.TIMESTAMP:
        return lambda value: _zoned(value, zone, fsp)
    return (lambda value: duration_text(value, fsp)) if kind is MySQLType.DURATION else None


def debezium_column(field: DebeziumField) -> Column:
    """Return a schema's column; UNSIGNED and binary types are known only with ``enable-tidb-extension``."""
    known = field.tidb_type or ""
    kind, decimal = SEMANTIC_TYPES.get(field.semantic_type or "", (_PLAIN.get(field.type, MySQLType.UNSPECIFIED), 0))
    unsigned = known.endswith("unsigned") or " unsigned" in known
    flags = ColumnFlag.UNSIGNED if unsigned else ColumnFlag.NONE
    flags |= ColumnFlag.NONE if field.optional else ColumnFlag.NOT_NULL
    charset = "binary" if known in BINARY_TYPES or kind is not MySQLType.LONG_BLOB else "utf8mb4"
    return Column(0, field.name, kind, -1, decimal, charset=charset, flags=flags)


def _bits(value: Any) -> str:
    return str(int(value) if isinstance(value, bool) else int.from_bytes(b64decode(value, validate=True), "little"))


def _moment(since_epoch: dt.timedelta, fsp: int) -> str:
    """Return the text of a date and time. Releases that do not complete years send the year 0, which Python lacks."""
    if since_epoch >= _YEAR_1:
        return moment_text(_EPOCH + since_epoch, fsp)
    text = moment_text(_EPOCH + (since_epoch + _CALENDAR), fsp)
    return f"{int(text[:4]) - 400:04d}{text[4:]}"


def _zoned(text: str, zone: str, fsp: int) -> str:
    if text.startswith(_BEFORE_ALL):
        return _ZERO_MOMENT + ("." + "0" * fsp if fsp else "")
    return in_zone(text.rstrip("Z").replace("T", " "), "UTC", zone, fsp)
