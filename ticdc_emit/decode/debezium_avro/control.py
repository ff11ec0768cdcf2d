"""The schemas of DDL and watermarks in Avro (``avro-enable-watermark``), which are fixed except for record names.

In: a schema text, as a registry has it. Out: which of the two it is, and the schema that fastavro reads by. As with
rows, any other schema is refused before decoding. Rule source: reference ``pingcap/ticdc:
pkg/sink/codec/debezium/codec.go`` (EncodeDDLEvent, EncodeCheckpointEvent).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from ticdc_emit.decode.errors import OTHER_SCHEMAS, DecodeError
from ticdc_emit.json_depth import parsed

__all__ = ["ControlSchema", "control_schema"]


class ControlSchema(Enum):
    """The kind of a message that is not a row."""

    DDL = "DDL"
    WATERMARK = "watermark"


_NAMES = {
    "key": {"SchemaChangeKey": ControlSchema.DDL, "Key": ControlSchema.WATERMARK},
    "value": {"SchemaChangeValue": ControlSchema.DDL, "Envelope": ControlSchema.WATERMARK},
}
"""The last parts of record names. For rows, they are Key and Envelope after the table name."""


def _members(text: str) -> dict[str, Any]:
    """Return a record's members by name from ``name:type``; a type with ``?`` is nullable."""
    pairs = (entry.split(":") for entry in text.split())
    return {name: ["null", kind.rstrip("?")] if kind.endswith("?") else kind for name, kind in pairs}


_SOURCE = _members(
    "version:string connector:string name:string ts_ms:long snapshot:string? db:string table:string server_id:long "
    "gtid:string? file:string pos:long row:int thread:long? query:string? commit_ts:long cluster_id:string"
)
_TEXTS = ["array", "string"]
_COLUMN = {
    **_members(
        "name:string jdbcType:int nativeType:int? typeName:string typeExpression:string? charsetName:string? "
        "length:int? scale:int? position:int optional:boolean? autoIncremented:boolean? generated:boolean? "
        "comment:string? defaultValueExpression:string?"
    ),
    "enumValues": ["null", _TEXTS],
}
_TABLE = {
    "defaultCharsetName": ["null", "string"],
    "primaryKeyColumnNames": ["null", _TEXTS],
    "columns": ["array", _COLUMN],
    "comment": ["null", "string"],
}
_CHANGE = {**_members("type:string id:string"), "table": ["null", _TABLE]}
_SHAPES: Mapping[tuple[ControlSchema, str], Any] = {
    (ControlSchema.DDL, "key"): _members("databaseName:string"),
    (ControlSchema.DDL, "value"): {
        "source": _SOURCE,
        **_members("ts_ms:long databaseName:string? schemaName:string? ddl:string?"),
        "tableChanges": ["array", _CHANGE],
    },
    (ControlSchema.WATERMARK, "key"): {},
    (ControlSchema.WATERMARK, "value"): {
        "source": _SOURCE,
        **_members("op:string ts_ms:long?"),
        "transaction": ["null", _members("id:string total_order:long data_collection_order:long")],
    },
}
"""A record is a mapping of its members, an array or a union with null a list of two."""


def control_schema(text: str, part: str) -> tuple[ControlSchema, Mapping[str, Any]] | None:
    """Return the kind of a control message's schema, and the schema without logical types; ``None`` for a row's schema.

    Raises :class:`DecodeError` for one with the right name and another shape.
    """
    try:
        given = parsed(text.encode())
    except ValueError:
        return None
    kind = _NAMES[part].get(str(given.get("name"))) if isinstance(given, Mapping) else None
    if kind is None:
        return None
    shape = _SHAPES[kind, part]
    if json.dumps(_shape(given)) != json.dumps(shape):  # the order of members matters
        raise DecodeError(f"the schema does not describe a {kind.value}", remedy=OTHER_SCHEMAS, part=part)
    return kind, _plain(shape, [0])


def _shape(given: Any) -> Any:
    """Return a schema in the form of :data:`_SHAPES`; any other value for a schema without such a form."""
    if isinstance(given, list):
        return [_shape(each) for each in given]
    if not isinstance(given, Mapping):
        return given
    if given.get("type") == "array":
        return ["array", _shape(given.get("items"))]
    fields = given.get("fields")
    if given.get("type") != "record" or not isinstance(fields, list):
        return None
    named = [each if isinstance(each, Mapping) else {} for each in fields]
    return {str(each.get("name")): _shape(each.get("type")) for each in named}


def _plain(shape: Any, count: list[int]) -> Any:
    """Return a schema of this shape with unique record names."""
    if isinstance(shape, Mapping):
        count[0] += 1
        name = f"record{count[0]}"
        fields = [{"name": each, "type": _plain(kind, count)} for each, kind in shape.items()]
        return {"type": "record", "name": name, "fields": fields}
    if isinstance(shape, list):
        first, second = shape
        return (
            {"type": "array", "items": _plain(second, count)} if first == "array" else ["null", _plain(second, count)]
        )
    return shape
