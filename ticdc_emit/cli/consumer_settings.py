"""The settings of consumers for what ``serve`` sends: blocks to copy, and the same facts as data.

In: addresses, a changefeed's configuration and its tables. Out: for each consumer that can read the protocol a block
that has every table (:func:`print_settings`), and all of it as an object for JSON (:func:`settings_record`).

The blocks name pitfalls that the consumers' own documentation omits: messages that they cannot read, and what the
embedded Kafka lacks. They follow the pages of docs/cookbook, which tests measure against the real
consumers: Flink SQL gets a CREATE TABLE for each table, with the format that reads the protocol and the types of
docs/cookbook/flink.md (:data:`_FLINK_TYPES`), ClickHouse the tables and views of docs/cookbook/clickhouse.md.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from ticdc_emit.config import ChangefeedConfig, Protocol
from ticdc_emit.routing.topics import Router
from ticdc_emit.schema.model import Column, TableInfo, type_desc
from ticdc_emit.sql.types import FLOAT_TYPES, INTEGERS_AND_YEAR, MOMENT_TYPES, MySQLType
from ticdc_emit.sql.words import quoted

EMBEDDED_LIMITS = (
    "a partition keeps about its newest 5 MB; every topic has 4 partitions",
    "the admin API does not answer, and consumers see messages of aborted transactions",
    "consumer groups have the classic protocol only (group.protocol=classic, the default)",
    "a consumer group waits 3 seconds for its members before the first message",
    "a fetch waits 50 ms at most, so messages come up to 50 ms late",
)
_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"


@dataclass(frozen=True)
class Served:
    """What is served: ``bootstrap``, ``host:port`` of Kafka, and the URL of the ``registry``, both for consumers.

    ``embedded``: whether that is the embedded Kafka.
    """

    bootstrap: str
    registry: str
    feed: ChangefeedConfig
    tables: tuple[TableInfo, ...]
    embedded: bool

    @property
    def protocol(self) -> Protocol:
        return self.feed.codec.protocol

    def topic(self, table: TableInfo) -> str:
        """Return the topic of a table's rows."""
        return Router.of(self.feed, {}).topic(table.schema, table.name)

    @property
    def topics(self) -> list[str]:
        """The topics of the tables' rows."""
        return sorted({self.topic(table) for table in self.tables})

    @property
    def named(self) -> list[tuple[str, TableInfo]]:
        """The tables, each with a name of its own: with its database where another table has the same name."""
        count = Counter(table.name for table in self.tables)
        return [
            (table.name if count[table.name] == 1 else f"{table.schema}_{table.name}", table) for table in self.tables
        ]


def print_settings(console: Console, served: Served) -> None:
    """Print addresses, limits, and a block of settings for each consumer that can read this."""
    console.print(Text(f"Kafka            {served.bootstrap}", "bold"))
    console.print(Text(f"Schema registry  {served.registry}", "bold"))
    if served.embedded:
        console.print("\nLimits of the embedded Kafka (--broker kafka has none of them):")
        for limit in EMBEDDED_LIMITS:
            console.print(Text(f"- {limit}"))
    for title, text in _blocks(served):
        console.print(Text(f"\n# {title}", "bold"))
        console.print(Text(text))
    console.print()


def settings_record(served: Served) -> dict[str, Any]:
    """Return what :func:`print_settings` prints as an object for JSON, with the columns of every table.

    A column has its type in TiDB, and those that Flink SQL and ClickHouse give it where they read the protocol.
    """
    codec, release = served.feed.codec, served.feed.release
    return {
        "bootstrap": served.bootstrap,
        "schema_registry": served.registry,
        "protocol": served.protocol.value,
        "enable_tidb_extension": codec.enable_tidb_extension,
        "release": release.name,
        "time_zone": served.feed.time_zone,
        "limits": list(EMBEDDED_LIMITS) if served.embedded else [],
        "topics": served.topics,
        "tables": [
            {
                "table": table.full_name,
                "topic": served.topic(table),
                "key": [column.name for column in table.handle_key],
                "columns": [_column_record(column, served.feed) for column in table.data_columns],
            }
            for table in served.tables
        ],
        "consumers": dict(_blocks(served)),
    }


def _column_record(column: Column, feed: ChangefeedConfig) -> dict[str, Any]:
    record = {"name": column.name, "type": type_desc(column), "nullable": column.nullable}
    if feed.codec.protocol in _FORMATS:
        record["flink"] = _flink_type(column, feed)
    if feed.codec.protocol in _CLICKHOUSE_READS:
        record["clickhouse"] = _clickhouse_type(column, feed)
    return record


