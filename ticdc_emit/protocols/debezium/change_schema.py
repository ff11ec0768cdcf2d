"""The Kafka Connect schemas of DDL messages: the same for all tables.

In their own blocks ``field`` and ``optional`` stand before ``type``. Rule sources: semantics 2.4; reference
``pingcap/tiflow: pkg/sink/codec/debezium/codec.go`` (EncodeDDLEvent).
"""

from __future__ import annotations

from ticdc_emit.protocols.connect.jsontext import Json, json_object
from ticdc_emit.protocols.debezium.connect import source_schema
from ticdc_emit.protocols.debezium.options import DebeziumOptions

__all__ = ["KEY_SCHEMA", "change_value_schema"]


def _leaf(name: str, optional: bool, kind: str) -> bytes:
    return json_object(("field", name), ("optional", optional), ("type", kind))


def _array(name: str, optional: bool, items: Json) -> bytes:
    return json_object(("field", name), ("optional", optional), ("type", "array"), ("items", items))


def _struct(name: str, *fields: Json) -> bytes:
    return json_object(
        ("name", f"io.debezium.connector.schema.{name}"),
        ("optional", False),
        ("type", "struct"),
        ("version", 1),
        ("fields", fields),
    )


_TEXTS: Json = {"type": "string", "optional": False}

_COLUMN = _struct(
    "Column",
    _leaf("name", False, "string"),
    _leaf("jdbcType", False, "int32"),
    _leaf("nativeType", True, "int32"),
    _leaf("typeName", False, "string"),
    _leaf("typeExpression", True, "string"),
    _leaf("charsetName", True, "string"),
    _leaf("length", True, "int32"),
    _leaf("scale", True, "int32"),
    _leaf("position", False, "int32"),
    _leaf("optional", True, "boolean"),
    _leaf("autoIncremented", True, "boolean"),
    _leaf("generated", True, "boolean"),
    _leaf("comment", True, "string"),
    _leaf("defaultValueExpression", True, "string"),
    _array("enumValues", True, _TEXTS),
)
_TABLE = json_object(
    ("field", "table"),
    ("optional", True),
    ("type", "struct"),
    ("name", "io.debezium.connector.schema.Table"),
    ("version", 1),
    (
        "fields",
        [
            _leaf("defaultCharsetName", True, "string"),
            _array("primaryKeyColumnNames", True, _TEXTS),
            _array("columns", False, _COLUMN),
            _leaf("comment", True, "string"),
        ],
    ),
)
_CHANGE = _struct("Change", _leaf("type", False, "string"), _leaf("id", False, "string"), _TABLE)

KEY_SCHEMA = json_object(
    ("type", "struct"),
    ("name", "io.debezium.connector.mysql.SchemaChangeKey"),
    ("optional", False),
    ("version", 1),
    ("fields", [_leaf("databaseName", False, "string")]),
)


def change_value_schema(options: DebeziumOptions) -> bytes:
    """Return the schema of values."""
    return json_object(
        ("optional", False),
        ("type", "struct"),
        ("version", 1),
        ("name", "io.debezium.connector.mysql.SchemaChangeValue"),
        (
            "fields",
            [
                source_schema(options),
                _leaf("ts_ms", False, "int64"),
                _leaf("databaseName", True, "string"),
                _leaf("schemaName", True, "string"),
                _leaf("ddl", True, "string"),
                _array("tableChanges", False, _CHANGE),
            ],
        ),
    )
