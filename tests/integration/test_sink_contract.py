"""What every sink promises, asked of each of them: memory, files, the embedded Kafka and a real broker."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from message_rows import Row, message_batch

from ticdc_emit.delivery.base import MESSAGE_SCHEMA, Message, PartitionCount, Sink
from ticdc_emit.delivery.files import FileSink, read_files
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.delivery.kafka_reader import read_topic
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.errors import ConfigError, DeliveryError, MessageTooLargeError, UnknownTopicError
from ticdc_emit.testing import EmbeddedKafka


@dataclass
class Place:
    """Where a kind of sink puts its messages, and how to look at them."""

    sink: Callable[..., Sink]
    read: Callable[[str], list[Message]]
    makes_any_topic: bool = False


@pytest.fixture(
    params=["memory", "files", "embedded", pytest.param("kafka", marks=pytest.mark.integration)], scope="module"
)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    if request.param == "memory":
        name = uuid4().hex

        def read_memory(topic: str) -> list[Message]:
            return [message for message in messages(name) if message.topic == topic]

        yield Place(lambda **options: MemorySink(name, **options), read_memory)
        clear(name)
    elif request.param == "files":
        folder = tmp_path_factory.mktemp("files")
        yield Place(lambda **options: FileSink(str(folder), **options), lambda topic: list(read_files(folder / topic)))
    elif request.param == "embedded":
        pytest.importorskip("confluent_kafka")
        with EmbeddedKafka() as embedded:
            yield Place(embedded.sink, embedded.read, makes_any_topic=True)
    else:
        broker = request.getfixturevalue("kraft").bootstrap
        yield Place(
            lambda **options: KafkaSink((broker,), **options),
            lambda topic: read_topic(KafkaSink((broker,)).connection_settings(), topic),
        )


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return f"t-{uuid4().hex}"


def by_partition(messages: list[Message]) -> dict[int, list[tuple[bytes | None, bytes | None]]]:
    found = defaultdict(list)
    for message in messages:
        assert message.offset == len(found[message.partition])
        found[message.partition].append((message.key, message.value))
    return dict(found)


def test_order_and_counts(place: Place, topic: str) -> None:
    sink = place.sink()
    assert sink.prepare({topic: 3, f"{topic}.b": 2}) == {topic: 3, f"{topic}.b": 2}
    rows: list[Row] = [(topic if n % 5 else f"{topic}.b", n % 7 % 2, b"%d" % (n % 3), b"v%d" % n) for n in range(4000)]
    with sink.open() as writer:
        for start in range(0, 3000, 1000):
            writer.write(message_batch(*rows[start : start + 1000]))
        first = writer.flush()
        writer.write(message_batch(*rows[3000:]))
        second = writer.flush()
        assert writer.flush().messages == 0
    assert (first.messages, second.messages) == (3000, 1000)
    for name in (topic, f"{topic}.b"):
        for partition, found in by_partition(place.read(name)).items():
            wanted = [(key, value) for to, number, key, value in rows if (to, number) == (name, partition)]
            assert found == wanted
            size = sum(len(key or b"") + len(value or b"") for key, value in wanted)
            assert (first + second).per_partition[name, partition] == PartitionCount(len(wanted), size)
    assert (first + second).messages == len(rows)


def test_null_and_empty_are_different(place: Place, topic: str) -> None:
    sink = place.sink()
    sink.prepare({topic: 1})
    pairs = [(None, b"a"), (b"", b"a"), (b"k", None), (b"k", b""), (None, None), (b"", b""), (b"\xff\0", b"\x80")]
    with sink.open() as writer:
        writer.write(message_batch(*((topic, 0, key, value) for key, value in pairs)))
        assert writer.flush().bytes == 7
    assert by_partition(place.read(topic)) == {0: pairs}


@pytest.mark.parametrize(
    "types",
    [
        {"topic": pa.dictionary(pa.int32(), pa.string()), "key": pa.large_binary(), "value": pa.large_binary()},
        {"topic": pa.large_string(), "partition": pa.int64(), "value": pa.string()},
        {"topic": pa.dictionary(pa.int8(), pa.large_string()), "partition": pa.int8(), "key": pa.large_string()},
    ],
)
def test_arrow_types(place: Place, topic: str, types: dict[str, pa.DataType]) -> None:
    sink = place.sink()
    sink.prepare({topic: 2})
    messages = message_batch(*((topic, n % 2, b"k", b"v") for n in range(10)))
    arrays = {name: messages.column(name).cast(kind) for name, kind in types.items()}
    with sink.open() as writer:
        writer.write(
            pa.record_batch({name: arrays.get(name, messages.column(name)) for name in MESSAGE_SCHEMA.names}).slice(
                1, 8
            )
        )
    assert by_partition(place.read(topic)) == {0: [(b"k", b"v")] * 4, 1: [(b"k", b"v")] * 4}


def test_a_large_message_and_an_empty_batch(place: Place, topic: str) -> None:
    sink = place.sink()
    sink.prepare({topic: 1})
    value = bytes(range(256)) * (3 * 4096)
    with sink.open() as writer:
        writer.write(message_batch())
        writer.write(message_batch((topic, 0, b"k", value), (topic, 0, None, b"after")))
    assert by_partition(place.read(topic))[0][-1] == (None, b"after")
    assert (b"k", value) in by_partition(place.read(topic))[0]


def test_a_message_above_the_limit_stops_its_batch(place: Place, topic: str) -> None:
    sink = place.sink(max_message_bytes=2000)
    sink.prepare({topic: 1})
    writer = sink.open()
    writer.write(message_batch((topic, 0, b"k" * 1000, b"v" * 1000)))
    writer.flush()
    with pytest.raises(MessageTooLargeError) as refused:
        writer.write(message_batch((topic, 0, None, b"fits"), (topic, 0, b"k" * 1000, b"v" * 1001)))
    with pytest.raises(MessageTooLargeError):
        writer.flush()
    writer.close()
    assert (refused.value.topic, refused.value.partition, refused.value.size) == (topic, 0, 2001)
    assert topic in str(refused.value)
    assert "2001" in str(refused.value)
    assert [len(message.value or b"") for message in place.read(topic)] == [1000]


def test_partition_counts(place: Place, topic: str) -> None:
    sink = place.sink()
    existing = 4 if place.makes_any_topic else 3
    assert sink.prepare({topic: None}) == {topic: existing}
    assert sink.prepare({topic: 2}) == {topic: 2}
    assert sink.prepare({topic: None}) == {topic: existing}
    with pytest.raises(ConfigError, match="more than that of actual topic") as refused:
        sink.prepare({topic: 5})
    assert refused.value.code == "CDC:ErrKafkaInvalidPartitionNum"
    assert sink.message_limit([topic]) == 10 * 1024 * 1024


def test_unknown_topic_and_partition(place: Place, topic: str) -> None:
    with pytest.raises(UnknownTopicError, match=topic):
        place.sink(auto_create_topic=False).prepare({topic: 1})
    sink = place.sink()
    if not place.makes_any_topic:
        with pytest.raises(UnknownTopicError, match=topic), sink.open() as writer:
            writer.write(message_batch((topic, 0, None, b"v")))
    sink.prepare({topic: 2})
    assert place.sink(auto_create_topic=False).prepare({topic: None}) == sink.prepare({topic: None})
    writer = sink.open()
    with pytest.raises(UnknownTopicError, match="no partition 9"):
        writer.write(message_batch((topic, 0, None, b"v"), (topic, 9, None, b"v")))
    writer.close()
    assert place.read(topic) == []


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        ({"partition": [0, -1]}, "no partition"),
        ({"partition": [0, None]}, "no partition"),
        ({"partition": ["0", "1"]}, "not a batch of messages.*whole number"),
        ({"topic": ["t", None]}, "no topic"),
        ({"value": [1, 2]}, "not a batch of messages.*binary"),
        ({"key": None}, 'not a batch of messages.*"key"'),
    ],
)
def test_a_batch_that_is_not_one_of_messages(place: Place, topic: str, wrong: dict[str, Any], cause: str) -> None:
    sink = place.sink()
    sink.prepare({topic: 2})
    columns = {"topic": [topic, topic], "partition": [0, 1], "key": [b"", b""], "value": [b"", b""], **wrong}
    wrong_batch = pa.record_batch({name: column for name, column in columns.items() if column is not None})
    with pytest.raises(DeliveryError, match=cause), sink.open() as writer:
        writer.write(wrong_batch)
    assert place.read(topic) == []


def test_a_closed_writer_takes_nothing(place: Place, topic: str) -> None:
    sink = place.sink()
    sink.prepare({topic: 1})
    with sink.open() as writer:
        writer.write(message_batch((topic, 0, None, b"v")))
    writer.close()
    with pytest.raises(DeliveryError, match="closed"):
        writer.write(message_batch((topic, 0, None, b"v")))
    assert len(place.read(topic)) == 1


def test_an_abandoned_task_reports_nothing_and_the_next_one_works(place: Place, topic: str) -> None:
    sink = place.sink()
    sink.prepare({topic: 1})

    def abandoned() -> None:
        with sink.open() as writer:
            writer.write(message_batch((topic, 0, None, b"maybe")))
            raise KeyError("the task died")

    with pytest.raises(KeyError):
        abandoned()
    with sink.open() as writer:
        writer.write(message_batch((topic, 0, None, b"surely")))
        assert writer.flush().messages == 1
    assert [message.value for message in place.read(topic)][-1] == b"surely"


def test_sinks_and_reports_pickle(place: Place, topic: str) -> None:
    sink = pickle.loads(pickle.dumps(place.sink()))
    sink.prepare({topic: 1})
    with sink.open() as writer:
        writer.write(message_batch((topic, 0, b"k", b"v")))
        report = pickle.loads(pickle.dumps(writer.flush()))
    assert report.to_dict() == {
        "messages": 1,
        "bytes": 2,
        "retries": 0,
        "partitions": [{"topic": topic, "partition": 0, "messages": 1, "bytes": 2}],
    }
