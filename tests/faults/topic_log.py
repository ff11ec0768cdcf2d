"""What a topic holds: how far it has come while a job runs, and every message of it at the end.

Brokers may be down while it is asked how far a topic is: then the last known answer stands.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from uuid import uuid4

from confluent_kafka import Consumer, KafkaException, TopicPartition

_READ_TIMEOUT_S = 60.0
_POLL_S = 0.2
_ASK_TIMEOUT_S = 0.5
_FETCH = 10_000


def _consumer(brokers: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": f"faults-{uuid4()}",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "log_level": 0,
        }
    )


class Progress:
    def __init__(self, brokers: str, topic: str) -> None:
        self._consumer = _consumer(brokers)
        self._topic = topic
        self._ends: dict[int, int] = {}

    def partitions(self) -> list[int]:
        if not self._ends:
            with contextlib.suppress(KafkaException):
                found = self._consumer.list_topics(self._topic, timeout=_ASK_TIMEOUT_S).topics[self._topic]
                self._ends = dict.fromkeys(found.partitions, 0)
        return list(self._ends)

    def messages(self) -> int:
        for partition in self.partitions():
            with contextlib.suppress(KafkaException):
                place = TopicPartition(self._topic, partition)
                self._ends[partition] = self._consumer.get_watermark_offsets(place, timeout=_ASK_TIMEOUT_S)[1]
        return sum(self._ends.values())

    def close(self) -> None:
        self._consumer.close()


def partitions_of(brokers: str, topic: str) -> list[int]:
    consumer = _consumer(brokers)
    try:
        return sorted(consumer.list_topics(topic, timeout=_READ_TIMEOUT_S).topics[topic].partitions)
    finally:
        consumer.close()


def messages_of(brokers: str, topic: str, partition: int) -> Iterator[tuple[bytes | None, bytes | None]]:
    consumer = _consumer(brokers)
    try:
        place = TopicPartition(topic, partition)
        first, end = consumer.get_watermark_offsets(place, timeout=_READ_TIMEOUT_S)
        consumer.assign([TopicPartition(topic, partition, first)])
        at, moved = first, time.monotonic()
        while at < end:
            records = consumer.consume(_FETCH, timeout=_POLL_S)
            if records:
                moved = time.monotonic()
            elif time.monotonic() - moved > _READ_TIMEOUT_S:
                raise AssertionError(f"{topic}-{partition} gives nothing behind offset {at} of {end}")
            for record in records:
                if record.error() is not None:
                    raise KafkaException(record.error())
                if record.offset() != at:
                    raise AssertionError(f"{topic}-{partition} has offset {record.offset()} in place of {at}")
                at += 1
                yield record.key(), record.value()
    finally:
        consumer.close()
