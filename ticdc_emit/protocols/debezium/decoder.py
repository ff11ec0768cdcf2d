"""Debezium messages in JSON, read.

In: key and value of a Kafka record, JSON with or without a schema. Out: rows, DDL and watermarks as
``protocols.debezium_common.records`` defines them, and their events. That module never sees the bytes; here is what
only JSON has: text, the schema inside the message, and values by that schema (:func:`typed_image`):

==================================== ================================================================================
BIT(1)                               bool
BIT(n)                               int: the bytes are little-endian
TINYINT to BIGINT, YEAR              int; a BIGINT UNSIGNED from 2**63 on is negative without ``tidb_type``
FLOAT, DOUBLE, DECIMAL               float (FLOAT without scale: the one that 32 bits hold)
DATE, DATETIME                       date, datetime without zone
TIMESTAMP                            datetime in UTC
TIME                                 timedelta
CHAR, TEXT, JSON, VECTOR, ENUM, SET  str: labels with commas between
BINARY, VARBINARY, BLOB              bytes; text without ``tidb_type``, for nothing else tells them from text
==================================== ================================================================================

With ``debezium-decimal-handling-mode=string`` and ``debezium-bigint-unsigned-handling-mode=string``, numbers are text:
Decimal and int with ``tidb_type``, otherwise str.

A NULL in a column with a DEFAULT arrives as that default, a date that does not exist as NULL or 1970-01-01. The
messages do not distinguish them. Rule sources: "TiCDC Debezium Protocol" (data types); reference ``pingcap/tiflow:
pkg/sink/codec/debezium/codec.go`` (``writeDebeziumFieldValue``).
"""

from __future__ import annotations

import datetime as dt
import struct
from base64 import b64decode
from binascii import unhexlify
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import product
from typing import Any

from ticdc_emit.config.codec import BinaryMode
from ticdc_emit.protocols.canonical_text import BINARY_TYPES, Convert, by_column, converted, per_object, raw_text
from ticdc_emit.protocols.debezium_common.records import (
    DebeziumField,
    DebeziumMessage,
    DebeziumRow,
    DebeziumSource,
    DebeziumWatermark,
    ddl_record,
    debezium_column,
    debezium_convert,
    event_of,
    nullable,
    source_of,
)
from ticdc_emit.protocols.debezium_common.schema import MICRO_TIMESTAMP
from ticdc_emit.protocols.decoder import MAX_DECOMPRESSED_BYTES, EventReader, ReaderInputs, Recognizer, decompressor
from ticdc_emit.protocols.events import (
    GO_NUMBERS,
    DecodeError,
    Event,
    Image,
    RowEvent,
    check_image,
    document,
    in_any_order,
    member,
    objects,
    tso,
)
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import TYPES, MySQLType

_INTEGER_BITS = {"int16": 16, "int32": 32, "int64": 64}
_DAY_ZERO = dt.date(1970, 1, 1)
_EPOCH = dt.datetime(1970, 1, 1)


_BYTES: Mapping[BinaryMode, Callable[[str], bytes]] = {
    "base64": partial(b64decode, validate=True),
    "bytes": partial(b64decode, validate=True),
    "base64-url-safe": partial(b64decode, altchars=b"-_", validate=True),
    "hex": unhexlify,
}
"""What reads binary data as ``debezium-binary-handling-mode`` shows it."""


def typed_image(
    image: Mapping[str, Any], fields: Sequence[DebeziumField], part: str, binary: BinaryMode = "base64"
) -> dict[str, Any]:
    """Return the columns of an image as Python values. ``part``: ``key`` or ``value``, for errors; ``binary``: the form
    of binary data.

    Raises :class:`DecodeError` for a column that the schema does not have, and for a value that is not of its type.
    """
    by_name = {field.name: field for field in fields}
    values = {}
    for name, value in image.items():
        field = by_name.get(name)
        if field is None:
            raise DecodeError("the schema has no such column", part=part, field=name)
        try:
            values[name] = _typed(value, field, binary)
        except (ValueError, OverflowError, struct.error, InvalidOperation) as fault:
            raise DecodeError(
                f"{value!r:.100} is not a value of the type {field.semantic_type or field.type}", part=part, field=name
            ) from fault
    return values


def _typed(value: Any, field: DebeziumField, binary: BinaryMode) -> Any:
    if value is None:
        if not field.optional:
            raise ValueError
        return None
    if field.semantic_type in _SEMANTIC:
        kind, convert = _SEMANTIC[field.semantic_type]
        if kind != field.type:
            raise ValueError
        return convert(value)
    return _plain(value, field, binary)


