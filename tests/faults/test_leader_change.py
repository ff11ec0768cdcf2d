"""Partitions change their leader under a writer, by a crash and by an election: nothing lost, repeated or reordered."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pyarrow as pa
import pytest
from message_rows import message_batch

from tests.kafka_cluster import KafkaCluster
from ticdc_emit.delivery.kafka import KafkaSink

from .topic_log import messages_of

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(300)]

_MESSAGES, _PARTITIONS, _STEP = 40_000, 3, 1_000


def _batch(topic: str, start: int) -> pa.RecordBatch:
    return message_batch(*((topic, n % _PARTITIONS, None, b"%d" % n) for n in range(start, start + _STEP)))


def _written_while(cluster: KafkaCluster, topic: str, change: Callable[[], None]) -> None:
    sink = KafkaSink(tuple(cluster.bootstrap.split(",")), queue_messages=2_000, replication_factor=3)
    assert sink.prepare({topic: _PARTITIONS}) == {topic: _PARTITIONS}
    changing = threading.Thread(target=change)
    with sink.open() as writer:
        for start in range(0, _MESSAGES, _STEP):
            writer.write(_batch(topic, start))
            if start == _MESSAGES // 4:
                changing.start()
        assert writer.flush().messages == _MESSAGES
    changing.join()
    for partition in range(_PARTITIONS):
        found = [int(value or b"") for _, value in messages_of(cluster.bootstrap, topic, partition)]
        assert found == list(range(partition, _MESSAGES, _PARTITIONS))


def test_leaders_lost_and_elected_again(cluster: KafkaCluster) -> None:
    from confluent_kafka import ElectionType, TopicPartition
    from confluent_kafka.admin import AdminClient

    topic, led = "leaders", [0] * _PARTITIONS

    def crash() -> None:
        led[0] = cluster.leader(topic, 0)
        cluster.kill(led[0])

    _written_while(cluster, topic, crash)
    assert cluster.leader(topic, 0) != led[0]
    cluster.restart(led[0])
    cluster.wait_until_in_sync([topic])

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    other = "leaders-elected"

    def elect() -> None:
        """Give back to the restarted node what it led at first."""
        places = [TopicPartition(name, number) for name in (topic, other) for number in range(_PARTITIONS)]
        admin.elect_leaders(ElectionType.PREFERRED, places).result()

    _written_while(cluster, other, elect)
    assert cluster.leader(topic, 0) == led[0]
