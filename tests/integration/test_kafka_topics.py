"""Topics made on the way to a real broker: several at once, some there already, and others making them too."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from message_rows import message_batch

from ticdc_emit.config import load_changefeed
from ticdc_emit.config.protocols import FORMS, protocol_parameters, spec_of
from ticdc_emit.delivery.base import MessageWriter
from ticdc_emit.delivery.kafka import KafkaAdmin, KafkaSink
from ticdc_emit.delivery.kafka_reader import read_topic
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import ConfigError, DeliveryError, MessageTooLargeError, UnknownTopicError
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.testing.kraft import KraftBroker
from ticdc_emit.tso import compose

pytestmark = pytest.mark.integration


SCHEMA = "create table s.t (id int primary key, body longtext)"
START = 1_700_000_000_000
ROWS = pa.schema(
    [
        ("op", pa.string()),
        ("commit_ts", pa.int64()),
        ("query", pa.string()),
        ("after", pa.struct([("id", pa.int64()), ("body", pa.large_string())])),
    ]
)


@pytest.fixture
def name() -> str:
    return f"t-{uuid4().hex}"


def admin(broker: KraftBroker) -> Any:
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": broker.bootstrap})


def make(broker: KraftBroker, topic: str, partitions: int, **config: str) -> None:
    from confluent_kafka.admin import NewTopic

    client = admin(broker)
    client.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result()


def feed(broker: KraftBroker, topic: str, options: str, release: str = "classic", **sink: Any) -> Changefeed:
    """Return a changefeed with ``options`` of the sink URI; ``sink``: what differs from the sink of that URI."""
    config = load_changefeed(
        f"kafka://{broker.bootstrap}/{topic}?{options}", schema_registry="http://nowhere.invalid", release=release
    )
    return Changefeed(config, replace(sink_for(config), **sink), SCHEMA, registry=MemoryRegistry())


@contextmanager
def impatient(changefeed: Changefeed) -> Iterator[None]:
    """Have the sink give up after 2 s, which is enough only where nobody can acknowledge anything."""
    patient = changefeed.sink
    changefeed.sink = replace(patient, delivery_timeout_ms=2_000)
    yield
    changefeed.sink = patient


def inserts(start: int, stop: int, body: str = "") -> ArrowBatch:
    rows = [{"op": "c", "commit_ts": compose(START + n), "after": {"id": n, "body": body}} for n in range(start, stop)]
    return ArrowBatch(pa.Table.from_pylist(rows, schema=ROWS), "s.t")


def large_table(ms: int, size: int) -> ArrowBatch:
    """Return a CREATE TABLE of about ``size`` bytes."""
    columns = ", ".join(f"c{number} int comment '{'x' * 1_000}'" for number in range(size // 1_000))
    ddl = {"op": "ddl", "commit_ts": compose(START + ms), "query": f"create table s.u (id int primary key, {columns})"}
    return ArrowBatch(pa.Table.from_pylist([ddl], schema=ROWS), "s.t")


def delete(broker: KraftBroker, topic: str) -> None:
    client = admin(broker)
    client.delete_topics([topic])[topic].result()
    deadline = time.monotonic() + 30
    while topic in client.list_topics(timeout=10).topics:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def sizes(broker: KraftBroker, topic: str) -> list[int]:
    settings = KafkaSink((broker.bootstrap,)).connection_settings()
    return [len(message.key or b"") + len(message.value or b"") for message in read_topic(settings, topic)]


def test_many_topics_of_which_some_exist(kraft: KraftBroker, name: str) -> None:
    """As in TiCDC: the default topic gets partition-num or is refused, those of dispatchers keep what they have."""
    make(kraft, f"{name}.small", 1)
    make(kraft, f"{name}.large", 6)
    sink = sink_for(load_changefeed(f"kafka://{kraft.bootstrap}/{name}?protocol=canal-json&partition-num=4"))
    asked: dict[str, int | None] = {name: 4, f"{name}.small": None, f"{name}.large": None, f"{name}.two": 2}
    asked |= {f"{name}.{number}": None for number in range(30)}
    wanted = {topic: partitions or 4 for topic, partitions in asked.items()} | {f"{name}.small": 1, f"{name}.large": 6}
    assert sink.prepare(asked) == wanted
    assert sink.prepare(dict.fromkeys(asked)) == wanted
    metadata = admin(kraft).list_topics(timeout=10).topics
    assert {topic: len(metadata[topic].partitions) for topic in asked} == wanted
    assert sink.prepare({f"{name}.large": 4}) == {f"{name}.large": 4}
    with pytest.raises(ConfigError, match="more than that of actual topic") as refused:
        sink.prepare({f"{name}.new": None, f"{name}.small": 4})
    assert refused.value.option == "partition-num"


def test_nothing_is_made_where_one_topic_is_missing_and_none_may_be_made(kraft: KraftBroker, name: str) -> None:
    make(kraft, name, 2)
    sink = KafkaSink((kraft.bootstrap,), auto_create_topic=False)
    with pytest.raises(UnknownTopicError, match=f"{name}.missing"):
        sink.prepare({name: None, f"{name}.missing": None})
    assert sink.prepare({name: None}) == {name: 2}


def test_changefeeds_that_start_together_make_the_same_topics(kraft: KraftBroker, name: str) -> None:
    topics: dict[str, int | None] = {f"{name}.{number}": 2 for number in range(20)}
    sinks = [KafkaSink((kraft.bootstrap,), client_id=f"feed-{number}") for number in range(4)]
    with ThreadPoolExecutor(len(sinks)) as pool:
        assert list(pool.map(lambda sink: sink.prepare(topics), sinks)) == [topics] * len(sinks)


def test_somebody_else_makes_the_topic_meanwhile(
    kraft: KraftBroker, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = KafkaAdmin._create

    def beaten(self: KafkaAdmin, missing: dict[str, int]) -> None:
        for topic in missing:
            make(kraft, topic, 2)
        create(self, missing)

    monkeypatch.setattr(KafkaAdmin, "_create", beaten)
    sink = KafkaSink((kraft.bootstrap,))
    assert sink.prepare({f"{name}.any": None, f"{name}.one": 1}) == {f"{name}.any": 2, f"{name}.one": 1}
    with pytest.raises(ConfigError, match=r"\(3\) specified in sink-uri is more than that of actual topic \(2\)"):
        sink.prepare({f"{name}.three": 3})


def test_a_name_that_kafka_does_not_take(kraft: KraftBroker) -> None:
    with pytest.raises(DeliveryError, match="did not create the topic no topic"):
        KafkaSink((kraft.bootstrap,)).prepare({"no topic": 1})


def test_the_smallest_limit_of_all_topics_counts(kraft: KraftBroker, name: str) -> None:
    make(kraft, f"{name}.small", 1, **{"max.message.bytes": "20000"})
    make(kraft, f"{name}.smaller", 1, **{"max.message.bytes": "10000"})
    sink = KafkaSink((kraft.bootstrap,), max_message_bytes=15_000)
    sink.prepare({name: 1})
    assert sink.message_limit([name]) == 15_000
    assert sink.message_limit([name, f"{name}.small"]) == 15_000
    assert sink.message_limit([name, f"{name}.small", f"{name}.smaller"]) == 10_000 - 128
    assert replace(sink, limited_by_topics=True).message_limit([f"{name}.small"]) == 20_000


FORMS_OF = [("classic", form) for form in FORMS if form != "debezium-avro"] + [("next", form) for form in FORMS]


@pytest.mark.parametrize(("release", "form"), FORMS_OF)
def test_rows_and_ddl_between_max_message_bytes_and_the_topics_limit(
    kraft: KraftBroker, name: str, release: str, form: str
) -> None:
    """TiCDC's ``next`` sends what the topic takes; ``classic`` nothing above ``max-message-bytes``."""
    make(kraft, name, 1, **{"max.message.bytes": "200000"})
    options = "&".join(f"{key}={value}" for key, value in protocol_parameters(form).items())
    changefeed = feed(kraft, name, options + "&max-message-bytes=10000", release=release)
    changefeed.run(inserts(0, 1), 0, final=False)
    large = [inserts(1, 2, "x" * 20_000), *([large_table(2, 20_000)] if spec_of(form).ddl else [])]
    for number, batch in enumerate(large, start=1):
        if release == "next":
            changefeed.run(batch, number, final=True)
            assert sum(size > 20_000 for size in sizes(kraft, name)) == number
            continue
        with pytest.raises(MessageTooLargeError):
            feed(kraft, name, options + "&max-message-bytes=10000", release=release).run(batch, 0, final=True)
        assert max(sizes(kraft, name)) < 10_000


