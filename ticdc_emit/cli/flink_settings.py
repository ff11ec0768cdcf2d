"""A table of Flink SQL for what ``ticdc-emit serve`` runs.

In: a table, its protocol and addresses. Out: CREATE TABLE with the format that reads the protocol, and a SELECT.
docs/cookbook/flink.md has the same by hand, measured by tests.
"""

from __future__ import annotations

from ticdc_emit.config import Protocol
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.types import DATE_TYPES, FLOAT_TYPES, INTEGER_TYPES, MySQLType

__all__ = ["flink_sql"]

_JSON_FORMATS = {
    Protocol.CANAL_JSON: {"format": "canal-json", "canal-json.ignore-parse-errors": "true"},
    Protocol.DEBEZIUM: {
        "format": "debezium-json",
        "debezium-json.schema-include": "true",
        "debezium-json.ignore-parse-errors": "true",
    },
}
"""Parse errors: Flink stops at a DDL or a watermark unless it may skip them."""
_WHOLE = INTEGER_TYPES | {MySQLType.YEAR}
_MOST_DIGITS = 38
_SAFE_DIGITS = 15
"""Those of a double, as which Debezium's JSON has a DECIMAL."""


def flink_sql(table: TableInfo, protocol: Protocol, topic: str, bootstrap: str, registry: str) -> str | None:
    """Return CREATE TABLE for a table's topic and a SELECT, or None for a protocol that Flink does not read."""
    source = _source(table, protocol, registry)
    if source is None:
        return None
    columns = [f"  `{column.name}` {_type(column, protocol)}" for column in table.data_columns]
    if table.handle_key:
        columns.append(f"  PRIMARY KEY ({', '.join(f'`{column.name}`' for column in table.handle_key)}) NOT ENFORCED")
    options = {"topic": topic, "properties.bootstrap.servers": bootstrap, **source}
    named = ",\n".join(f"  '{name}' = '{value}'" for name, value in options.items())
    listed = ",\n".join(columns)
    return f"CREATE TABLE {table.name} (\n{listed}\n) WITH (\n{named}\n);\nSELECT * FROM {table.name};"


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


def _type(column: Column, protocol: Protocol) -> str:
    """Return a type that holds the column's values. Formats in JSON read any date or time into a STRING."""
    is_avro = protocol.traits.registers_schemas
    if column.type in _WHOLE:
        is_beyond = column.type is MySQLType.LONGLONG and column.unsigned and not is_avro
        return "DECIMAL(20, 0)" if is_beyond else "BIGINT"
    if column.type in FLOAT_TYPES:
        return "DOUBLE"
    if column.type is MySQLType.NEWDECIMAL and column.flen <= _MOST_DIGITS:
        is_double = protocol is Protocol.DEBEZIUM and column.flen > _SAFE_DIGITS
        return "DOUBLE" if is_double else f"DECIMAL({column.flen}, {column.decimal})"
    if protocol is Protocol.DEBEZIUM_AVRO:
        if column.type in DATE_TYPES:
            return "INT"
        if column.type in (MySQLType.DATETIME, MySQLType.DURATION):
            return "BIGINT"
        if column.type is MySQLType.BIT and column.flen == 1:
            return "BOOLEAN"
    return "BYTES" if is_avro and (column.is_binary or column.type is MySQLType.BIT) else "STRING"
