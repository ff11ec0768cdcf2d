"""DDL messages and watermarks in Avro, which exist for tests only (``avro-enable-watermark``).

In: a DDL event or a TSO, and the headers of the schemas, by their texts. Out: a message: the content of Debezium's JSON
in Avro. Subjects are the schemas' own names, for any topic. The schema of a DDL contains its database, and all of them
share a subject. A running TiCDC writes each DDL with the schema of the first one that it sent, which differs only in
that name; here each has its own. Rule source: reference ``pingcap/ticdc: pkg/sink/codec/debezium/avro.go``
(encodeAvroMessage, toAvroSchema, toNative).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.columnar.avro import zigzag_bytes
from ticdc_emit.errors import RegistryError
from ticdc_emit.protocols.connect.change_schema import (
    CHANGE_FIELDS,
    CHANGE_KEY,
    CHANGE_VALUE,
    KEY_FIELDS,
    OP,
    TRANSACTION,
    TS_MS,
)
from ticdc_emit.protocols.connect.control import ddl_payloads, is_sent, watermark_payloads
from ticdc_emit.protocols.debezium_avro.schema import AVRO, field_of, record_of, source_field
from ticdc_emit.protocols.gojson import any_text
from ticdc_emit.protocols.naming import sanitize
from ticdc_emit.schema.defaults import go_utf8
from ticdc_emit.schema.events import DdlEvent

__all__ = ["Headers", "control_schemas", "ddl_message", "watermark_message"]

Headers = Mapping[str, bytes]
_WATERMARK = "watermark"
_LIMIT = 1 << 63
"""From here on, a TSO that Go reads from JSON is a double beyond int64."""


@dataclass(frozen=True)
class _Schema:
    """``subject``: the subject under which the ``text`` of the ``record`` is registered."""

    subject: str
    record: Mapping[str, Any]
    text: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> _Schema:
        return cls(record["connect.name"], record, any_text(record))

    def message(self, payload: bytes, headers: Headers) -> bytes:
        header = headers.get(self.text)
        if header is None:
            raise RegistryError(
                "the schema of a control message is not registered",
                remedy="Register the schemas of DDL and watermarks before their messages are made",
                subject=self.subject,
            )
        return header + _encoded(self.record, json.loads(go_utf8(payload)))


def control_schemas(event: DdlEvent | None, cluster_id: str) -> Mapping[str, str]:
    """Return the schema texts of a DDL or a watermark (``None``) by their subjects, in order of registration."""
    if event is None:
        schemas: Sequence[_Schema] = _of_watermarks(cluster_id)
    else:
        schemas = _of_ddl(cluster_id, event.schema) if is_sent(event) else ()
    return {schema.subject: schema.text for schema in schemas}


def ddl_message(event: DdlEvent, build_ts: int, cluster_id: str, headers: Headers) -> ControlMessage | None:
    """Return the message of a DDL, ``None`` if its kind is not sent; ``build_ts`` is the wall clock in ms.

    Raises :class:`~ticdc_emit.errors.SchemaError` where TiCDC fails at the statement, and :class:`RegistryError`
    where a schema has no header.
    """
    made = ddl_payloads(event, build_ts, cluster_id)
    return None if made is None else _message(_of_ddl(cluster_id, event.schema), made, headers, event.commit_ts)


def watermark_message(ts: int, build_ts: int, cluster_id: str, headers: Headers) -> ControlMessage:
    """Return the watermark of the TSO ``ts``; ``build_ts`` is the wall clock in ms.

    Raises :class:`RegistryError` where a schema has no header.
    """
    return _message(_of_watermarks(cluster_id), watermark_payloads(ts, build_ts, cluster_id), headers, ts)


def _message(
    schemas: tuple[_Schema, _Schema], payloads: tuple[bytes, bytes], headers: Headers, ts: int
) -> ControlMessage:
    key, value = (schema.message(payload, headers) for schema, payload in zip(schemas, payloads, strict=True))
    return ControlMessage(key, value, ts)


@cache
def _of_watermarks(cluster_id: str) -> tuple[_Schema, _Schema]:
    space = f"{sanitize(cluster_id)}.{_WATERMARK}"
    fields = [source_field(space), *map(_field, (OP, TS_MS, TRANSACTION))]
    envelope = {**record_of(space, "Envelope", fields), "connect.version": 1}
    return _Schema.of(record_of(space, "Key", [])), _Schema.of(envelope)


@cache
def _of_ddl(cluster_id: str, database: str) -> tuple[_Schema, _Schema]:
    source = source_field(f"{sanitize(cluster_id)}.{sanitize(database)}")
    key, value = _named(CHANGE_KEY, list(map(_field, KEY_FIELDS))), [source, *map(_field, CHANGE_FIELDS)]
    return _Schema.of(key), _Schema.of(_named(CHANGE_VALUE, value))


def _named(name: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    space, _, own = name.rpartition(".")
    return {**record_of(space, own, fields), "connect.version": 1}


def _field(schema: bytes) -> dict[str, Any]:
    return _member(json.loads(schema))


def _member(described: Mapping[str, Any]) -> dict[str, Any]:
    return field_of(described["field"], _kind(described), nullable=described["optional"])


def _kind(described: Mapping[str, Any]) -> Any:
    """Return the Avro type of a Connect schema."""
    if described["type"] == "struct":
        return _named(described["name"], list(map(_member, described["fields"])))
    if described["type"] == "array":
        return {"type": "array", "items": _kind(described["items"])}
    return AVRO[described["type"]]


def _encoded(kind: Any, value: Any) -> bytes:
    """Return a value in Avro's form."""
    if isinstance(kind, list):
        return b"\0" if value is None else b"\2" + _encoded(kind[1], value)
    if isinstance(kind, Mapping) and kind["type"] == "record":
        return b"".join(_encoded(field["type"], value.get(field["connect.field"])) for field in kind["fields"])
    if isinstance(kind, Mapping):
        items = b"".join(_encoded(kind["items"], item) for item in value)
        return (zigzag_bytes(len(value)) + items if value else b"") + b"\0"
    if kind == "string":
        raw: bytes = value.encode()
        return zigzag_bytes(len(raw)) + raw
    number = int(value)
    return bytes([number]) if kind == "boolean" else zigzag_bytes(number if number < _LIMIT else -_LIMIT)
