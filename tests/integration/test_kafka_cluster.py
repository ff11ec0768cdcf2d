"""A cluster of three under the writer: leaders die and are elected, too few replicas are in sync, or are asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import pyarrow as pa
import pytest
from message_rows import message_batch

from tests.kafka_cluster import KafkaCluster
from ticdc_emit.delivery.base import DeliveryReport
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.delivery.kafka_reader import read_topic
from ticdc_emit.errors import BrokerUnreachableError, ConfigError, DeliveryError

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def cluster(make_cluster: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    with make_cluster(3) as three:
        yield three


@pytest.fixture
def topic() -> str:
    return f"t-{uuid4().hex}"


def sink_of(cluster: KafkaCluster, delivery_timeout_ms: int = 60_000) -> KafkaSink:
    brokers = tuple(cluster.bootstrap.split(","))
    return KafkaSink(brokers, replication_factor=3, queue_messages=2_000, delivery_timeout_ms=delivery_timeout_ms)


def numbered(topic: str, start: int, stop: int) -> pa.RecordBatch:
    return message_batch(*((topic, n % 3, None, b"%d" % n) for n in range(start, stop)))


def test_a_leader_dies_while_writing_and_is_elected_again(cluster: KafkaCluster, topic: str) -> None:
    from confluent_kafka import ElectionType, TopicPartition
    from confluent_kafka.admin import AdminClient

    total = 100_000
    sink = sink_of(cluster)
    places = [TopicPartition(topic, number) for number in range(3)]
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    assert sink.prepare({topic: 3}) == {topic: 3}
    first = cluster.leader(topic, 0)
    crashing = threading.Thread(target=cluster.kill, args=(first,))
    report = DeliveryReport()
    with sink.open() as writer:
        for start in range(0, total, 2_000):
            writer.write(numbered(topic, start, start + 2_000))
            if start == 20_000:
                report += writer.flush()
                assert report.retries == 0
                crashing.start()
            if start == 60_000:
                report += writer.flush()
                crashing.join()
                assert cluster.leader(topic, 0) != first
                cluster.restart(first)
                cluster.wait_until_in_sync([topic])
            if start == 70_000:  # what it led at first
                admin.elect_leaders(ElectionType.PREFERRED, places)
        report += writer.flush()
    assert report.messages == total
    assert report.retries > 0
    assert report.to_dict()["retries"] == report.retries
    while cluster.leader(topic, 0) != first:
        time.sleep(0.1)
    found = read_topic(sink.connection_settings(), topic, timeout_s=30)
    for partition in range(3):
        values = [int(message.value or b"") for message in found if message.partition == partition]
        assert values == list(range(partition, total, 3))


@pytest.mark.slow
def test_too_few_replicas_in_sync(cluster: KafkaCluster, topic: str) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    strict = NewTopic(topic, 3, 3, config={"min.insync.replicas": "3"})
    admin.create_topics([strict])[topic].result()
    sink = sink_of(cluster, delivery_timeout_ms=4_000)
    assert sink.prepare({topic: None}) == {topic: 3}
    node = cluster.leader(topic, 0)
    writer = sink.open()
    writer.write(numbered(topic, 0, 300))
    assert writer.flush().messages == 300
    cluster.kill(node)
    while cluster.leader(topic, 0) == node:
        time.sleep(0.1)
    writer.write(numbered(topic, 300, 600))
    # The broker that is gone is not the reason: the others answer, but must not take a message.
    with pytest.raises(DeliveryError, match=r"acknowledged none of 300 messages.*in-sync replicas") as refused:
        writer.flush()
    assert not isinstance(refused.value, BrokerUnreachableError)
    writer.close()
    cluster.restart(node)
    cluster.wait_until_in_sync([topic])
    with sink.open() as again:
        again.write(numbered(topic, 300, 600))
        assert again.flush().messages == 300


def test_fewer_replicas_than_must_be_in_sync(cluster: KafkaCluster, topic: str) -> None:
    brokers = tuple(cluster.bootstrap.split(","))
    with pytest.raises(
        ConfigError, match=r"`replication-factor` 1 is smaller than the `min\.insync\.replicas` 2"
    ) as no:
        KafkaSink(brokers).prepare({topic: 1})
    assert (no.value.option, no.value.code) == ("replication-factor", "CDC:ErrKafkaInvalidConfig")
    # As in TiCDC, whoever does not wait for all replicas may have fewer.
    assert KafkaSink(brokers, acks=1).prepare({topic: 1}) == {topic: 1}
