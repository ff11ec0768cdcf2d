"""Avro and debezium-avro on real parts: Spark, Kafka and a schema registry, read back by two independent readers."""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from apicurio import Apicurio, ServerCertificate
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.delivery.kafka_reader import read_topic
from ticdc_emit.errors import IncompatibleSchemaError
from ticdc_emit.protocols.avro.decoder import AvroReader
from ticdc_emit.protocols.registered_avro import RegistrySchemas
from ticdc_emit.registry.base import registry_for
from ticdc_emit.registry.http import RegistryTls
from ticdc_emit.spark import TicdcSink
from ticdc_emit.testing.kraft import KraftBroker

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SCHEMA = """create table shop.t (
    id bigint unsigned primary key, name varchar(20), price decimal(10,2) not null, kind enum('a','b'),
    made datetime(3), raw varbinary(8), flags bit(10), ratio double
)"""
FIRST = 450_000_000_262_144_000
STEP = 1 << 18
ROWS = 300
MADE = dt.datetime(2024, 5, 5, 12, 34, 56, 789000)
COLUMNS = """
    cast(id as decimal(20,0)) as id, if(id % 7 = 0, null, concat('név ', id)) as name,
    cast(id / 4 as decimal(10,2)) as price, if(id % 2 = 0, 'a', 'b') as kind,
    timestamp_ntz'2024-05-05 12:34:56.789' as made, if(id % 5 = 0, null, unhex('00ff7f')) as raw,
    cast(id % 1024 as long) as flags, cast(id as double) / 8 as ratio
"""


def _uri(kraft: KraftBroker, topic: str, registry: str, protocol: str = "avro") -> str:
    options = f"protocol={protocol}&enable-tidb-extension=true&partition-num=3&replication-factor=1"
    return f"kafka://{kraft.bootstrap}/{topic}?{options}&schema-registry={registry}"


def _changes(spark: Any, start: int, stop: int, op: str = "c", extra: str = "") -> Any:
    image = "before" if op == "d" else "after"
    return spark.range(start, stop).selectExpr(
        f"'{op}' as op", f"{FIRST} + id * {STEP} as commit_ts", f"struct({COLUMNS}{extra}) as {image}"
    )


