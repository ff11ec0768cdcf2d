"""Reader of TiCDC's Debezium messages. In: key and value of a Kafka record. Out: a record with their content.

Row values are Python values if the message has its schema (:mod:`ticdc_emit.decode.debezium.values`), else JSON values.
Rule sources: "TiCDC Debezium Protocol" (message format); reference ``pingcap/tiflow:
pkg/sink/codec/debezium/codec.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from ticdc_emit.decode.compression import MAX_DECOMPRESSED_BYTES, decompressor
from ticdc_emit.decode.connect.changes import ddl_record, nullable
from ticdc_emit.decode.connect.records import (
    DebeziumField,
    DebeziumMessage,
    DebeziumRow,
    DebeziumSource,
    DebeziumWatermark,
)
from ticdc_emit.decode.connect.source import source_of
from ticdc_emit.decode.debezium.values import typed_image
from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.members import check_image, document, member, objects, tso

__all__ = ["DebeziumReader"]

_IMAGES = {"c": ("after",), "u": ("before", "after"), "d": ("before",)}


class DebeziumReader:
    """Reads the records of a topic.

    ``has_schema``: false with the changefeed's ``debezium-disable-schema``. ``compression``: its
    ``large-message-handle-compression``, of keys and values. Raises :class:`~ticdc_emit.errors.ConfigError` for an
    unknown compression, :class:`~ticdc_emit.errors.MissingDependencyError` without cramjam. ``typed``: whether values
    become Python values if there is a schema; otherwise they stay JSON values. ``max_decompressed_bytes``: the limit of
    a key or value.
    """

    def __init__(
        self,
        has_schema: bool = True,
        compression: str = "none",
        *,
        typed: bool = True,
        max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
    ) -> None:
        self._has_schema = has_schema
        self._typed = typed
        self._unpacked = decompressor(compression, max_decompressed_bytes=max_decompressed_bytes)

    def read(self, key: bytes | None, value: bytes | None) -> DebeziumMessage:
        """Return the message in a record. Raises :class:`DecodeError` if it is not a Debezium message of TiCDC."""
        (key_payload, key_schema), (payload, schema) = self._part("key", key), self._part("value", value)
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
        if key_schema is None or schema is None:
            return DebeziumRow(op, source, ts_ms, key_payload, before, after)
        key_fields, fields = _fields(key_schema, "key"), _row_fields(schema)
        if not self._typed:
            return DebeziumRow(op, source, ts_ms, key_payload, before, after, key_fields, fields)
        return DebeziumRow(
            op,
            source,
            ts_ms,
            typed_image(key_payload, key_fields, "key"),
            None if before is None else typed_image(before, fields, "value"),
            None if after is None else typed_image(after, fields, "value"),
            key_fields,
            fields,
        )

    def _part(self, part: str, data: bytes | None) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
        """Return payload and schema."""
        if not data:
            raise DecodeError(f"a Debezium message has a {part}", part=part)
        hooks = {"object_pairs_hook": _first_of_each, "parse_int": _whole, "parse_constant": _no_number}
        members = document(self._unpacked(data), part, **hooks)
        if ("schema" in members) != self._has_schema:
            raise DecodeError(
                f"the {part} has {'no' if self._has_schema else 'a'} schema",
                remedy=f"Read it with has_schema={not self._has_schema}",
                part=part,
            )
        schema = member(members, "schema", dict, part=part) if self._has_schema else None
        return member(members, "payload", dict, part=part), schema


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Keep the first of two members with the same name: a NULL in a VARBINARY with DEFAULT has it in base64, then as
    text.
    """
    members: dict[str, Any] = {}
    for name, value in pairs:
        members.setdefault(name, value)
    return members


def _whole(text: str) -> int | float:
    """Keep the sign of a float's negative zero, which is printed as an integer."""
    return -0.0 if text == "-0" else int(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


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