def _blocks(served: Served) -> Iterator[tuple[str, str]]:
    if not served.tables:
        uri = f"kafka://{served.bootstrap}/t?protocol={served.protocol.value}"
        to = f"--sink-uri '{uri}'"
        if served.protocol.spec.registers_schemas:
            to += f" --schema-registry {served.registry}"
        yield "Send something", f"ticdc-emit generate --schema shop {to}"
        yield "Send live traffic", f"ticdc-emit generate --schema shop --live --endless --rate 100 {to}"
        yield "Look at it", f"ticdc-emit tail {to} --follow"
        return
    protocol, topics = served.protocol, served.topics
    yield "Topics", "\n".join(topics)
    yield "ticdc-emit", _tail(served)
    yield "kcat", "\n".join(f"kcat -b {served.bootstrap} -t {topic} -C" for topic in topics)
    yield "Python, confluent-kafka", _python(served)
    yield "ClickHouse", _clickhouse(served)
    tool = "kafka-console-consumer"
    pattern = shlex.quote("|".join(map(re.escape, topics)))
    chosen = f"--topic {topics[0]}" if len(topics) == 1 else f"--include {pattern}"
    yield tool, f"{tool} --bootstrap-server {served.bootstrap} {chosen} --from-beginning"
    tables = [(name, served.topic(table), table) for name, table in served.named]
    flink = flink_sql(tables, served.feed, served.bootstrap, served.registry)
    if flink is not None:
        yield "Flink SQL", flink
    if protocol is Protocol.CANAL_JSON:
        yield (
            "Alibaba's Canal client",
            "\n".join(
                f'new KafkaCanalConnector("{served.bootstrap}", "{topic}", null, "tables", 500, true)'
                for topic in topics
            ),
        )
    if protocol is Protocol.DEBEZIUM:
        yield "Kafka Connect, Debezium's JDBC sink", _jdbc_sink(served)
    yield (
        "Spark",
        f'spark.readStream.format("kafka").option("kafka.bootstrap.servers", "{served.bootstrap}")'
        f'.option("subscribe", "{",".join(topics)}").option("startingOffsets", "earliest").load()',
    )


def _tail(served: Served) -> str:
    named = " ".join(f"--topic {topic}" for topic in served.topics)
    schemas = f" --schema-registry {served.registry}" if served.protocol.spec.registers_schemas else ""
    return f"ticdc-emit tail --brokers {served.bootstrap} {named} --protocol {served.protocol.value}{schemas} --follow"


def _python(served: Served) -> str:
    lines = [
        "from confluent_kafka import Consumer",
        f'settings = {{"bootstrap.servers": "{served.bootstrap}", "group.id": "me", "auto.offset.reset": "earliest"}}',
        "consumer = Consumer(settings)",
        f"consumer.subscribe({served.topics})",
        "message = consumer.poll(10)",
    ]
    if served.protocol.spec.registers_schemas:
        lines[1:1] = [
            "from confluent_kafka.schema_registry import SchemaRegistryClient",
            "from confluent_kafka.schema_registry.avro import AvroDeserializer",
            "from confluent_kafka.serialization import MessageField, SerializationContext",
            f'read = AvroDeserializer(SchemaRegistryClient({{"url": "{served.registry}"}}))',
        ]
        context = "SerializationContext(message.topic(), MessageField.VALUE)"
        return "\n".join([*lines, f"print(read(message.value(), {context}))"])
    return "\n".join([*lines, "print(message.value())"])


_CLICKHOUSE_READS = (Protocol.CANAL_JSON, Protocol.AVRO)
"""Protocols for which docs/cookbook/clickhouse.md has tables with typed columns."""


def _clickhouse(served: Served) -> str:
    """Return the tables and views of docs/cookbook/clickhouse.md, else a table of whole messages for each topic."""
    names = [name for name, _ in served.named]
    has_times = served.feed.codec.enable_tidb_extension
    if served.protocol is Protocol.AVRO:
        return "\n\n".join(_clickhouse_avro(served, name, table) for name, table in served.named)
    if served.protocol is Protocol.CANAL_JSON and has_times and names == [table.name for table in served.tables]:
        return _clickhouse_canal_json(served)
    raw = "\n\n".join(
        f"CREATE TABLE {quoted(f'{name}_changes')} (message String) "
        + _kafka_engine(served, served.topic(table), "JSONAsString")
        for name, table in served.named
    )
    if served.protocol is Protocol.CANAL_JSON and not has_times:
        raw = f"-- With --enable-tidb-extension, these are tables with the newest rows and typed columns.\n{raw}"
    return raw


