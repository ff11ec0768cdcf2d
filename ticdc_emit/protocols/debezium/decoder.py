"""Debezium messages in JSON, with or without a schema, read.

A NULL in a column with a DEFAULT arrives as that default, a date that does not exist as NULL or 1970-01-01. Rule
sources: "TiCDC Debezium Protocol" (data types); ``pingcap/tiflow: pkg/sink/codec/debezium/codec.go``.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import unhexlify
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

from ticdc_emit.config.codec import BinaryMode
from ticdc_emit.protocols.canonical_text import Convert, by_column, converted, per_table, raw_text
from ticdc_emit.protocols.debezium_common.records import (
    DebeziumField,
    DebeziumMessage,
    ddl_event,
    debezium_column,
    debezium_convert,
    nullable,
    row_event,
    watermark_event,
)
from ticdc_emit.protocols.decoder import EventReader, ReaderInputs, RecordReader, record_options
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
)
from ticdc_emit.schema.model import Column, TableInfo

_BYTES: Mapping[BinaryMode, Callable[[str], bytes]] = {
    "base64-url-safe": partial(b64decode, altchars=b"-_", validate=True),
    "hex": unhexlify,
}
"""What reads binary data in the handling modes that do not show base64, as canonical text is."""


class DebeziumReader(RecordReader):
    """Reads the records of a topic. With neither schema nor table, values stay as JSON prints them. The ``message`` of
    an event is a :class:`DebeziumMessage`.

    ``has_schema``: false with ``debezium-disable-schema``. ``has_key``: false for releases up to 8.3. ``binary``: the
    ``debezium-binary-handling-mode``. Other options and errors: see :class:`RecordReader`.
    """

    def __init__(
        self,
        has_schema: bool = True,
        compression: str = "none",
        *,
        has_key: bool = True,
        zone: str = "UTC",
        binary: BinaryMode = "base64",
        **options: Any,
    ) -> None:
        super().__init__(compression, **options)
        self._has_schema = has_schema
        self._has_key = has_key
        self._zone = zone
        self._binary = _BYTES.get(binary)
        self._converts = per_table(self._convert)

    def _event(self, key: bytes | None, value: bytes | None) -> Event:
        key_payload, key_schema = self._part("key", key) if self._has_key else _no_key(key)
        payload, schema = self._part("value", value)
        if "ddl" in payload:
            return ddl_event(payload)
        op = payload.get("op")
        if op == "m":
            return watermark_event(payload)
        before = None if op == "u" and "before" not in payload else nullable(payload, "before", dict)
        after = nullable(payload, "after", dict)
        for part, image in (("key", key_payload), ("value", before or {}), ("value", after or {})):
            check_image(image, part)
        key_fields = None if key_schema is None else _fields(key_schema, "key")
        fields = None if schema is None else _row_fields(schema)
        return row_event(DebeziumMessage(payload, key_fields, fields), key_payload, before, after)

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        source = event.message.payload["source"]
        return repr((event.op, *map(in_any_order, (source, event.key, event.before, event.after))))

    def _image(self, event: RowEvent, image: Image, table: TableInfo | None) -> dict[str, str | None]:
        if table is not None:
            return converted(image, self._converts(table), table=event.table)
        message: DebeziumMessage = event.message
        if message.fields is None:
            return {name: None if value is None else str(value) for name, value in image.items()}
        columns = [debezium_column(field) for field in message.fields if field.name in image]
        return converted(image, by_column(columns, self._convert), table=event.table)

    def _convert(self, column: Column) -> Convert | None:
        binary = self._binary
        if binary is not None and column.is_binary:
            return lambda text: raw_text(binary(text))
        return debezium_convert(column, self._zone)

    def _part(self, part: str, data: bytes | None) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
        if not data:
            raise DecodeError(f"a Debezium message has a {part}", part=part)
        members = document(self._unpacked(data), part, object_pairs_hook=_first_of_each, **GO_NUMBERS)
        if ("schema" in members) != self._has_schema:
            raise DecodeError(
                f"the {part} has {'no' if self._has_schema else 'a'} schema, as with"
                f" debezium-disable-schema={str(self._has_schema).lower()}",
                remedy=f"Give that option, or read it with has_schema={not self._has_schema}",
                part=part,
            )
        schema = member(members, "schema", dict, part=part) if self._has_schema else None
        return member(members, "payload", dict, part=part), schema


def _no_key(key: bytes | None) -> tuple[Mapping[str, Any], None]:
    if key:
        raise DecodeError("the message has a key", remedy="Read it with has_key=True", part="key")
    return {}, None


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # a NULL in a VARBINARY with DEFAULT comes twice: in base64, then as text
    members: dict[str, Any] = {}
    for name, value in pairs:
        members.setdefault(name, value)
    return members


def _row_fields(schema: Mapping[str, Any]) -> tuple[DebeziumField, ...]:
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


def make_reader(inputs: ReaderInputs) -> EventReader:
    codec = inputs.config.codec
    return DebeziumReader(
        not codec.debezium_disable_schema,
        has_key=inputs.config.release.debezium.keys,
        zone=inputs.config.time_zone,
        binary=codec.debezium_binary_handling_mode,
        **record_options(inputs),
    )
