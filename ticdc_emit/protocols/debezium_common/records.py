"""The content of Debezium messages, as far as JSON and Avro have it alike.

In: the members of a payload as Python values, from ``protocols.debezium.decoder`` (JSON text) or
``protocols.debezium_avro.decoder`` (Avro by a registered schema), and the fields of its schema. Out: rows, DDL and
watermarks, the event of each, and the functions that convert a column's values to canonical text. The two decoders
read keys, images and schemas, which differ.
"""

from __future__ import annotations

import datetime as dt
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from ticdc_emit.protocols.canonical_text import (
    BINARY_TYPES,
    Convert,
    clock_text,
    decimal_of_scale,
    in_zone,
    moment_text,
)
from ticdc_emit.protocols.debezium_common.schema import SEMANTIC_TYPES
from ticdc_emit.protocols.events import (
    DdlEvent,
    Event,
    RowEvent,
    RowOp,
    WatermarkEvent,
    member,
    millis,
    objects,
    texts,
    tso,
)
from ticdc_emit.schema.defaults import float_text
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import DATE_TYPES, FLOAT_TYPES, INTEGER_TYPES, ColumnFlag, MySQLType


def source_of(members: Mapping[str, Any], **others: Any) -> DebeziumSource:
    """Return the source of a message. ``others``: fields that the formats read differently.

    Raises :class:`~ticdc_emit.protocols.events.DecodeError` for a missing member and for one of another type.
    """
    return DebeziumSource(
        version=member(members, "version", str),
        connector=member(members, "connector", str),
        name=member(members, "name", str),
        ts_ms=millis(members, "ts_ms"),
        db=member(members, "db", str),
        table=member(members, "table", str),
        commit_ts=tso(members, "commit_ts"),
        cluster_id=member(members, "cluster_id", str),
        file=member(members, "file", str),
        pos=member(members, "pos", int),
        row=member(members, "row", int),
        **others,
    )


@dataclass(frozen=True)
class DebeziumSource:
    """The source of a message. ``name`` and ``cluster_id`` are TiCDC's cluster id.

    ``db`` and ``table`` are empty for a watermark, ``table`` for the DDL of a database. Members that only MySQL has
    (``server_id``, ``gtid``, ``file``, ``pos``, ``row``, ``thread``, ``query``) are 0, empty or ``None``. ``start_ts``
    (TSO): only in rows, with ``debezium-include-start-ts``.
    """

    version: str
    connector: str
    name: str
    ts_ms: int
    snapshot: str | None
    db: str
    table: str
    commit_ts: int
    cluster_id: str
    server_id: int = 0
    gtid: str | None = None
    file: str = ""
    pos: int = 0
    row: int = 0
    thread: int | None = 0
    query: str | None = None
    start_ts: int | None = None


@dataclass(frozen=True)
class DebeziumField:
    """A column in the schema of a row or key.

    ``type`` is Kafka Connect's, ``semantic_type`` Debezium's name of its meaning (``io.debezium.time.Date``), or
    ``None``. ``parameters``: the ``length`` of BIT, the ``allowed`` labels of ENUM and SET. ``default`` is as the
    message has it: a number of days, base64, text ...; ``None`` for none.
    """

    name: str
    type: str
    optional: bool
    semantic_type: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    default: Any = None
    tidb_type: str | None = None


@dataclass(frozen=True)
class DebeziumRow:
    """A row change. ``op``: ``c``, ``u`` or ``d``.

    ``key``: the handle key's columns, empty for a table without, and in messages without keys. ``before`` is ``None``
    for an insert, and for an update with ``output-old-value = false``; ``after`` for a delete. ``key_fields`` and
    ``fields`` are their schemas, ``None`` without (``debezium-disable-schema``, or no key); virtual generated columns
    are in ``fields``, but in no row.
    """

    op: str
    source: DebeziumSource
    ts_ms: int
    key: Mapping[str, Any]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    key_fields: tuple[DebeziumField, ...] | None = None
    fields: tuple[DebeziumField, ...] | None = None


@dataclass(frozen=True)
class DebeziumColumn:
    """A column of a table. ``enum_values`` are SQL literals, quotes included; ``position`` begins with 1."""

    name: str
    jdbc_type: int
    type_name: str
    type_expression: str
    position: int
    optional: bool
    native_type: int | None = None
    comment: str | None = None
    default_value_expression: str | None = None
    enum_values: tuple[str, ...] | None = None
    charset_name: str | None = None
    length: int | None = None
    scale: int | None = None
    auto_incremented: bool = False
    generated: bool = False


@dataclass(frozen=True)
class DebeziumTable:
    """A table after a DDL."""

    default_charset_name: str
    primary_key_column_names: tuple[str, ...]
    columns: tuple[DebeziumColumn, ...]
    comment: str | None = None


@dataclass(frozen=True)
class DebeziumTableChange:
    """The effect of a DDL on a table. ``type``: ``CREATE``, ``ALTER`` or ``DROP``; ``id``: its quoted name, both for a
    rename. ``table`` is ``None`` once it is dropped.
    """

    type: str
    id: str
    table: DebeziumTable | None


