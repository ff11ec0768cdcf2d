"""Tables of Flink SQL for what ``ticdc-emit serve`` runs.

In: tables with their names and topics, the changefeed and addresses. Out: a CREATE TABLE for each, with the format that
reads the protocol, and a SELECT. docs/cookbook/flink.md has the same by hand, measured by tests; :data:`_TYPES` is its
table of types.
"""

from __future__ import annotations

from collections.abc import Sequence

from ticdc_emit.config import ChangefeedConfig, Protocol
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import INTEGER_TYPES, MySQLType

__all__ = ["flink_sql", "quoted"]

_JSON_FORMATS = {
    Protocol.CANAL_JSON: {"format": "canal-json", "canal-json.ignore-parse-errors": "true"},
    Protocol.DEBEZIUM: {
        "format": "debezium-json",
        "debezium-json.schema-include": "true",
        "debezium-json.ignore-parse-errors": "true",
    },
}
"""Parse errors: Flink stops at a DDL or a watermark unless it may skip them."""
_FORMATS = (Protocol.CANAL_JSON, Protocol.DEBEZIUM, Protocol.DEBEZIUM_AVRO, Protocol.AVRO)
_TYPES = {
    "integer": ("BIGINT", "BIGINT", "BIGINT", "BIGINT"),
    "unsigned long": ("DECIMAL(20,0)", "BIGINT", "BIGINT", "BIGINT"),
    "bit": ("BIGINT", "BOOLEAN", "BOOLEAN", "BYTES"),
    "bits": ("BIGINT", "BYTES", "BYTES", "BYTES"),
    "decimal": ("DECIMAL({length},{digits})",) * 4,
    "long decimal": (
        "DECIMAL({length},{digits})",
        "DOUBLE",
        "DECIMAL({length},{digits})",
        "DECIMAL({length},{digits})",
    ),
    MySQLType.FLOAT: ("FLOAT", "FLOAT", "FLOAT", "FLOAT"),
    MySQLType.DOUBLE: ("DOUBLE", "DOUBLE", "DOUBLE", "DOUBLE"),
    "binary": ("STRING", "BYTES", "BYTES", "BYTES"),
    MySQLType.DATE: ("DATE", "INT", "INT", "STRING"),
    MySQLType.DATETIME: ("TIMESTAMP({digits})", "BIGINT", "BIGINT", "STRING"),
    MySQLType.TIMESTAMP: ("TIMESTAMP({digits})", "STRING", "STRING", "STRING"),
    MySQLType.DURATION: ("STRING", "BIGINT", "BIGINT", "STRING"),
    MySQLType.ENUM: ("BIGINT", "STRING", "STRING", "STRING"),
    MySQLType.SET: ("BIGINT", "STRING", "STRING", "STRING"),
}
"""Flink's type for each kind of column and each of :data:`_FORMATS`; STRING for a kind that is not listed."""
_WHOLE = INTEGER_TYPES | {MySQLType.YEAR}
_MOST_DIGITS = 38
_SAFE_DIGITS = 15
"""Those of a double, as which Debezium's JSON has a DECIMAL."""


def flink_sql(
    tables: Sequence[tuple[str, str, TableInfo]], feed: ChangefeedConfig, bootstrap: str, registry: str
) -> str | None:
    """Return a CREATE TABLE for each table and a SELECT, or None for a protocol that Flink does not read.

    ``tables``: for each the name that Flink gives it, its topic and its columns.
    """
    statements = []
    for name, topic, table in tables:
        source = _source(table, feed.codec.protocol, registry)
        if source is None:
            return None
        columns = [f"  {quoted(column.name)} {_type(column, feed)}" for column in table.data_columns]
        if table.handle_key:
            key = ", ".join(quoted(column.name) for column in table.handle_key)
            columns.append(f"  PRIMARY KEY ({key}) NOT ENFORCED")
        options = {"topic": topic, "properties.bootstrap.servers": bootstrap, **source}
        named = ",\n".join(f"  '{option}' = '{value}'" for option, value in options.items())
        listed = ",\n".join(columns)
        statements.append(f"CREATE TABLE {quoted(name)} (\n{listed}\n) WITH (\n{named}\n);")
    return "\n".join([*statements, f"SELECT * FROM {quoted(tables[0][0])};"])


def quoted(name: str) -> str:
    """Return a name as an identifier of Flink SQL or ClickHouse."""
    return "`" + name.replace("`", "``") + "`"


def _source(table: TableInfo, protocol: Protocol, registry: str) -> dict[str, str] | None:
    """Return options of connector and format. Only ``upsert-kafka`` reads Avro's deletes, which have no value."""
    if protocol is Protocol.AVRO and table.handle_key:
        formats = {"format": "avro-confluent", "avro-confluent.url": registry}
        sides = {f"{side}.{name}": value for side in ("key", "value") for name, value in formats.items()}
        return {"connector": "upsert-kafka", **sides}
    formats = _JSON_FORMATS.get(protocol, {})
    if protocol is Protocol.DEBEZIUM_AVRO:
        formats = {"format": "debezium-avro-confluent", "debezium-avro-confluent.url": registry}
    return {"connector": "kafka", "scan.startup.mode": "earliest-offset", **formats} if formats else None


def _type(column: Column, feed: ChangefeedConfig) -> str:
    """Return a type that holds the column's values."""
    kind = _kind(column)
    is_avro = feed.codec.protocol.traits.registers_schemas
    if is_avro and kind == "unsigned long" and feed.codec.avro_bigint_unsigned_handling_mode == "string":
        return "STRING"
    if is_avro and column.type is MySQLType.NEWDECIMAL and feed.codec.avro_decimal_handling_mode == "string":
        return "STRING"
    types = _TYPES.get(kind)
    if types is None:
        return "STRING"
    digits = max(column.decimal, 0)
    return types[_FORMATS.index(feed.codec.protocol)].format(length=column.flen, digits=digits)


def _kind(column: Column) -> str | MySQLType:
    """Return the row of the table of types that a column has."""
    if column.type in _WHOLE:
        return "unsigned long" if column.type is MySQLType.LONGLONG and column.unsigned else "integer"
    if column.type is MySQLType.BIT:
        return "bit" if column.flen == 1 else "bits"
    if column.type is MySQLType.NEWDECIMAL and column.flen <= _MOST_DIGITS:
        return "decimal" if column.flen <= _SAFE_DIGITS else "long decimal"
    return "binary" if column.is_binary else column.type
