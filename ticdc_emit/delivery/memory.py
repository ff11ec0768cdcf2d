"""Messages in the memory of the process that wrote them, for tests; with Spark workers, read files or Kafka instead."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ticdc_emit.config.kafka import DEFAULT_MAX_MESSAGE_BYTES, DEFAULT_PARTITION_NUM
from ticdc_emit.delivery.base import (
    Message,
    PartitionBatch,
    TaskWriter,
    effective_partitions,
    unknown_partition,
    unknown_topic,
)

_Record = tuple[bytes | None, bytes | None]
_Partition = list[_Record]

_stores: dict[str, dict[str, list[_Partition]]] = {}
_lock = threading.Lock()


def messages(name: str, topic: str | None = None) -> list[Message]:
    """Return the messages in ``memory://name``, or of one topic, by topic, partition and offset."""
    with _lock:
        return [
            Message(each, number, offset, key, value)
            for each, partitions in sorted(_stores.get(name, {}).items())
            if topic in (None, each)
            for number, records in enumerate(partitions)
            for offset, (key, value) in enumerate(records)
        ]


def clear(name: str) -> None:
    """Forget the store ``name`` with its topics."""
    with _lock:
        _stores.pop(name, None)


@dataclass(frozen=True)
class MemorySink:
    """A sink into the store ``name`` of this process; ``in_process``: tells Spark to deliver from the driver."""

    in_process: ClassVar[bool] = True
    name: str
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    auto_create_topic: bool = True
    new_partitions: int = DEFAULT_PARTITION_NUM

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        with _lock:
            store = _stores.setdefault(self.name, {})
            for topic, asked in topics.items():
                if topic not in store:
                    if not self.auto_create_topic:
                        raise unknown_topic(topic)
                    store[topic] = [[] for _ in range(asked or self.new_partitions)]
            return {topic: effective_partitions(topic, asked, len(store[topic])) for topic, asked in topics.items()}

    def message_limit(self, topics: Iterable[str]) -> int:
        return self.max_message_bytes

    def open(self, message_limit: int | None = None) -> MemoryWriter:
        return MemoryWriter(self)


class MemoryWriter(TaskWriter):
    """Buffers, and appends to the store on flush."""

    def __init__(self, sink: MemorySink) -> None:
        super().__init__(sink.max_message_bytes)
        self._name, self._creates_topics = sink.name, sink.auto_create_topic
        self._kept: dict[tuple[str, int], _Partition] = {}

    def check_target(self, topic: str, partition: int) -> None:
        with _lock:
            store = _stores.get(self._name, {})
            if topic not in store:
                raise unknown_topic(topic, creates=self._creates_topics)
            if partition >= len(store[topic]):
                raise unknown_partition(topic, partition)

    def enqueue(self, batch: PartitionBatch) -> None:
        kept = self._kept.setdefault((batch.topic, batch.partition), [])
        kept.extend(zip(batch.keys, batch.values, strict=True))

    def settle(self) -> None:
        with _lock:
            for (topic, partition), records in self._kept.items():
                _stores[self._name][topic][partition].extend(records)
        self._kept.clear()

    def release(self, failed: bool) -> None:
        self._kept.clear()