def _plain(value: Any, field: DebeziumField, binary: BinaryMode) -> Any:
    if field.type == "boolean" and isinstance(value, bool):
        return value
    if field.type in _INTEGER_BITS:
        number = _integer(value, _INTEGER_BITS[field.type])
        return number + (1 << 64) if number < 0 and field.tidb_type == "bigint unsigned" else number
    if field.type == "string":
        text = _text(value)
        if field.tidb_type in BINARY_TYPES:
            return _BYTES[binary](text)
        return _NUMBERS[field.tidb_type](text) if field.tidb_type in _NUMBERS else text
    if field.type == "bytes":
        return _BYTES["bytes"](_text(value))
    if field.type in ("float", "double") and isinstance(value, int | float) and not isinstance(value, bool):
        return struct.unpack("<f", struct.pack("<f", value))[0] if field.type == "float" else float(value)
    raise ValueError


_NUMBERS: Mapping[str | None, Callable[[str], Any]] = {"decimal": Decimal, "bigint unsigned": int}
"""By the type in TiDB: what reads numbers that are shown as text."""


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


_CONVERTS: Mapping[MySQLType, Callable[[Any], Any]] = {
    MySQLType.BIT: lambda value: int.from_bytes(b64decode(_text(value), validate=True), "little"),
    MySQLType.ENUM: _text,
    MySQLType.SET: _text,
    MySQLType.JSON: _text,
    MySQLType.VECTOR_FLOAT32: _text,
    MySQLType.DATE: lambda value: _DAY_ZERO + dt.timedelta(days=_integer(value, 32)),
    MySQLType.DATETIME: lambda value: _EPOCH + dt.timedelta(milliseconds=_integer(value, 64)),
    MySQLType.TIMESTAMP: _timestamp,
    MySQLType.DURATION: lambda value: dt.timedelta(microseconds=_integer(value, 64)),
    MySQLType.YEAR: _year,
}
_SEMANTIC: Mapping[str | None, tuple[str, Callable[[Any], Any]]] = {
    **{TYPES[kind].connect_name: (TYPES[kind].connect, convert) for kind, convert in _CONVERTS.items()},
    MICRO_TIMESTAMP: (
        TYPES[MySQLType.DATETIME].connect,
        lambda value: _EPOCH + dt.timedelta(microseconds=_integer(value, 64)),
    ),
}
"""The Connect type of each semantic type, and its value in Python."""


_IMAGES = {"c": ("after",), "u": ("before", "after"), "d": ("before",)}


class DebeziumReader:
    """Reads the records of a topic.

    ``has_schema``: false with the changefeed's ``debezium-disable-schema``. ``has_key``: false for releases whose
    messages have no keys (up to 8.3). ``compression``: the changefeed's ``large-message-handle-compression``, of keys
    and values. Raises :class:`~ticdc_emit.errors.ConfigError` for an unknown compression,
    :class:`~ticdc_emit.errors.MissingDependencyError` without cramjam. ``typed``: whether values become Python values
    if there is a schema; otherwise they stay JSON values. ``binary``: the ``debezium-binary-handling-mode``.
    ``max_decompressed_bytes``: the limit of a key or value.
    """

    def __init__(
        self,
        has_schema: bool = True,
        compression: str = "none",
        *,
        has_key: bool = True,
        typed: bool = True,
        binary: BinaryMode = "base64",
        max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
    ) -> None:
        self._has_schema = has_schema
        self._has_key = has_key
        self._typed = typed
        self._binary = binary
        self._unpacked = decompressor(compression, max_decompressed_bytes=max_decompressed_bytes)

    def read(self, key: bytes | None, value: bytes | None) -> DebeziumMessage:
        """Return the message in a record. Raises :class:`DecodeError` if it is not a Debezium message of TiCDC."""
        key_payload, key_schema = self._part("key", key) if self._has_key else _no_key(key)
        payload, schema = self._part("value", value)
        source = _source(member(payload, "source", dict))
        ts_ms = member(payload, "ts_ms", int)
        if "ddl" in payload:
            return ddl_record(payload, source, ts_ms)
        op = member(payload, "op", str)
        if op == "m":
            return DebeziumWatermark(source, ts_ms)
        if op not in _IMAGES:
            raise DecodeError(f"{op!r} is not an op of Debezium messages", part="value")
        before, after = _images(op, payload)
        if not (self._typed and self._has_schema):
            for part, image in (("key", key_payload), ("value", before or {}), ("value", after or {})):
                check_image(image, part)
        if schema is None:
            return DebeziumRow(op, source, ts_ms, key_payload, before, after)
        key_fields = None if key_schema is None else _fields(key_schema, "key")
        fields = _row_fields(schema)
        if not self._typed:
            return DebeziumRow(op, source, ts_ms, key_payload, before, after, key_fields, fields)
        return DebeziumRow(
            op,
            source,
            ts_ms,
            typed_image(key_payload, key_fields or (), "key", self._binary),
            None if before is None else typed_image(before, fields, "value", self._binary),
            None if after is None else typed_image(after, fields, "value", self._binary),
            key_fields,
            fields,
        )

    def _part(self, part: str, data: bytes | None) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
        """Return payload and schema."""
        if not data:
            raise DecodeError(f"a Debezium message has a {part}", part=part)
        members = document(self._unpacked(data), part, object_pairs_hook=_first_of_each, **GO_NUMBERS)
        if ("schema" in members) != self._has_schema:
            raise DecodeError(
                f"the {part} has {'no' if self._has_schema else 'a'} schema",
                remedy=f"Read it with has_schema={not self._has_schema}",
                part=part,
            )
        schema = member(members, "schema", dict, part=part) if self._has_schema else None
        return member(members, "payload", dict, part=part), schema


