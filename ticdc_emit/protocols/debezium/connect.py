"""Kafka Connect schema blocks of row and watermark messages: the ``schema`` beside each ``payload``.

In: a table version and the options. Out: JSON text that is the same for every row of the version. Rule sources:
protocol document "Schema" and "Data type mapping"; semantics 2.4; reference ``pingcap/tiflow:
pkg/sink/codec/debezium/codec.go`` (writeDebeziumFieldSchema, writeSourceSchema, EncodeKey, EncodeValue).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ticdc_emit.protocols.debezium.defaults import schema_default
from ticdc_emit.protocols.debezium.jsontext import Json, json_object
from ticdc_emit.protocols.debezium.options import DebeziumOptions
from ticdc_emit.protocols.naming import escaped_label
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.typenames import type_name
from ticdc_emit.schema.types import STRING_TYPES, MySQLType

__all__ = ["envelope_schema", "field_schema", "key_schema", "source_schema", "watermark_schema"]

_Member: TypeAlias = "tuple[str, Json]"

_MILLIS_FSP = 3
_SIGN_IS_SILENT = frozenset({MySQLType.YEAR, MySQLType.BIT, MySQLType.VARCHAR, MySQLType.STRING, MySQLType.NEWDECIMAL})
_PLAIN = {
    MySQLType.TINY: "int16",
    MySQLType.SHORT: "int16",
    MySQLType.INT24: "int32",
    MySQLType.LONG: "int32",
    MySQLType.LONGLONG: "int64",
    MySQLType.DOUBLE: "double",
    MySQLType.NEWDECIMAL: "double",
} | dict.fromkeys(STRING_TYPES, "string")
_UNSIGNED = {MySQLType.SHORT: "int32", MySQLType.LONG: "int64"}
_NAMED = {
    MySQLType.ENUM: ("string", "io.debezium.data.Enum"),
    MySQLType.SET: ("string", "io.debezium.data.EnumSet"),
    MySQLType.JSON: ("string", "io.debezium.data.Json"),
    MySQLType.DATE: ("int32", "io.debezium.time.Date"),
    MySQLType.NEWDATE: ("int32", "io.debezium.time.Date"),
    MySQLType.TIMESTAMP: ("string", "io.debezium.time.ZonedTimestamp"),
    MySQLType.DURATION: ("int64", "io.debezium.time.MicroTime"),
    MySQLType.YEAR: ("int32", "io.debezium.time.Year"),
}


def _leaf(kind: str, optional: bool, name: str) -> bytes:
    return json_object(("type", kind), ("optional", optional), ("field", name))


_SOURCE = (
    _leaf("string", False, "version"),
    _leaf("string", False, "connector"),
    _leaf("string", False, "name"),
    _leaf("int64", False, "ts_ms"),
    json_object(
        ("type", "string"),
        ("optional", True),
        ("name", "io.debezium.data.Enum"),
        ("version", 1),
        ("parameters", {"allowed": "true,last,false,incremental"}),
        ("default", "false"),
        ("field", "snapshot"),
    ),
    _leaf("string", False, "db"),
    _leaf("string", True, "sequence"),
    _leaf("string", True, "table"),
    _leaf("int64", False, "server_id"),
    _leaf("string", True, "gtid"),
    _leaf("string", False, "file"),
    _leaf("int64", False, "pos"),
    _leaf("int32", False, "row"),
    _leaf("int64", True, "thread"),
    _leaf("string", True, "query"),
)
_SOURCE_EXTENSION = (_leaf("int64", False, "commit_ts"), _leaf("string", False, "cluster_id"))
_OP_SCHEMA = _leaf("string", False, "op")
_TS_MS_SCHEMA = _leaf("int64", True, "ts_ms")
_TRANSACTION_SCHEMA = json_object(
    ("type", "struct"),
    (
        "fields",
        [
            _leaf("string", False, "id"),
            _leaf("int64", False, "total_order"),
            _leaf("int64", False, "data_collection_order"),
        ],
    ),
    ("optional", True),
    ("name", "event.block"),
    ("version", 1),
    ("field", "transaction"),
)


def source_schema(options: DebeziumOptions) -> bytes:
    """Return the schema of ``source``."""
    return json_object(
        ("type", "struct"),
        ("fields", [*_SOURCE, *(_SOURCE_EXTENSION if options.extends_source_schema else ())]),
        ("optional", False),
        ("name", "io.debezium.connector.mysql.Source"),
        ("field", "source"),
    )


def key_schema(prefix: str, fields: Iterable[bytes]) -> bytes:
    """Return the schema of a key; ``prefix`` begins its name (``protocols.debezium.naming``)."""
    return json_object(("type", "struct"), ("name", f"{prefix}.Key"), ("optional", False), ("fields", list(fields)))


def envelope_schema(prefix: str, table: TableInfo, options: DebeziumOptions) -> bytes:
    """Return the schema of row messages; hidden virtual columns are shown too."""
    virtual = [column for column in table.columns if column.is_virtual]
    first = table.data_columns if options.switches.virtual_columns == "last" else table.shown_columns
    fields = [field_schema(column, tidb_type=options.enable_tidb_extension) for column in (*first, *virtual)]
    before, after = (
        json_object(
            ("type", "struct"), ("optional", True), ("name", f"{prefix}.Value"), ("field", image), ("fields", fields)
        )
        for image in ("before", "after")
    )
    return _envelope(prefix, before, after, source_schema(options), _OP_SCHEMA, _TS_MS_SCHEMA, _TRANSACTION_SCHEMA)


def watermark_schema(prefix: str, options: DebeziumOptions) -> bytes:
    """Return the schema of watermark messages."""
    return _envelope(prefix, source_schema(options), _OP_SCHEMA, _TS_MS_SCHEMA, _TRANSACTION_SCHEMA)


def _envelope(prefix: str, *fields: bytes) -> bytes:
    return json_object(
        ("type", "struct"), ("optional", False), ("name", f"{prefix}.Envelope"), ("version", 1), ("fields", fields)
    )


def field_schema(column: Column, *, tidb_type: bool) -> bytes:
    """Return the schema of one column; ``tidb_type``: with the TiDB extension's own member."""
    members: list[_Member] = [("tidb_type", _tidb_type(column))] if tidb_type else []
    if column.type is MySQLType.BIT and column.default in ("", b""):
        return json_object(*members)  # a default without bits ends what TiCDC writes of the field
    kind, *semantics = _connect_type(column)
    members += [kind, ("optional", column.nullable), *semantics, ("field", column.name)]
    default = schema_default(column)
    if default is not None:
        members.append(("default", default))
    return json_object(*members)


