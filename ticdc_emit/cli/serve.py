"""``ticdc-emit serve``: a Kafka and a schema registry that stay up until Ctrl-C, optionally with live traffic.

Kafka is librdkafka's mock cluster in this process behind a fixed port, or a real broker as a child process. Traffic
comes from ``generate --live --endless``; each table has its own topic.

The command prints settings to copy for each consumer, for this protocol and these tables. They name pitfalls that the
consumers' own documentation omits: messages that they cannot read, and what the embedded Kafka lacks. Flink SQL gets a
CREATE TABLE for each table, with the format that reads the protocol, and a SELECT; docs/cookbook/flink.md has the same
by hand, measured by tests, and :data:`_TYPES` is its table of types.
"""

from __future__ import annotations

import re
import shlex
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from ticdc_emit.cli import signals
from ticdc_emit.cli.console import result_console, say, step
from ticdc_emit.cli.schema_sql import in_tidb_sql
from ticdc_emit.cli.signals import stopped_by_interrupt
from ticdc_emit.config import ChangefeedConfig, Protocol, load_changefeed
from ticdc_emit.config.protocols import protocol_document
from ticdc_emit.pipeline.ddl import catalog_for
from ticdc_emit.routing.topics import Router
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import FLOAT_TYPES, INTEGERS_AND_YEAR, MySQLType
from ticdc_emit.sql.words import quoted

_DEFAULT_TOPIC = "ticdc"  # for DDL without a table
_TOPIC_OF_TABLE = "{schema}_{table}"
_POLL_S = 0.2


def run(
    *,
    port: int,
    registry_port: int,
    broker: str,
    schema: str | None,
    schema_dialect: str | None,
    rate: float,
    protocol: str,
    enable_tidb_extension: bool,
    seed: int,
    release: str | None,
) -> int:
    """Serve until a signal; return 0 if that was Ctrl-C, the usual end.

    Raises :class:`~ticdc_emit.errors.ConfigError` for a port in use, before anything starts, and
    :class:`~ticdc_emit.errors.ServerError` for a broker that does not start.
    """
    from ticdc_emit.testing import EmbeddedRegistry
    from ticdc_emit.testing.embedded_kafka import require_free_port

    signals.endless()
    registry = EmbeddedRegistry(port=registry_port)
    extension = "?enable-tidb-extension=true" if enable_tidb_extension else ""
    uri = f"kafka://127.0.0.1:{port}/{_DEFAULT_TOPIC}{extension}"
    changefeed = protocol_document(protocol)
    changefeed["sink"]["dispatchers"] = [{"matcher": ["*.*"], "topic": _TOPIC_OF_TABLE}]
    feed = load_changefeed(uri, changefeed, schema_registry=registry.url, release=release)
    text = None if schema is None else _schema_text(schema, schema_dialect)
    tables = () if text is None else tuple(info for info in catalog_for(feed, text).tables() if not info.is_view)
    require_free_port(port, "--port")
    require_free_port(registry_port, "--registry-port")
    with ExitStack() as stack:
        stack.enter_context(registry)
        with step("starting the embedded Kafka" if broker == "embedded" else "starting Kafka"):
            _start_kafka(stack, broker, port)
        served = Served(f"127.0.0.1:{port}", registry.url, feed, tables, embedded=broker == "embedded")
        print_settings(result_console(), served)
        if text is not None:
            return _send_traffic(text, rate, seed, uri, changefeed, registry.url, release)
        say("Ctrl-C ends it")
        stop = stack.enter_context(stopped_by_interrupt("second", quiet=True))
        while not stop():
            time.sleep(_POLL_S)
    return stop.exit_code()


def _schema_text(schema: str, dialect: str | None) -> str:
    from ticdc_emit.traffic import schema_text

    return in_tidb_sql(schema_text(schema), dialect)


def _start_kafka(stack: ExitStack, broker: str, port: int) -> None:
    if broker == "embedded":
        from ticdc_emit.testing import EmbeddedKafka

        stack.enter_context(EmbeddedKafka(port=port))
        return
    from ticdc_emit.java import find_java
    from ticdc_emit.testing.kraft import KraftBroker, kafka_jars

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ticdc-emit-", ignore_cleanup_errors=True)))
    own = {"auto.create.topics.enable": "true"}  # a consumer may come before the first message
    node = KraftBroker(find_java(), kafka_jars(), folder / "kafka", own, port=port)
    with signals.held():
        stack.enter_context(node)
        if node.process is not None:
            signals.watch(node.process)


def _send_traffic(
    schema: str, rate: float, seed: int, uri: str, changefeed: dict[str, Any], registry: str, release: str | None
) -> int:
    from ticdc_emit.cli import generate
    from ticdc_emit.traffic.generate.settings import Settings

    settings = Settings(rows=None, rate=rate, seed=seed)
    return generate.run(
        generate.Wanted(schema, settings, live=True),
        protocol="",
        sink_uri=uri,
        config=changefeed,
        release=release,
        schema_registry=registry,
        html=None,
        on_spark=True,
        spark={},
        as_json=False,
    )


EMBEDDED_LIMITS = (
    "a partition keeps about its newest 5 MB; every topic has 4 partitions",
    "the admin API does not answer, and consumers see messages of aborted transactions",
    "consumer groups have the classic protocol only (group.protocol=classic, the default)",
    "only programs on this machine reach it, not containers",
)
_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"


@dataclass(frozen=True)
class Served:
    """``bootstrap``: ``host:port`` of Kafka. ``embedded``: whether that is the embedded one."""

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


def _clickhouse(served: Served, name: str, table: TableInfo) -> str:
    settings = {
        "kafka_broker_list": served.bootstrap,
        "kafka_topic_list": served.topic(table),
        "kafka_group_name": "clickhouse",
        "kafka_format": "JSONAsString",
    }
    columns = "message String"
    if served.protocol.spec.registers_schemas:
        settings |= {"kafka_format": "AvroConfluent", "format_avro_schema_registry_url": served.registry}
        columns = ", ".join(f"{quoted(column.name)} {_clickhouse_type(column)}" for column in table.data_columns)
    named = ", ".join(f"{setting} = '{value}'" for setting, value in settings.items())
    changes = quoted(f"{name}_changes")
    return f"CREATE TABLE {changes} ({columns}) ENGINE = Kafka SETTINGS {named}"


def _clickhouse_type(column: Column) -> str:
    """Return a type for a column's value in TiCDC's Avro."""
    if column.type in INTEGERS_AND_YEAR:
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
    is_avro = feed.codec.protocol.spec.registers_schemas
    if is_avro and kind == "unsigned long" and feed.codec.avro_bigint_unsigned_handling_mode == "string":
        return "STRING"
    if is_avro and column.type is MySQLType.NEWDECIMAL and feed.codec.avro_decimal_handling_mode == "string":
        return "STRING"
    types = _TYPES.get(kind)
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