@dataclass(frozen=True)
class DebeziumDdl:
    """A statement. ``table_changes`` is empty for the DDL of a database and for TRUNCATE TABLE."""

    source: DebeziumSource
    ts_ms: int
    database_name: str
    ddl: str
    table_changes: tuple[DebeziumTableChange, ...]
    schema_name: str | None = None


@dataclass(frozen=True)
class DebeziumWatermark:
    """Everything up to ``source.commit_ts`` has been sent to this partition."""

    source: DebeziumSource
    ts_ms: int


DebeziumMessage: TypeAlias = "DebeziumRow | DebeziumDdl | DebeziumWatermark"


_T = TypeVar("_T")


def nullable(members: Mapping[str, Any], name: str, kind: type[_T], part: str = "value") -> _T | None:
    """Return a member that may be null."""
    return None if name in members and members[name] is None else member(members, name, kind, part=part)


def ddl_record(payload: Mapping[str, Any], source: DebeziumSource, ts_ms: int) -> DebeziumDdl:
    """Return the content of a schema change's payload. Raises :class:`DecodeError` for another payload."""
    return DebeziumDdl(
        source,
        ts_ms,
        member(payload, "databaseName", str),
        member(payload, "ddl", str),
        tuple(_table_change(change) for change in objects(payload, "tableChanges")),
        nullable(payload, "schemaName", str),
    )


def _table_change(members: Mapping[str, Any]) -> DebeziumTableChange:
    table = nullable(members, "table", dict)
    return DebeziumTableChange(
        member(members, "type", str), member(members, "id", str), None if table is None else _table(table)
    )


def _table(members: Mapping[str, Any]) -> DebeziumTable:
    return DebeziumTable(
        member(members, "defaultCharsetName", str),
        texts(members, "primaryKeyColumnNames"),
        tuple(_column(column) for column in objects(members, "columns")),
        nullable(members, "comment", str),
    )


def _column(members: Mapping[str, Any]) -> DebeziumColumn:
    return DebeziumColumn(
        name=member(members, "name", str),
        jdbc_type=member(members, "jdbcType", int),
        type_name=member(members, "typeName", str),
        type_expression=member(members, "typeExpression", str),
        position=member(members, "position", int),
        optional=member(members, "optional", bool),
        native_type=nullable(members, "nativeType", int),
        comment=nullable(members, "comment", str),
        default_value_expression=nullable(members, "defaultValueExpression", str),
        enum_values=None if nullable(members, "enumValues", list) is None else texts(members, "enumValues"),
        charset_name=nullable(members, "charsetName", str),
        length=nullable(members, "length", int),
        scale=nullable(members, "scale", int),
        auto_incremented=member(members, "autoIncremented", bool),
        generated=member(members, "generated", bool),
    )


_WORD = (1 << 64) - 1
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
        return (lambda value: str(_number(value) & _WORD)) if column.unsigned else str
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
        return _day
    if kind is MySQLType.DATETIME:
        unit = "milliseconds" if fsp <= _MILLIS_FSP else "microseconds"
        return lambda value: _moment(dt.timedelta(**{unit: value}), fsp)
    if kind is MySQLType.TIMESTAMP:
        return lambda value: _zoned(value, zone, fsp)
    return (lambda value: clock_text(value, fsp)) if kind is MySQLType.DURATION else None


def _number(value: int | str) -> int:
    return int(value) if isinstance(value, str) else value


def debezium_column(field: DebeziumField) -> Column:
    """Return a column from a message's schema. Fraction digits are those of Debezium's unit; UNSIGNED and binary types
    are known only with ``enable-tidb-extension``.
    """
    known = field.tidb_type or ""
    kind, decimal = SEMANTIC_TYPES.get(field.semantic_type or "", (_PLAIN.get(field.type, MySQLType.UNSPECIFIED), 0))
    unsigned = known.endswith("unsigned") or " unsigned" in known
    flags = ColumnFlag.UNSIGNED if unsigned else ColumnFlag.NONE
    flags |= ColumnFlag.NONE if field.optional else ColumnFlag.NOT_NULL
    charset = "binary" if known in BINARY_TYPES or kind is not MySQLType.LONG_BLOB else "utf8mb4"
    return Column(0, field.name, kind, -1, decimal, charset=charset, flags=flags)


def _bits(value: Any) -> str:
    return str(int(value) if isinstance(value, bool) else int.from_bytes(b64decode(value, validate=True), "little"))


def _day(value: int) -> str:
    return _moment(dt.timedelta(days=value), 0)[:10]


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


_OPS: dict[str, RowOp] = {"c": "insert", "u": "update", "d": "delete"}


def event_of(message: DebeziumMessage) -> Event:
    """Return the event of a message, whose record is the event's ``message``."""
    if isinstance(message, DebeziumRow):
        return _row_event(message)
    source = message.source
    if isinstance(message, DebeziumDdl):
        return DdlEvent(message.ddl, source.commit_ts, source.db, source.table, source.ts_ms, message)
    return WatermarkEvent(source.commit_ts, message)


def _row_event(row: DebeziumRow) -> RowEvent:
    source = row.source
    return RowEvent(
        source.db,
        source.table,
        _OPS[row.op],
        source.commit_ts,
        row.before,
        row.after,
        row.key,
        source.ts_ms,
        message=row,
    )
