"""The Kafka Connect schemas of Debezium's control messages: the same for all tables, except ``source``.

In the blocks of a schema change, ``field`` and ``optional`` come before ``type``. Rule sources: semantics 2.4;
reference ``pingcap/tiflow: pkg/sink/codec/debezium/codec.go`` (EncodeDDLEvent, EncodeCheckpointEvent).
"""

from __future__ import annotations

from ticdc_emit.protocols.connect.jsontext import Json, json_object

__all__ = [
    "CHANGE_FIELDS",
    "CHANGE_KEY",
    "CHANGE_VALUE",
    "KEY_FIELDS",
    "KEY_SCHEMA",
    "OP",
    "TRANSACTION",
    "TS_MS",
    "change_value_schema",
    "leaf",
]

CHANGE_KEY = "io.debezium.connector.mysql.SchemaChangeKey"
CHANGE_VALUE = "io.debezium.connector.mysql.SchemaChangeValue"


def leaf(kind: str, optional: bool, name: str) -> bytes:
    """Return the schema of a member of ``source``, of an envelope or of a transaction."""
    return json_object(("type", kind), ("optional", optional), ("field", name))


OP = leaf("string", False, "op")
TS_MS = leaf("int64", True, "ts_ms")
TRANSACTION = json_object(
    ("type", "struct"),
    (
        "fields",
        [
            leaf("string", False, "id"),
            leaf("int64", False, "total_order"),
            leaf("int64", False, "data_collection_order"),
        ],
    ),
    ("optional", True),
    ("name", "event.block"),
    ("version", 1),
    ("field", "transaction"),
)


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

KEY_FIELDS = (_leaf("databaseName", False, "string"),)
KEY_SCHEMA = json_object(
    ("type", "struct"),
    ("name", CHANGE_KEY),
    ("optional", False),
    ("version", 1),
    ("fields", KEY_FIELDS),
)
CHANGE_FIELDS = (
    _leaf("ts_ms", False, "int64"),
    _leaf("databaseName", True, "string"),
    _leaf("schemaName", True, "string"),
    _leaf("ddl", True, "string"),
    _array("tableChanges", False, _CHANGE),
)
"""The members of a schema change after ``source``, which comes first."""


def change_value_schema(source: bytes) -> bytes:
    """Return the schema of a schema change's value; ``source``: that of its first member."""
    return json_object(
        ("optional", False),
        ("type", "struct"),
        ("version", 1),
        ("name", CHANGE_VALUE),
        ("fields", [source, *CHANGE_FIELDS]),
    )
