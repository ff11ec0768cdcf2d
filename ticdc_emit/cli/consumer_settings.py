"""How consumers connect to what ``ticdc-emit serve`` runs: settings to copy, for this protocol and these tables.

In: addresses, a changefeed and its tables. Out: text. It names pitfalls that the consumers' own documentation omits:
messages that they cannot read, and clients that do not work with the embedded Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from ticdc_emit.cli.flink_settings import flink_sql
from ticdc_emit.config import ChangefeedConfig, Protocol
from ticdc_emit.routing.topic import Router
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.types import FLOAT_TYPES, INTEGER_TYPES, MySQLType

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
    topic, protocol = served.topic(served.tables[0]), served.protocol
    schemas = f" --schema-registry {served.registry}" if protocol.traits.registers_schemas else ""
    yield "Topics", "\n".join(served.topics)
    yield (
        "ticdc-emit",
        f"ticdc-emit tail --brokers {served.bootstrap} --topic {topic} --protocol {protocol.value}{schemas} --follow",
    )
    yield "kcat", f"kcat -b {served.bootstrap} -t {topic} -C"
    yield "Python, confluent-kafka", _python(served, topic)
    yield "ClickHouse", _clickhouse(served, served.tables[0])
    if served.for_java:
        yield from _java_blocks(served, topic)


def _java_blocks(served: Served, topic: str) -> Iterator[tuple[str, str]]:
    tool = "kafka-console-consumer"
    yield tool, f"{tool} --bootstrap-server {served.bootstrap} --topic {topic} --from-beginning"
    flink = flink_sql(served.tables[0], served.protocol, topic, served.bootstrap, served.registry)
    if flink is not None:
        yield "Flink SQL", flink
    if served.protocol is Protocol.CANAL_JSON:
        yield (
            "Alibaba's Canal client",
            f'new KafkaCanalConnector("{served.bootstrap}", "{topic}", null, "tables", 500, true)',
        )
    if served.protocol is Protocol.DEBEZIUM:
        yield "Kafka Connect, Debezium's JDBC sink", _jdbc_sink(served)
    yield (
        "Spark",
        f'spark.readStream.format("kafka").option("kafka.bootstrap.servers", "{served.bootstrap}")'
        f'.option("subscribe", "{topic}").option("startingOffsets", "earliest").load()',
    )


def _python(served: Served, topic: str) -> str:
    lines = [
        "from confluent_kafka import Consumer",
        f'settings = {{"bootstrap.servers": "{served.bootstrap}", "group.id": "me", "auto.offset.reset": "earliest"}}',
        "consumer = Consumer(settings)",
        f'consumer.subscribe(["{topic}"])',
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


def _clickhouse(served: Served, table: TableInfo) -> str:
    settings = {
        "kafka_broker_list": served.bootstrap,
        "kafka_topic_list": served.topic(table),
        "kafka_group_name": "clickhouse",
        "kafka_format": "JSONAsString",
    }
    columns = "message String"
    if served.protocol.traits.registers_schemas:
        settings |= {"kafka_format": "AvroConfluent", "format_avro_schema_registry_url": served.registry}
        columns = ", ".join(f"`{column.name}` {_clickhouse_type(column)}" for column in table.data_columns)
    named = ", ".join(f"{name} = '{value}'" for name, value in settings.items())
    return f"CREATE TABLE {table.name}_changes ({columns}) ENGINE = Kafka SETTINGS {named}"


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