def _kafka_engine(served: Served, topics: str, form: str, **further: str) -> str:
    settings = {
        "kafka_broker_list": f"'{served.bootstrap}'",
        "kafka_topic_list": f"'{topics}'",
        "kafka_group_name": "'clickhouse'",
        "kafka_format": f"'{form}'",
        **further,
    }
    return "ENGINE = Kafka SETTINGS\n" + ",\n".join(f"  {name} = {value}" for name, value in settings.items()) + ";"


def _clickhouse_canal_json(served: Served) -> str:
    kafka = _kafka_engine(served, ",".join(served.topics), "JSONEachRow")
    views = (_clickhouse_view(name, table, served.feed) for name, table in served.named)
    return "\n\n".join([_CLICKHOUSE_CHANGES.replace("{kafka}", kafka), *views])


_CLICKHOUSE_CHANGES = """CREATE TABLE changes (
  `table` String,
  type String,
  pkNames Array(String),
  data Array(Map(String, Nullable(String))),
  _tidb Tuple(commitTs UInt64)
) {kafka}

CREATE TABLE newest (
  `table` String,
  key String,
  row Map(String, Nullable(String)),
  version UInt64,
  is_deleted UInt8
) ENGINE = ReplacingMergeTree(version, is_deleted) ORDER BY (`table`, key);

CREATE MATERIALIZED VIEW changes_to_newest TO newest AS
SELECT
  `table`,
  toString(arrayMap(name -> data[1][name], pkNames)) AS key,
  data[1] AS row,
  2 * _tidb.commitTs + (type != 'DELETE') AS version,
  type = 'DELETE' AS is_deleted
FROM changes
WHERE type IN ('INSERT', 'UPDATE', 'DELETE');"""


def _clickhouse_view(name: str, table: TableInfo, feed: ChangefeedConfig) -> str:
    columns = []
    for column in table.data_columns:
        text = column.name.replace("\\", "\\\\").replace("'", "\\'")
        kind = _clickhouse_type(column, feed)
        cast = "" if kind == "Nullable(String)" else f"::{kind}"  # a value of the map has this type
        columns.append(f"  row['{text}']{cast} AS {quoted(column.name)}")
    listed = ",\n".join(columns)
    return f"CREATE VIEW {quoted(name)} AS\nSELECT\n{listed}\nFROM newest FINAL\nWHERE `table` = '{table.name}';"


def _clickhouse_avro(served: Served, name: str, table: TableInfo) -> str:
    columns = [f"  {quoted(column.name)} {_clickhouse_type(column, served.feed)}" for column in table.data_columns]
    kafka = _kafka_engine(
        served,
        served.topic(table),
        "AvroConfluent",
        format_avro_schema_registry_url=f"'{served.registry}'",
        input_format_avro_allow_missing_fields="1",
    )
    rows, newest, to_newest = (quoted(f"{name}_{end}") for end in ("rows", "newest", "to_newest"))
    if not (served.feed.codec.enable_tidb_extension and table.handle_key):
        return f"CREATE TABLE {rows} (\n" + ",\n".join(columns) + f"\n) {kafka}"
    key = ", ".join(quoted(column.name) for column in table.handle_key)
    listed = ",\n".join([*columns, "  _tidb_commit_ts UInt64"])
    return f"""CREATE TABLE {rows} (
{listed}
) {kafka}

CREATE TABLE {newest} AS {rows}
ENGINE = ReplacingMergeTree(_tidb_commit_ts) ORDER BY {key if len(table.handle_key) == 1 else f"({key})"};

CREATE MATERIALIZED VIEW {to_newest} TO {newest} AS
SELECT * FROM {rows};"""


def _clickhouse_type(column: Column, feed: ChangefeedConfig) -> str:
    """Return the type of docs/cookbook/clickhouse.md for a column's values."""
    kind = _clickhouse_kind(column, feed)
    return f"Nullable({kind})" if column.nullable else kind