def _row(number: int) -> dict[str, Any]:
    """What a consumer must see of an inserted row."""
    return {
        "id": number,
        "name": None if number % 7 == 0 else f"név {number}",
        "price": Decimal(number * 25).scaleb(-2),
        "kind": "ab"[number % 2],
        "made": MADE.isoformat(" ", "milliseconds"),
        "raw": None if number % 5 == 0 else b"\x00\xff\x7f",
        "flags": (number % 1024).to_bytes(max(1, ((number % 1024).bit_length() + 7) // 8), "big"),
        "ratio": number / 8,
        "_tidb_op": "c",
        "_tidb_commit_ts": FIRST + number * STEP,
        "_tidb_commit_physical_time": (FIRST + number * STEP) >> 18,
    }


class _Readers:
    """Both readers, which must agree on every message."""

    def __init__(self, apicurio: Apicurio) -> None:
        self._client = SchemaRegistryClient({"url": apicurio.url})
        self._confluent = AvroDeserializer(self._client)

    def read(self, message: Message, part: MessageField) -> tuple[int, dict[str, Any] | None]:
        data = message.value if part is MessageField.VALUE else message.key
        if data is None:
            return 0, None
        number = int.from_bytes(data[1:5], "big")
        assert data[0] == 0
        schema = fastavro.parse_schema(json.loads(str(self._client.get_schema(number).schema_str)))
        found = fastavro.schemaless_reader(io.BytesIO(data[5:]), schema, None)
        assert self._confluent(data, SerializationContext(message.topic, part)) == found
        assert isinstance(found, dict)
        return number, found

    def rows(self, messages: list[Message], part: MessageField) -> list[dict[str, Any] | None]:
        return [self.read(message, part)[1] for message in messages]


def _read(kraft: KraftBroker, topic: str) -> list[Message]:
    return read_topic(KafkaSink((kraft.bootstrap,)).connection_settings(), topic)


def test_every_message_is_read_back_by_two_readers(spark: Any, kraft: KraftBroker, apicurio: Apicurio) -> None:
    apicurio.set_compatibility("BACKWARD")
    sink = TicdcSink(_uri(kraft, "avro.rows", apicurio.url), SCHEMA)
    sink(_changes(spark, 0, ROWS), 0)
    sink(_changes(spark, ROWS, ROWS + 10, op="d"), 1)
    messages = _read(kraft, "avro.rows")
    readers = _Readers(apicurio)
    values, keys = readers.rows(messages, MessageField.VALUE), readers.rows(messages, MessageField.KEY)
    assert values == [_row(number) for number in range(ROWS)] + [None] * 10
    assert keys == [{"id": number} for number in range(ROWS + 10)]
    assert {"avro_rows-key", "avro_rows-value"} <= set(SchemaRegistryClient({"url": apicurio.url}).get_subjects())


def _image(number: int) -> dict[str, Any]:
    """What a consumer of debezium-avro must see of a row."""
    row = {name: value for name, value in _row(number).items() if not name.startswith("_tidb")}
    made = int(MADE.replace(tzinfo=dt.timezone.utc).timestamp() * 1000)
    return {**row, "made": made, "flags": (number % 1024).to_bytes(2, "little")}


def test_envelopes_of_debezium_are_read_back_by_two_readers(spark: Any, kraft: KraftBroker, apicurio: Apicurio) -> None:
    apicurio.set_compatibility("BACKWARD")
    uri = _uri(kraft, "debezium.rows", apicurio.url, "debezium-avro")
    columns = f"struct({COLUMNS})"
    update = f"struct({COLUMNS.replace('id / 4', '-id / 4')})"
    changes = spark.range(90).selectExpr(
        "split('c,u,d', ',')[cast(id / 30 as int)] as op",
        f"{FIRST} + id * {STEP} as commit_ts",
        f"if(id < 30, null, {columns}) as before",
        f"if(id < 30, {columns}, if(id < 60, {update}, null)) as after",
    )
    TicdcSink(uri, SCHEMA, release="next")(changes, 0)
    messages = _read(kraft, "debezium.rows")
    readers = _Readers(apicurio)
    values, keys = readers.rows(messages, MessageField.VALUE), readers.rows(messages, MessageField.KEY)
    told = [None if value is None else [value[name] for name in ("op", "before", "after")] for value in values]
    images = [_image(number) for number in range(90)]
    assert told == [
        *(["c", None, images[number]] for number in range(30)),
        *(["u", image, image | {"price": -image["price"]}] for image in images[30:60]),
        *(["d", image, None] for image in images[60:]),
    ]
    sources = [value["source"] for value in values if value]
    assert [source["commit_ts"] for source in sources] == [FIRST + number * STEP for number in range(90)]
    assert {(source["db"], source["table"]) for source in sources} == {("shop", "t")}
    assert keys == [{"id": number} for number in range(90)]
    assert {"debezium.rows-key", "debezium.rows-value"} <= set(
        SchemaRegistryClient({"url": apicurio.url}).get_subjects()
    )


def test_a_new_column_gives_a_new_id(spark: Any, kraft: KraftBroker, apicurio: Apicurio) -> None:
    apicurio.set_compatibility("BACKWARD")
    sink = TicdcSink(_uri(kraft, "avro-evolves", apicurio.url), SCHEMA)
    sink(_changes(spark, 0, 10), 0)
    ddl = spark.createDataFrame(
        [("ddl", FIRST + 10 * STEP - 1, "alter table shop.t add column note varchar(9) default 'none'")],
        "op string, commit_ts long, query string",
    )
    later = _changes(spark, 10, 20, extra=", concat('n', id) as note")
    sink(later.unionByName(ddl, allowMissingColumns=True), 1)
    readers = _Readers(apicurio)
    found = [readers.read(message, MessageField.VALUE) for message in _read(kraft, "avro-evolves")]
    first, second = {number for number, _ in found[:10]}, {number for number, _ in found[10:]}
    assert len(first) == len(second) == 1
    assert first != second
    assert [row["note"] for _, row in found[10:] if row] == [f"n{number}" for number in range(10, 20)]


def test_an_incompatible_change_sends_nothing(spark: Any, kraft: KraftBroker, apicurio: Apicurio) -> None:
    apicurio.set_compatibility("BACKWARD")
    sink = TicdcSink(_uri(kraft, "avro-refused", apicurio.url), SCHEMA)
    sink(_changes(spark, 0, 10), 0)
    ddl = spark.createDataFrame(
        [("ddl", FIRST + 10 * STEP - 1, "alter table shop.t add column must int not null")],
        "op string, commit_ts long, query string",
    )
    later = _changes(spark, 10, 20, extra=", cast(id as int) as must")
    with pytest.raises(IncompatibleSchemaError, match="avro-refused-value") as caught:
        sink(later.unionByName(ddl, allowMissingColumns=True), 1)
    assert caught.value.subject == "avro-refused-value"
    assert caught.value.version == FIRST + 10 * STEP - 1
    assert len(_read(kraft, "avro-refused")) == 10


def test_a_registry_behind_https_and_a_login(
    spark: Any, kraft: KraftBroker, make_apicurio: Callable[..., Apicurio], certificate: ServerCertificate
) -> None:
    with make_apicurio(login=("bob", "p@s:s/1"), certificate=certificate) as server:
        uri = f"kafka://{kraft.bootstrap}/avro-tls?protocol=avro&partition-num=1&replication-factor=1"
        config = load_changefeed(uri, schema_registry=server.url_with_login)
        tls = RegistryTls(ca=certificate.ca)
        TicdcSink(config, SCHEMA, registry=registry_for(config, tls)).write(_changes(spark, 0, 5))
        schemas = RegistrySchemas(server.url_with_login, tls=tls.context())
        rows: list[Any] = [AvroReader(schemas).read(message.key, message.value) for message in _read(kraft, "avro-tls")]
    assert [row.after["id"] for row in rows if row.after] == list(range(5))
    assert "p@s" not in repr(config) + str(config)