def _no_key(key: bytes | None) -> tuple[Mapping[str, Any], None]:
    if key:
        raise DecodeError("the message has a key", remedy="Read it with has_key=True", part="key")
    return {}, None


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Keep the first of two members with the same name: a NULL in a VARBINARY with DEFAULT has it in base64, then as
    text.
    """
    members: dict[str, Any] = {}
    for name, value in pairs:
        members.setdefault(name, value)
    return members


def _source(members: Mapping[str, Any]) -> DebeziumSource:
    return source_of(
        members,
        snapshot=member(members, "snapshot", str),
        server_id=member(members, "server_id", int),
        gtid=nullable(members, "gtid", str),
        thread=member(members, "thread", int),
        query=nullable(members, "query", str),
        start_ts=tso(members, "start_ts") if "start_ts" in members else None,
    )


def _images(op: str, payload: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """Return the row before and after; an update without old values has no member ``before`` at all."""
    before = None if op == "u" and "before" not in payload else nullable(payload, "before", dict)
    after = nullable(payload, "after", dict)
    for name, image in (("before", before), ("after", after)):
        if (image is not None) != (name in _IMAGES[op]) and (op, name) != ("u", "before"):
            raise DecodeError(f"a change with op {op!r} has {'no' if image is None else 'a'} row {name}", part="value")
    return before, after


def _row_fields(schema: Mapping[str, Any]) -> tuple[DebeziumField, ...]:
    """Return the columns in the schema of a value, which both images share."""
    images = [each for each in objects(schema, "fields") if each.get("field") in ("before", "after")]
    field_lists = [_fields(image, "value") for image in images]
    if len(field_lists) != 2 or field_lists[0] != field_lists[1]:
        raise DecodeError("the schema does not have one row for before and after", part="value", member="fields")
    return field_lists[0]


def _fields(schema: Mapping[str, Any], part: str) -> tuple[DebeziumField, ...]:
    return tuple(_field(members, part) for members in objects(schema, "fields", part=part))


def _field(members: Mapping[str, Any], part: str) -> DebeziumField:
    return DebeziumField(
        name=member(members, "field", str, part=part),
        type=member(members, "type", str, part=part),
        optional=member(members, "optional", bool, part=part),
        semantic_type=member(members, "name", str, part=part) if "name" in members else None,
        parameters=member(members, "parameters", dict, part=part) if "parameters" in members else {},
        default=members.get("default"),
        tidb_type=member(members, "tidb_type", str, part=part) if "tidb_type" in members else None,
    )


class DebeziumEvents(EventReader):
    """A reader of Debezium messages with and without schema.

    Without a schema and without a table, values stay as JSON prints them.
    """

    def __init__(self, inputs: ReaderInputs) -> None:
        codec = inputs.config.codec
        has_schema = not codec.debezium_disable_schema
        self._reader = DebeziumReader(
            has_schema,
            codec.large_message_handle.compression,
            has_key=inputs.config.release.debezium.keys,
            typed=False,
            max_decompressed_bytes=inputs.max_decompressed_bytes,
        )
        self._zone = inputs.config.time_zone
        mode = codec.debezium_binary_handling_mode
        self._binary = None if mode in ("base64", "bytes") else _BYTES[mode]  # canonical text is base64
        self._converts: Callable[[TableInfo], dict[str, Convert]] = per_object(
            lambda table: self._converts_of(table.columns)
        )

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        return event_of(self._reader.read(key, value))

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        row: DebeziumRow = event.message
        images = in_any_order(row.key), in_any_order(row.before), in_any_order(row.after)
        return repr((row.op, row.source, images))

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        if image is None:
            return None
        if table is not None:
            return converted(image, self._converts(table), table=event.table)
        message: DebeziumRow = event.message
        if message.fields is None:
            return {name: None if value is None else str(value) for name, value in image.items()}
        columns = [debezium_column(field) for field in message.fields if field.name in image]
        return converted(image, self._converts_of(columns), table=event.table)

    def _converts_of(self, columns: Iterable[Column]) -> dict[str, Convert]:
        return by_column(columns, self._convert)

    def _convert(self, column: Column) -> Convert | None:
        binary = self._binary
        if binary is not None and column.is_binary:
            return lambda text: raw_text(binary(text))
        return debezium_convert(column, self._zone)


def make_reader(inputs: ReaderInputs) -> EventReader:
    return DebeziumEvents(inputs)


def recognizers() -> Mapping[str, list[Recognizer]]:
    """Return functions that accept only these messages, with and without schema and key."""
    forms = product((True, False), repeat=2)
    return {"debezium": [DebeziumReader(schema, has_key=key, typed=False).read for schema, key in forms]}
