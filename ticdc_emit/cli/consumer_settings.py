"""How consumers connect to what ``ticdc-emit serve`` runs: settings to copy, for this protocol and these tables.

In: addresses, a changefeed and its tables. Out: text. It names pitfalls that the consumers' own documentation omits:
messages that they cannot read, and clients that do not work with the embedded Kafka.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from ticdc_emit.cli.flink_settings import flink_sql, quoted
from ticdc_emit.config import ChangefeedConfig, Protocol
from ticdc_emit.routing.topics import Router
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import FLOAT_TYPES, INTEGER_TYPES, MySQLType

__all__ = ["EMBEDDED_LIMITS", "Served", "print_settings"]

EMBEDDED_LIMITS = (
    "Java clients do not work with it: Flink, Kafka Connect, Spark's kafka source, kafka-console-consumer",
    "a partition keeps about its newest 5 MB; every topic has 4 partitions",
    "the admin API does not answer, and consumers see messages of aborted transactions",
    "only programs on this machine reach it, not containers",
)
_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
_WHOLE = INTEGER_TYPES | {MySQLType.YEAR}


@dataclass(frozen=True)
class Served:
    """``bootstrap``: ``host:port`` of Kafka. ``for_java``: whether Java clients work with it."""

    bootstrap: str
    registry: str
    feed: ChangefeedConfig
    tables: tuple[TableInfo, ...]
    for_java: bool

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
    if not served.for_java:
        console.print("\nLimits of the embedded Kafka (--broker kafka has none of them):")
        for limit in EMBEDDED_LIMITS:
            console.print(Text(f"- {limit}"))
    for title, text in _blocks(served):
        console.print(Text(f"\n# {title}", "bold"))
        console.print(Text(text))
    console.print()


def _blocks(served: Served) -> Iterator[tuple[str, str]]:
    if not served.tables:
        uri = f"kafka://{served.bootstrap}/t?protocol=canal-json"
        yield "Send something", f"ticdc-emit generate --schema shop --sink-uri '{uri}'"
        yield "Look at it", f"ticdc-emit tail --sink-uri '{uri}' --follow"
        return
    protocol, topics = served.protocol, served.topics
    yield "Topics", "\n".join(topics)
    yield "ticdc-emit", _tail(served)
    yield "kcat", "\n".join(f"kcat -b {served.bootstrap} -t {topic} -C" for topic in topics)
    yield "Python, confluent-kafka", _python(served)
    yield "ClickHouse", ";\n".join(_clickhouse(served, name, table) for name, table in served.named)
    if served.for_java:
        yield from _java_blocks(served, protocol, topics)


def _java_blocks(served: Served, protocol: Protocol, topics: list[str]) -> Iterator[tuple[str, str]]:
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
    schemas = f" --schema-registry {served.registry}" if served.protocol.traits.registers_schemas else ""
    return f"ticdc-emit tail --brokers {served.bootstrap} {named} --protocol {served.protocol.value}{schemas} --follow"


def _python(served: Served) -> str:
    lines = [
        "from confluent_kafka import Consumer",
        f'settings = {{"bootstrap.servers": "{served.bootstrap}", "group.id": "me", "auto.offset.reset": "earliest"}}',
        "consumer = Consumer(settings)",
        f"consumer.subscribe({served.topics})",
        "message = consumer.poll(10)",
    ]
    if served.protocol.traits.registers_schemas:
        lines[1:1] = [
            "from confluent_kafka.schema_registry import SchemaRegistryClient",
            "from confluent_kafka.schema_registry.avro import AvroDeserializer",
            "from confluent_kafka.serialization import MessageField, SerializationContext",
            f'read = AvroDeserializer(SchemaRegistryClient({{"url": "{served.registry}"}}))',
        ]
        place = "SerializationContext(message.topic(), MessageField.VALUE)"
        return "\n".join([*lines, f"print(read(message.value(), {place}))"])
    return "\n".join([*lines, "print(message.value())"])


def _clickhouse(served: Served, name: str, table: TableInfo) -> str:
    settings = {
        "kafka_broker_list": served.bootstrap,
        "kafka_topic_list": served.topic(table),
        "kafka_group_name": "clickhouse",
        "kafka_format": "JSONAsString",
    }
    columns = "message String"
    if served.protocol.traits.registers_schemas:
        settings |= {"kafka_format": "AvroConfluent", "format_avro_schema_registry_url": served.registry}
        columns = ", ".join(f"{quoted(column.name)} {_clickhouse_type(column)}" for column in table.data_columns)
    named = ", ".join(f"{setting} = '{value}'" for setting, value in settings.items())
    changes = quoted(f"{name}_changes")
    return f"CREATE TABLE {changes} ({columns}) ENGINE = Kafka SETTINGS {named}"


def _clickhouse_type(column: Column) -> str:
    """Return a type for a column's value in TiCDC's Avro."""
    if column.type in _WHOLE:
        kind = "Int64"
    elif column.type in FLOAT_TYPES:
        kind = "Float64"
    else:
        kind = f"Decimal({column.flen}, {column.decimal})" if column.type is MySQLType.NEWDECIMAL else "String"
    return f"Nullable({kind})" if column.nullable else kind


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