def _connect_type(column: Column) -> list[_Member]:
    """Return the member ``type``, then those of the semantic type."""
    kind = column.type
    if kind is MySQLType.BIT:
        if column.flen == 1:
            return [("type", "boolean")]
        return [*_semantic("bytes", "io.debezium.data.Bits"), ("parameters", {"length": str(column.flen)})]
    if kind is MySQLType.FLOAT:
        return [("type", "float" if column.decimal < 0 else "double")]
    if kind is MySQLType.DATETIME:
        short = column.decimal <= _MILLIS_FSP
        return _semantic("int64", f"io.debezium.time.{'Timestamp' if short else 'MicroTimestamp'}")
    if kind is MySQLType.VECTOR_FLOAT32:
        return [("type", "string"), ("name", "io.debezium.data.TiDBVectorFloat32")]
    if kind is MySQLType.ENUM:
        return [*_semantic(*_NAMED[kind]), ("parameters", {"allowed": ",".join(map(escaped_label, column.elems))})]
    if kind is MySQLType.SET:
        return [*_semantic(*_NAMED[kind]), ("parameters", {"allowed": ",".join(column.elems)})]
    if kind in _NAMED:
        return _semantic(*_NAMED[kind])
    return [("type", _UNSIGNED[kind] if column.unsigned and kind in _UNSIGNED else _PLAIN[kind])]


def _semantic(kind: str, name: str) -> list[_Member]:
    return [("type", kind), ("name", name), ("version", 1)]


def _tidb_type(column: Column) -> str:
    name = type_name(column.type, column.charset)
    return f"{name} unsigned" if column.unsigned and column.type not in _SIGN_IS_SILENT else name
