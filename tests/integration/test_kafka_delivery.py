"""A real Kafka 4.3.1 under the writer: crashes, refusals, limits, and how fast it goes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

import pyarrow as pa
import pytest
from message_rows import message_batch

from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.delivery.kafka_reader import read_topic
from ticdc_emit.errors import BrokerUnreachableError, ConfigError, MessageTooLargeError
from ticdc_emit.testing.kraft import KraftBroker

pytestmark = pytest.mark.integration


@pytest.fixture
def topic() -> str:
    return f"t-{uuid4().hex}"


def numbered(topic: str, start: int, stop: int, partitions: int = 2, pad: int = 0) -> pa.RecordBatch:
    return message_batch(*((topic, n % partitions, None, b"%d" % n + b" " * pad) for n in range(start, stop)))


def values(broker: KraftBroker, topic: str, partition: int) -> list[int]:
    settings = KafkaSink((broker.bootstrap,)).connection_settings()
    return [int(m.value or b"") for m in read_topic(settings, topic, timeout_s=30) if m.partition == partition]


@pytest.mark.slow
def test_a_broker_killed_while_writing_comes_back(make_broker: Callable[[], KraftBroker], topic: str) -> None:
    total = 60_000
    with make_broker() as broker:
        sink = KafkaSink((broker.bootstrap,), queue_messages=2_000, delivery_timeout_ms=60_000)
        sink.prepare({topic: 2})

        def crash() -> None:
            broker.kill()
            time.sleep(1)
            broker.start()

        crashing = threading.Thread(target=crash)
        with sink.open() as writer:
            for start in range(0, total, 2_000):
                writer.write(numbered(topic, start, start + 2_000))
                if start == 20_000:
                    crashing.start()
            report = writer.flush()
        crashing.join()
        assert report.messages == total
        for partition in (0, 1):
            assert values(broker, topic, partition) == list(range(partition, total, 2))


@pytest.mark.slow
def test_a_broker_killed_for_good_is_an_error(make_broker: Callable[[], KraftBroker], topic: str) -> None:
    with make_broker() as broker:
        # long enough for librdkafka to tell that the connection is gone, on a busy machine too
        sink = KafkaSink((broker.bootstrap,), queue_messages=1_000, delivery_timeout_ms=8_000)
        sink.prepare({topic: 1})
        with sink.open() as writer:
            writer.write(numbered(topic, 0, 500, 1))
            assert writer.flush().messages == 500
        full, waiting = sink.open(), sink.open()
        full.write(numbered(topic, 500, 600, 1))
        waiting.write(numbered(topic, 500, 600, 1))
        full.flush()
        broker.kill()
        with pytest.raises(BrokerUnreachableError) as back_pressure:
            full.write(numbered(topic, 600, 3_000, 1))
        waiting.write(numbered(topic, 600, 700, 1))
        with pytest.raises(BrokerUnreachableError) as flushed:
            waiting.flush()
        for refused in (back_pressure.value, flushed.value):
            assert 8.0 <= refused.waited < 24
            assert broker.bootstrap in str(refused)
        full.close()
        waiting.close()
        broker.start()
        assert values(broker, topic, 0)[:600] == list(range(600))


def test_batches_of_messages_keep_to_the_topics_limit(kraft: KraftBroker, topic: str) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": kraft.bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1, config={"max.message.bytes": "20000"})])[topic].result()
    sink = KafkaSink((kraft.bootstrap,))
    sink.prepare({topic: None})
    with sink.open(sink.message_limit([topic])) as writer:
        writer.write(numbered(topic, 0, 500, 1, pad=1_000))
    assert values(kraft, topic, 0) == list(range(500))


def test_the_topics_own_limit(kraft: KraftBroker, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": kraft.bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1, config={"max.message.bytes": "10000"})])[topic].result()
    sink = KafkaSink((kraft.bootstrap,))
    assert sink.prepare({topic: None}) == {topic: 1}
    assert sink.message_limit([topic]) == 10_000 - 128
    assert "lowered" not in caplog.text  # nobody asked for more
    for _ in range(3):
        assert replace(sink, max_message_bytes=11_000).message_limit([topic]) == 10_000 - 128
    assert caplog.text.count("max-message-bytes is lowered from 11000 to 9872") == 1
    writer = sink.open()
    writer.write(numbered(topic, 0, 1, 1, pad=50_000))
    with pytest.raises(MessageTooLargeError) as refused:
        writer.flush()
    writer.close()
    assert (refused.value.topic, refused.value.partition, refused.value.size) == (topic, 0, 50_001)
    assert values(kraft, topic, 0) == []


def test_more_replicas_than_brokers(kraft: KraftBroker, topic: str) -> None:
    with pytest.raises(ConfigError, match="cannot have 3 replicas") as refused:
        KafkaSink((kraft.bootstrap,), replication_factor=3).prepare({topic: 1})
    assert refused.value.option == "replication-factor"


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", [-1, 1, 0])
def test_acks_and_compression(kraft: KraftBroker, topic: str, compression: str, acks: int) -> None:
    sink = KafkaSink((kraft.bootstrap,), compression=compression, acks=acks)
    sink.prepare({topic: 2})
    # a broker may drop what needs no acknowledgement until it knows that it leads a new topic's partitions
    with KafkaSink((kraft.bootstrap,)).open() as writer:
        writer.write(numbered(topic, 0, 2))
        assert writer.flush().messages == 2
    with sink.open() as writer:
        writer.write(numbered(topic, 2, 1000))
        assert writer.flush().messages == 998
    assert values(kraft, topic, 1) == list(range(1, 1000, 2))
