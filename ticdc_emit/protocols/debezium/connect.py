"""Kafka Connect schema blocks of row and watermark messages: the ``schema`` next to each ``payload``.

In: a table version and the options. Out: JSON text that is the same for every row of the version. Rule sources:
protocol document "Schema" and "Data type mapping"; semantics 2.4; reference ``pingcap/tiflow:
pkg/sink/codec/debezium/codec.go`` (writeDebeziumFieldSchema, writeSourceSchema, EncodeKey, EncodeValue).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ticdc_emit.protocols.connect.change_schema import OP, TRANSACTION, TS_MS, leaf
from ticdc_emit.protocols.connect.jsontext import Json, json_object
from ticdc_emit.protocols.connect.types import connect_type, schema_default
from ticdc_emit.protocols.connect.types import tidb_type as type_of_tidb
from ticdc_emit.protocols.debezium.options import DebeziumOptions
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import MySQLType

__all__ = ["envelope_schema", "field_schema", "key_schema", "source_schema", "watermark_schema"]

_Member: TypeAlias = "tuple[str, Json]"


_SOURCE = (
    leaf("string", False, "version"),
    leaf("string", False, "connector"),
    leaf("string", False, "name"),
    leaf("int64", False, "ts_ms"),
    json_object(
        ("type", "string"),
        ("optional", True),
        ("name", "io.debezium.data.Enum"),
        ("version", 1),
        ("parameters", {"allowed": "true,last,false,incremental"}),
        ("default", "false"),
        ("field", "snapshot"),
    ),
    leaf("string", False, "db"),
    leaf("string", True, "sequence"),
    leaf("string", True, "table"),
    leaf("int64", False, "server_id"),
    leaf("string", True, "gtid"),
    leaf("string", False, "file"),
    leaf("int64", False, "pos"),
    leaf("int32", False, "row"),
    leaf("int64", True, "thread"),
    leaf("string", True, "query"),
)
_SOURCE_EXTENSION = (leaf("int64", False, "commit_ts"), leaf("string", False, "cluster_id"))


def source_schema(options: DebeziumOptions, *, start_ts: bool = False) -> bytes:
    """Return the schema of ``source``. ``start_ts``: with that field, as in rows."""
    extension = _SOURCE_EXTENSION if options.extends_source_schema else ()
    return json_object(
        ("type", "struct"),
        ("fields", [*_SOURCE, *extension, *([leaf("int64", False, "start_ts")] if start_ts else ())]),
        ("optional", False),
        ("name", "io.debezium.connector.mysql.Source"),
        ("field", "source"),
    )


def key_schema(prefix: str, fields: Iterable[bytes]) -> bytes:
    """Return the schema of a key; ``prefix`` begins its name (``protocols.debezium.naming``)."""
    return json_object(("type", "struct"), ("name", f"{prefix}.Key"), ("optional", False), ("fields", list(fields)))


def envelope_schema(prefix: str, table: TableInfo, options: DebeziumOptions) -> bytes:
    """Return the schema of row messages, including hidden virtual columns."""
    virtual = [column for column in table.columns if column.is_virtual]
    first = table.data_columns if options.switches.virtual_columns == "last" else table.shown_columns
    fields = [field_schema(column, tidb_type=options.enable_tidb_extension) for column in (*first, *virtual)]
    before, after = (
        json_object(
            ("type", "struct"), ("optional", True), ("name", f"{prefix}.Value"), ("field", image), ("fields", fields)
        )
        for image in ("before", "after")
    )
    source = source_schema(options, start_ts=options.include_start_ts)
    return _envelope(prefix, before, after, source, OP, TS_MS, TRANSACTION)


def watermark_schema(prefix: str, options: DebeziumOptions) -> bytes:
    """Return the schema of watermark messages."""
    return _envelope(prefix, source_schema(options), OP, TS_MS, TRANSACTION)


def _envelope(prefix: str, *fields: bytes) -> bytes:
    return json_object(
        ("type", "struct"), ("optional", False), ("name", f"{prefix}.Envelope"), ("version", 1), ("fields", fields)
    )


def field_schema(column: Column, *, tidb_type: bool) -> bytes:
    """Return the schema of one column; ``tidb_type``: with the TiDB extension's own member."""
    members: list[_Member] = [("tidb_type", type_of_tidb(column))] if tidb_type else []
    if column.type is MySQLType.BIT and column.default in ("", b""):
        return json_object(*members)  # TiCDC stops writing the field after a default without bits
    kind = connect_type(column)
    members += [("type", kind.type), ("optional", column.nullable)]
    if kind.name is not None:
        members.append(("name", kind.name))
    if kind.version is not None:
        members.append(("version", kind.version))
    if kind.parameters:
        members.append(("parameters", kind.parameters))
    members.append(("field", column.name))
    default = schema_default(column)
    if default is not None:
        members.append(("default", default))
    return json_object(*members)