@pytest.mark.parametrize(("release", "form"), FORMS_OF)
def test_rows_and_ddl_between_the_topics_limit_and_max_message_bytes(
    kraft: KraftBroker, name: str, release: str, form: str
) -> None:
    make(kraft, name, 1, **{"max.message.bytes": "10000"})
    options = "&".join(f"{key}={value}" for key, value in protocol_parameters(form).items())
    for batch in (inserts(1, 2, "x" * 20_000), *([large_table(2, 20_000)] if spec_of(form).ddl else [])):
        with pytest.raises(MessageTooLargeError) as refused:
            feed(kraft, name, options + "&max-message-bytes=100000", release=release).run(batch, 0, final=True)
        if batch.ddl_rows("s"):
            assert "DDL" in refused.value.message
            assert refused.value.statement.startswith("CREATE TABLE")
            assert refused.value.remedy.startswith("Raise the topic's max.message.bytes")
        assert max(sizes(kraft, name), default=0) < 10_000


def test_a_topic_deleted_between_two_batches_is_made_again(kraft: KraftBroker, name: str) -> None:
    changefeed = feed(kraft, name, "protocol=canal-json&partition-num=2")
    changefeed.run(inserts(0, 100), 0, final=False)
    delete(kraft, name)
    with impatient(changefeed), pytest.raises(UnknownTopicError, match=f"the topic {name} does not exist") as refused:
        changefeed.run(inserts(100, 200), 1, final=False)
    assert refused.value.remedy == "Run the batch again, which creates it, because auto-create-topic is true."
    assert changefeed.run(inserts(100, 200), 1, final=False).rows == 100
    assert changefeed.run(inserts(200, 300), 2, final=False).rows == 100
    assert len(sizes(kraft, name)) == 200
    assert len(admin(kraft).list_topics(timeout=10).topics[name].partitions) == 2


