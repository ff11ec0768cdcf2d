"""The schemas of DDL and watermarks in Avro (``avro-enable-watermark``): fixed but for the names of their records.

In: a schema text, as a registry has it. Out: which of the two it is, and what fastavro reads messages by. As with rows,
a schema of any other shape is refused before a decoder sees it. Rule source: reference ``pingcap/ticdc:
pkg/sink/codec/debezium/codec.go`` (EncodeDDLEvent, EncodeCheckpointEvent).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.json_depth import parsed

__all__ = ["ControlSchema", "control_schema"]


class ControlSchema(Enum):
    """What a message is, if it is not a row."""

    DDL = "DDL"
    WATERMARK = "watermark"


_NAMES = {
    "key": {"SchemaChangeKey": ControlSchema.DDL, "Key": ControlSchema.WATERMARK},
    "value": {"SchemaChangeValue": ControlSchema.DDL, "Envelope": ControlSchema.WATERMARK},
}
"""The last parts of the names of records; those of rows end in Key and Envelope behind the name of their table."""


def _members(text: str) -> dict[str, Any]:
    """Return a record's members by name from ``name:type``; of a type with ``?`` null is one too."""
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
    """Return which control message a schema is of, and the schema without what fields stand for; ``None``: of a row.

    Raises :class:`DecodeError` for one that has the name and not the shape.
    """
    try:
        given = parsed(text.encode())
    except ValueError:
        return None
    kind = _NAMES[part].get(str(given.get("name"))) if isinstance(given, Mapping) else None
    if kind is None:
        return None
    shape = _SHAPES[kind, part]
    if json.dumps(_shape(given)) != json.dumps(shape):  # the order of members counts
        raise DecodeError(f"the schema is not the one of a {kind.value}", part=part)
    return kind, _plain(shape, [0])


def _shape(given: Any) -> Any:
    """Return what a schema is, as :data:`_SHAPES` says it; anything for one that has no shape of theirs."""
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
    """Return a schema of this shape, whose records have names of their own."""
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