def _clickhouse_kind(column: Column, feed: ChangefeedConfig) -> str:
    is_avro, codec = feed.codec.protocol is Protocol.AVRO, feed.codec
    if column.type is MySQLType.LONGLONG and column.unsigned:
        if not is_avro:
            return "UInt64"
        return "String" if codec.avro_bigint_unsigned_handling_mode == "string" else "Int64"
    if column.type in INTEGERS_AND_YEAR:
        bits = 64 if column.type is MySQLType.LONGLONG else 32
        return f"{'U' if column.unsigned and column.type is not MySQLType.YEAR else ''}Int{bits}"
    if column.type is MySQLType.NEWDECIMAL:
        is_text = is_avro and codec.avro_decimal_handling_mode == "string"
        return "String" if is_text else f"Decimal({column.flen}, {column.decimal})"
    if column.type in FLOAT_TYPES:
        return "Float64"
    if is_avro:
        return "String"
    if column.type is MySQLType.DATE:
        return "Date32"
    if column.type in MOMENT_TYPES:
        zone = feed.time_zone if column.type is MySQLType.TIMESTAMP else "UTC"
        return f"DateTime64({column.fraction_digits}, '{zone}')"
    return "UInt64" if column.type in (MySQLType.BIT, MySQLType.ENUM, MySQLType.SET) else "String"


def _jdbc_sink(served: Served) -> str:
    """Return what docs/cookbook/jdbc-sink.md says, with the columns left out at which the sink stops."""
    database = served.tables[0].schema
    left_out = sorted({column.name for table in served.tables for column in table.data_columns if _stops_sink(column)})
    settings = {
        "name": database,
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "topics": ",".join(served.topics),
        "connection.url": f"jdbc:postgresql://127.0.0.1:5432/{database}",
        "connection.username": database,
        "connection.password": database,
        "key.converter": _CONVERTER,
        "value.converter": _CONVERTER,
        "collection.name.format": "${source.db}_${source.table}",
        "primary.key.mode": "record_key",
        "insert.mode": "upsert",
        "delete.enabled": "true",
        "schema.evolution": "basic",
        **({"field.exclude.list": ",".join(left_out)} if left_out else {}),
        "transforms": "rows",
        "transforms.rows.type": "io.debezium.transforms.SchemaChangeEventFilter",
        "transforms.rows.schema.change.event.exclude.list": "CREATE,ALTER,DROP,TRUNCATE,DATABASE",
    }
    return "\n".join(f"{name}={value}" for name, value in settings.items())


def _stops_sink(column: Column) -> bool:
    return column.type is MySQLType.DURATION or (column.type is MySQLType.BIT and column.flen > 1)


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
_FLINK_TYPES = {
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
        columns = [f"  {quoted(column.name)} {_flink_type(column, feed)}" for column in table.data_columns]
        if table.handle_key:
            key = ", ".join(quoted(column.name) for column in table.handle_key)
            columns.append(f"  PRIMARY KEY ({key}) NOT ENFORCED")
        options = {"topic": topic, "properties.bootstrap.servers": bootstrap, **source}
        named = ",\n".join(f"  '{option}' = '{value}'" for option, value in options.items())
        listed = ",\n".join(columns)
        statements.append(f"CREATE TABLE {quoted(name)} (\n{listed}\n) WITH (\n{named}\n);")
    return "\n".join([*statements, f"SELECT * FROM {quoted(tables[0][0])};"])


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


def _flink_type(column: Column, feed: ChangefeedConfig) -> str:
    """Return a type that holds the column's values."""
    kind = _kind(column)
    is_avro = feed.codec.protocol.spec.registers_schemas
    if is_avro and kind == "unsigned long" and feed.codec.avro_bigint_unsigned_handling_mode == "string":
        return "STRING"
    if is_avro and column.type is MySQLType.NEWDECIMAL and feed.codec.avro_decimal_handling_mode == "string":
        return "STRING"
    types = _FLINK_TYPES.get(kind)
    if types is None:
        return "STRING"
    digits = column.fraction_digits
    return types[_FORMATS.index(feed.codec.protocol)].format(length=column.flen, digits=digits)


def _kind(column: Column) -> str | MySQLType:
    """Return the row of the table of types that a column has."""
    if column.type in INTEGERS_AND_YEAR:
        return "unsigned long" if column.type is MySQLType.LONGLONG and column.unsigned else "integer"
    if column.type is MySQLType.BIT:
        return "bit" if column.flen == 1 else "bits"
    if column.type is MySQLType.NEWDECIMAL and column.flen <= _MOST_DIGITS:
        return "decimal" if column.flen <= _SAFE_DIGITS else "long decimal"
    return "binary" if column.is_binary else column.type
