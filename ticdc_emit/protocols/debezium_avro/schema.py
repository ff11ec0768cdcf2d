"""The schemas of Debezium's messages in Avro: of rows, DDL and watermarks, to register and to compare. Rule source:
``pingcap/ticdc: pkg/sink/codec/debezium/avro.go`` (toAvroSchema).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.debezium_common.schema import (
    CHANGE_KEY,
    CHANGE_VALUE,
    OP,
    TRANSACTION,
    TS_MS,
    Connect,
    DebeziumSettings,
    Member,
    Struct,
    connect_type,
    members_of,
    tidb_type,
)
from ticdc_emit.protocols.names import sanitize
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import TYPES, UNSPECIFIED_LENGTH, MySQLType

Record = Mapping[str, Any]
DECIMAL = "org.apache.kafka.connect.data.Decimal"
ENVELOPE = ("before", "after", "source", "op", "ts_ms")
_SOURCE = "Source"
_SOURCE_MEMBERS = members_of(
    "version:string connector:string name:string ts_ms:int64 snapshot:string? db:string table:string server_id:int64 "
    "gtid:string? file:string pos:int64 row:int32 thread:int64? query:string? commit_ts:int64 cluster_id:string"
)
_AVRO = {
    "boolean": "boolean",
    "string": "string",
    "bytes": "bytes",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float": "float",
    "double": "double",
}


def connect_of(column: Column, settings: DebeziumSettings) -> Connect:
    """Return the Kafka Connect type of a column: unlike in JSON, decimals and binary data keep their own types."""
    if column.type is MySQLType.NEWDECIMAL:
        if settings.codec.avro_decimal_handling_mode == "string":
            return Connect("string")
        precision, scale = _lengths(column)
        return Connect("bytes", DECIMAL, None, {"precision": str(precision), "scale": str(scale)})
    is_long = column.type is MySQLType.LONGLONG and column.unsigned
    if is_long and settings.codec.avro_bigint_unsigned_handling_mode == "string":
        return Connect("string")
    return Connect("bytes") if column.is_binary else connect_type(column, settings)


def row_columns(table: TableInfo) -> tuple[Column, ...]:
    """Return the columns of a row's schema: those that remain after selectors, then every virtual one (again)."""
    return (*table.shown_columns, *(column for column in table.columns if column.is_virtual))


def key_schema(table: TableInfo, settings: DebeziumSettings) -> Record:
    """Return the schema of a table's keys; :class:`SchemaError` for one that is not valid."""
    fields = _columns(table, table.shown_handle_key, settings)
    return _record(_namespace(table, settings), f"{sanitize(table.name)}Key", fields)


def value_schema(table: TableInfo, settings: DebeziumSettings) -> Record:
    """Return the schema of a table's values; :class:`SchemaError` for one that is not valid."""
    space, name = _namespace(table, settings), sanitize(table.name)
    if name == _SOURCE:
        raise SchemaError(
            f"a table's record may not be named {_SOURCE}, as Debezium's own record is: TiCDC confuses the two",
            remedy="Rename the table, or leave it out by a filter",
            table=table.full_name,
        )
    row = _record(space, name, _columns(table, row_columns(table), settings))
    kinds = (["null", row], ["null", f"{space}.{name}"], _source(space), "string", "long")
    fields = [_field(field, kind) for field, kind in zip(ENVELOPE, kinds, strict=True)]
    return {**_record(space, f"{name}Envelope", fields), "connect.version": 1}


def _namespace(table: TableInfo, settings: DebeziumSettings) -> str:
    return f"{sanitize(settings.cluster_id)}.{sanitize(table.schema)}"


def _record(space: str, name: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": name, "namespace": space, "connect.name": f"{space}.{name}", "fields": fields}


def _columns(table: TableInfo, columns: Iterable[Column], settings: DebeziumSettings) -> list[dict[str, Any]]:
    fields: dict[str, dict[str, Any]] = {}
    for column in columns:
        made = _field(column.name, ["null", _described(table, column, settings)])
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
        if settings.codec.enable_tidb_extension:
            made["tidb_type"] = tidb_type(column)
        fields[made["name"]] = made
    return list(fields.values())


def _field(name: str, kind: Any) -> dict[str, Any]:
    described: dict[str, Any] = {"name": sanitize(name), "connect.field": name, "type": kind}
    return {**described, "default": None} if isinstance(kind, list) else described


def _described(table: TableInfo, column: Column, settings: DebeziumSettings) -> Any:
    if column.type is MySQLType.BIT and column.default in ("", b""):
        raise SchemaError(
            "a BIT default without bits has no schema: TiCDC fails here",
            remedy="Change the column's DEFAULT",
            table=table.full_name,
            column=column.name,
        )
    connect = connect_of(column, settings)
    kind: dict[str, Any] = {"type": _AVRO[connect.type]}
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
    precision, scale = TYPES[column.type].length, TYPES[column.type].decimals
    return (
        precision if column.flen == UNSPECIFIED_LENGTH else column.flen,
        scale if column.decimal == UNSPECIFIED_LENGTH else column.decimal,
    )


def ddl_schemas(cluster_id: str, database: str) -> tuple[Record, Record]:
    source = _field("source", _source(f"{sanitize(cluster_id)}.{sanitize(database)}"))
    value = _struct(CHANGE_VALUE)
    return _struct(CHANGE_KEY), {**value, "fields": [source, *value["fields"]]}


def watermark_schemas(cluster_id: str) -> tuple[Record, Record]:
    space = f"{sanitize(cluster_id)}.watermark"
    fields = [_field("source", _source(space)), *map(_member, (OP, TS_MS, TRANSACTION))]
    return _record(space, "Key", []), {**_record(space, "Envelope", fields), "connect.version": 1}


def _source(space: str) -> dict[str, Any]:
    return _record(space, _SOURCE, list(map(_member, _SOURCE_MEMBERS)))


def _struct(struct: Struct) -> dict[str, Any]:
    space, _, name = struct.name.rpartition(".")
    return {**_record(space, name, list(map(_member, struct.members))), "connect.version": 1}


def _member(member: Member) -> dict[str, Any]:
    kind: Any = _kind(member.type)
    return _field(member.name, ["null", kind] if member.optional else kind)


def _kind(kind: str | Struct | list[str] | list[Struct]) -> Any:
    if isinstance(kind, list):
        return {"type": "array", "items": _kind(kind[0])}
    return _struct(kind) if isinstance(kind, Struct) else _AVRO[kind]