def test_a_deleted_topic_that_nobody_may_make_waits_for_its_owner(kraft: KraftBroker, name: str) -> None:
    make(kraft, name, 2)
    changefeed = feed(kraft, name, "protocol=canal-json&auto-create-topic=false")
    changefeed.run(inserts(0, 100), 0, final=False)
    delete(kraft, name)
    for _ in range(2):
        with (
            impatient(changefeed),
            pytest.raises(UnknownTopicError, match=f"the topic {name} does not exist") as refused,
        ):
            changefeed.run(inserts(100, 200), 1, final=False)
        assert refused.value.remedy == "Create it, or set auto-create-topic=true in the sink URI."
    make(kraft, name, 1)
    with pytest.raises(ConfigError, match=r"\(2\) .* is more than that of actual topic \(1\)"):
        changefeed.run(inserts(100, 200), 1, final=False)
    delete(kraft, name)
    make(kraft, name, 2)
    assert changefeed.run(inserts(100, 200), 1, final=False).rows == 100
    assert len(sizes(kraft, name)) == 100


def write_all(writer: MessageWriter, batches: list[pa.RecordBatch]) -> None:
    for batch in batches:
        writer.write(batch)
    writer.flush()


@pytest.mark.parametrize("messages", [1, 20], ids=["flush", "full queue"])
@pytest.mark.parametrize("creates", [True, False])
def test_a_topic_deleted_while_messages_are_written(
    kraft: KraftBroker, name: str, creates: bool, messages: int
) -> None:
    sink = KafkaSink((kraft.bootstrap,), queue_messages=200, delivery_timeout_ms=2_000, auto_create_topic=creates)
    make(kraft, name, 1)
    rows = message_batch(*[(name, 0, None, b"x")] * 100)
    writer = sink.open()
    writer.write(rows)
    delete(kraft, name)
    with pytest.raises(UnknownTopicError, match=f"the topic {name} does not exist") as refused:
        write_all(writer, [rows] * messages)
    writer.close()
    assert refused.value.remedy.startswith("Run the batch again" if creates else "Create it, or set auto-create-topic")


def test_a_topic_that_takes_less_than_before_is_asked_again(kraft: KraftBroker, name: str) -> None:
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    changefeed = feed(kraft, name, "protocol=canal-json&partition-num=1")
    changefeed.run(inserts(0, 1), 0, final=False)
    entry = ConfigEntry("max.message.bytes", "3000", incremental_operation=AlterConfigOpType.SET)
    client = admin(kraft)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
    client.incremental_alter_configs([resource])[resource].result()
    with pytest.raises(MessageTooLargeError, match="refused a batch of messages") as refused:
        changefeed.run(inserts(1, 1_000), 1, final=False)
    assert refused.value.remedy.startswith("Run the batch again")
    assert changefeed.run(inserts(1, 1_000), 1, final=False).rows == 999
    assert len(sizes(kraft, name)) == 1_000
