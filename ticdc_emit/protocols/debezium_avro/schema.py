"""Avro schemas of tables, as the text that TiCDC registers: Debezium's Kafka Connect schemas as Connect's converter
writes them.

In: a table version, options. Out: the schema text of keys or values, byte for byte. Every column is a union with
``null`` first, whether it can be NULL or not. Schemas that goavro refuses are refused. Rule source: reference
``pingcap/ticdc: pkg/sink/codec/debezium/avro.go`` (toAvroSchema) and ``codec.go`` (writeDebeziumFieldSchema).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.connect.types import Connect, connect_type, tidb_type
from ticdc_emit.protocols.debezium_avro.options import DebeziumAvroOptions
from ticdc_emit.protocols.gojson import Json, any_text
from ticdc_emit.protocols.naming import sanitize
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.type_names import UNSPECIFIED_LENGTH, default_length
from ticdc_emit.sql.types import MySQLType

__all__ = [
    "AVRO",
    "DECIMAL",
    "connect_of",
    "field_of",
    "key_schema",
    "record_of",
    "row_columns",
    "source_field",
    "value_schema",
]

DECIMAL = "org.apache.kafka.connect.data.Decimal"
_SOURCE = "Source"
AVRO = {
    "boolean": "boolean",
    "string": "string",
    "bytes": "bytes",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float": "float",
    "double": "double",
}
_SOURCE_FIELDS = (
    ("version", "string"),
    ("connector", "string"),
    ("name", "string"),
    ("ts_ms", "long"),
    ("snapshot", "string?"),
    ("db", "string"),
    ("table", "string"),
    ("server_id", "long"),
    ("gtid", "string?"),
    ("file", "string"),
    ("pos", "long"),
    ("row", "int"),
    ("thread", "long?"),
    ("query", "string?"),
    ("commit_ts", "long"),
    ("cluster_id", "string"),
)


def connect_of(column: Column, options: DebeziumAvroOptions) -> Connect:
    """Return the Kafka Connect type of a column: unlike in JSON, decimals and binary data keep their own types."""
    if column.type is MySQLType.NEWDECIMAL:
        if options.decimal_handling_mode == "string":
            return Connect("string")
        precision, scale = _lengths(column)
        return Connect("bytes", DECIMAL, None, {"precision": str(precision), "scale": str(scale)})
    if _is_text_of_number(column, options):
        return Connect("string")
    return Connect("bytes") if column.is_binary else connect_type(column)


def _is_text_of_number(column: Column, options: DebeziumAvroOptions) -> bool:
    whole = column.type is MySQLType.LONGLONG and column.unsigned
    return whole and options.bigint_unsigned_handling_mode == "string"


def row_columns(table: TableInfo) -> tuple[Column, ...]:
    """Return the columns of a row's schema: those that remain after selectors, then every virtual one (again)."""
    return (*table.shown_columns, *(column for column in table.columns if column.is_virtual))


def key_schema(table: TableInfo, options: DebeziumAvroOptions) -> str:
    """Return the schema of a table's keys; :class:`SchemaError` for one that is not valid."""
    fields = _columns(table, table.shown_handle_key, options)
    return any_text(record_of(_namespace(table, options), f"{sanitize(table.name)}Key", fields))


def value_schema(table: TableInfo, options: DebeziumAvroOptions) -> str:
    """Return the schema of a table's values; :class:`SchemaError` for one that is not valid."""
    space, name = _namespace(table, options), sanitize(table.name)
    if name == _SOURCE:
        raise SchemaError(
            f"a table's record may not be named {_SOURCE}, as Debezium's own record is: TiCDC confuses the two",
            remedy="Rename the table, or leave it out by a filter",
            table=table.full_name,
        )
    row = record_of(space, name, _columns(table, row_columns(table), options))
    fields = [
        field_of("before", row, nullable=True),
        field_of("after", f"{space}.{name}", nullable=True),
        source_field(space),
        field_of("op", "string"),
        field_of("ts_ms", "long"),
    ]
    return any_text({**record_of(space, f"{name}Envelope", fields), "connect.version": 1})


def source_field(space: str) -> dict[str, Any]:
    """Return the field ``source`` of an envelope; ``space``: of its record."""
    return field_of("source", record_of(space, _SOURCE, [_plain(*each) for each in _SOURCE_FIELDS]))


def _namespace(table: TableInfo, options: DebeziumAvroOptions) -> str:
    return f"{sanitize(options.cluster_id)}.{sanitize(table.schema)}"


def record_of(space: str, name: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the record for the Connect struct of its full name."""
    return {
        "type": "record",
        "name": name,
        "namespace": space,
        "connect.name": f"{space}.{name}",
        "fields": fields,
    }


def _columns(table: TableInfo, columns: Iterable[Column], options: DebeziumAvroOptions) -> list[dict[str, Any]]:
    fields: dict[str, dict[str, Any]] = {}
    for column in columns:
        made = field_of(column.name, _described(table, column, options), nullable=True)
        if made["name"] in fields:
            cause = "what Avro does not allow in names becomes an underscore"
            if column.is_virtual:
                cause = "TiCDC lists a virtual column twice, and its rows fail: make it STORED, or drop it"
            raise SchemaError(
                f"the Avro schema has two fields {made['name']!r}",
                remedy=f"Rename a column: {cause}" if not column.is_virtual else cause,
                table=table.full_name,
                column=column.name,
            )
        if options.enable_tidb_extension:
            made["tidb_type"] = tidb_type(column)
        fields[made["name"]] = made
    return list(fields.values())


def field_of(name: str, kind: Json, *, nullable: bool = False) -> dict[str, Any]:
    """Return the field of a Connect struct's member."""
    described: dict[str, Any] = {"name": sanitize(name), "connect.field": name, "type": kind}
    return {**described, "type": ["null", kind], "default": None} if nullable else described


def _plain(name: str, kind: str) -> dict[str, Any]:
    return field_of(name, kind.rstrip("?"), nullable=kind.endswith("?"))


def _described(table: TableInfo, column: Column, options: DebeziumAvroOptions) -> Json:
    if column.type is MySQLType.BIT and column.default in ("", b""):
        raise SchemaError(
            "a BIT default without bits has no schema: TiCDC fails here",
            remedy="Change the column's DEFAULT",
            table=table.full_name,
            column=column.name,
        )
    connect = connect_of(column, options)
    kind: dict[str, Json] = {"type": AVRO[connect.type]}
    if connect.type == "int16":
        kind["connect.type"] = connect.type
    if connect.name is not None:
        kind["connect.name"] = connect.name
    if connect.version is not None:
        kind["connect.version"] = connect.version
    if connect.parameters:
        kind["connect.parameters"] = connect.parameters
    if connect.name == DECIMAL:
        kind["logicalType"] = "decimal"
        kind["precision"], kind["scale"] = _lengths(column)
    return kind if len(kind) > 1 else kind["type"]


def _lengths(column: Column) -> tuple[int, int]:
    precision, scale = default_length(column.type)
    return (
        precision if column.flen == UNSPECIFIED_LENGTH else column.flen,
        scale if column.decimal == UNSPECIFIED_LENGTH else column.decimal,
    )
