"""The writer of a task: messages in, enqueued with librdkafka, and all acknowledged when it is flushed.

A :class:`KafkaWriter` borrows a producer of this process, since connecting costs more than a small batch. An
:class:`InFlightLimit` bounds how far enqueuing runs ahead of acknowledgements.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ticdc_emit.config.secrets import foreign_text, hides_arguments
from ticdc_emit.delivery.base import (
    DeliveryReport,
    PartitionBatch,
    Target,
    TaskWriter,
    unknown_partition,
    unknown_topic,
)
from ticdc_emit.delivery.kafka_client import ConnectionLog, delivery_failed, find_topics, new_client
from ticdc_emit.errors import DeliveryError, TicdcEmitError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message


BATCH_BYTES = 1_000_000
"""librdkafka's own ``batch.size``; larger ones are not faster."""

_BATCH_MESSAGES = 10_000
"""librdkafka's own ``batch.num.messages``."""
_BROKERS_GONE = "Start the brokers and run the batch again, or in Python give KafkaSink a longer delivery_timeout_ms"

BATCHES_AHEAD = 3
"""How many batches of a partition are enqueued at most: one on its way, one that is complete, and one that grows."""

PIECES = 5
"""How many pieces a batch is enqueued in."""


class KafkaWriter(TaskWriter):
    """Produces on a pooled producer, which it gives back if nothing failed."""

    def __init__(
        self,
        pooled: PooledProducer,
        max_message_bytes: int,
        message_limit: int | None,
        *,
        brokers: Sequence[str],
        creates_topics: bool,
        dial_timeout_ms: int,
        delivery_timeout_ms: int,
    ) -> None:
        super().__init__(max_message_bytes)
        self._message_limit, self._brokers, self._creates_topics = message_limit, brokers, creates_topics
        self._dial_timeout_ms, self._delivery_timeout_ms = dial_timeout_ms, delivery_timeout_ms
        self._pooled, self._producer = pooled, pooled.producer
        self._piece = tuple(
            max(1, int(dict(self._pooled.key).get(name, default)) // PIECES)
            for name, default in (("batch.num.messages", _BATCH_MESSAGES), ("batch.size", BATCH_BYTES))
        )
        self._enqueued = 0
        self._limits: dict[Target, InFlightLimit] = {}

    def check_target(self, topic: str, partition: int) -> None:
        """A topic is looked up once per producer: one round trip instead of librdkafka's 30 s of hope."""
        known = self._pooled.partitions
        if partition >= known.get(topic, 0):
            known[topic] = self._partitions_of(topic)
        if partition >= known[topic]:
            raise unknown_partition(topic, partition)

    def enqueue(self, batch: PartitionBatch) -> None:
        topic, partition, keys, values, sizes = batch
        produce = self._producer.produce
        most_messages, most_bytes = self._piece
        for start, stop in batch.pieces(most_messages, most_bytes):
            share = max((stop - start) / most_messages, int(sizes[start:stop].sum()) / most_bytes)
            self._make_room((topic, partition), share)
            for key, value in zip(keys[start:stop], values[start:stop], strict=True):
                try:
                    produce(topic, value, key, partition)
                except Exception as error:
                    self._produce_again(error, topic, value, key, partition)
            self._enqueued += stop - start

    def _make_room(self, target: Target, share: float) -> None:
        self._producer.poll(0)
        self._raise_failures()
        outstanding = len(self._producer)
        limit = self._limits.get(target)
        if limit is None:
            limit = self._limits[target] = InFlightLimit(outstanding)
        most = limit.most(share, self._enqueued, outstanding)
        if most is not None and outstanding > most:
            self._wait(self._poll, until=most)

    def settle(self) -> None:
        self._wait(lambda: self._producer.flush(0.2), until=0)
        self._limits.clear()

    def flush(self) -> DeliveryReport:
        report = super().flush()
        failures, self._pooled.log.failures = self._pooled.log.failures, 0
        return replace(report, retries=failures)

    def release(self, failed: bool) -> None:
        self._producer.poll(0)
        if failed or self._pooled.failed or len(self._producer):
            discard(self._pooled)
        else:
            release(self._pooled)

    def _produce_again(
        self, error: Exception, topic: str, value: bytes | None, key: bytes | None, partition: int
    ) -> None:
        from confluent_kafka import KafkaException

        while isinstance(error, BufferError):
            self._wait(self._poll, until=len(self._producer) - 1)
            try:
                self._producer.produce(topic, value, key, partition)
                return
            except Exception as again:
                error = again
        if not isinstance(error, KafkaException):
            raise error
        raise self._failed(error.args[0], topic, partition, len(key or b"") + len(value or b""))

    def _poll(self) -> int:
        self._producer.poll(0.1)
        return len(self._producer)

    def _wait(self, serve: Callable[[], int], until: int) -> None:
        outstanding = len(self._producer)
        last_progress = time.monotonic()
        while True:
            left = serve()
            self._raise_failures()
            if left <= until:
                return
            now = time.monotonic()
            if left < outstanding:
                outstanding, last_progress = left, now
                self._pooled.log.forget()
            elif (now - last_progress) * 1000 > self._delivery_timeout_ms:
                raise self._stalled(left, now - last_progress)

    def _stalled(self, outstanding: int, waited: float) -> TicdcEmitError:
        partitions = self._existing_partitions()
        if partitions is None and self._pooled.log.cause:
            return self._pooled.log.failure(self._brokers, waited, remedy=_BROKERS_GONE)
        if partitions is not None:
            for topic, partition in sorted(self._limits):
                if topic not in partitions:
                    return unknown_topic(topic, creates=self._creates_topics)
                if partition >= partitions[topic]:
                    return unknown_partition(topic, partition)
        return DeliveryError(
            f"Kafka acknowledged none of {outstanding} messages in {waited:.1f} s",
            remedy="Check that the topic has enough in-sync replicas (min.insync.replicas).",
            outstanding=outstanding,
            waited=round(waited, 1),
        )

    def _existing_partitions(self) -> dict[str, int] | None:
        """Return all topics' partitions, ``None`` without an answer: librdkafka also waits for a deleted topic."""
        from confluent_kafka import KafkaException

        try:
            metadata = self._producer.list_topics(timeout=1)
        except KafkaException:
            return None
        counts = {name: len(found.partitions) for name, found in metadata.topics.items()}
        return counts if metadata.brokers else None

    def _failed(
        self, error: KafkaError, topic: str, partition: int | None = None, size: int | None = None
    ) -> TicdcEmitError:
        limit = self._message_limit
        return delivery_failed(error, topic, partition, size, limit=limit, creates=self._creates_topics)

    def _partitions_of(self, topic: str) -> int:
        from confluent_kafka import KafkaException

        try:
            metadata = find_topics(self._producer, self._pooled.log, self._brokers, self._dial_timeout_ms / 1000, topic)
        except KafkaException as error:
            raise self._failed(error.args[0], topic) from None
        found = metadata.topics[topic]
        if found.error is not None:
            raise self._failed(found.error, topic)
        if not found.partitions:
            raise unknown_topic(topic, creates=self._creates_topics)
        return len(found.partitions)

    def _raise_failures(self) -> None:
        if self._pooled.first_failure is not None:
            raise self._failed(*self._pooled.first_failure)
        if self._pooled.log.fatal is not None:
            raise DeliveryError(
                f"the Kafka producer cannot go on: {foreign_text(self._pooled.log.fatal.str())}",
                remedy="Run the batch again",
            )


Settings = Mapping[str, Any]
_Key = tuple[tuple[str, Any], ...]

_lock = threading.Lock()
_idle: dict[_Key, PooledProducer] = {}
_alive: set[PooledProducer] = set()


class PooledProducer:
    """A producer with what its callbacks saw.  ``failed`` counts messages that were not delivered."""

    def __init__(self, settings: Settings) -> None:
        from confluent_kafka import Producer

        self.key: _Key = tuple(sorted(settings.items()))
        self.failed = 0
        self.first_failure: tuple[KafkaError, str, int | None, int] | None = None
        """Error, topic, partition and payload bytes of the first message that was not delivered."""
        self.log = ConnectionLog()
        self.partitions: dict[str, int] = {}
        # librdkafka itself would drop successes; the Python client counts them and spares only the callback.
        own = {"on_delivery": self._on_delivery, "delivery.report.only.error": True}
        self.producer = new_client(Producer, {**settings, **own}, self.log)

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            return
        self.failed += 1
        if self.first_failure is None:
            size = len(message.key() or b"") + len(message.value() or b"")
            self.first_failure = (error, message.topic() or "", message.partition(), size)


@hides_arguments
def acquire(settings: Settings) -> PooledProducer:
    """Return an idle producer with these settings, or a new one.  Raises :class:`~ticdc_emit.errors.ConfigError`."""
    with _lock:
        idle = _idle.pop(tuple(sorted(settings.items())), None)
    if idle is not None:
        # What it has to say is about the time when nobody used it.
        idle.producer.poll(0)
        idle.log.forget()
        idle.log.failures = 0
        return idle
    pooled = PooledProducer(settings)
    with _lock:
        _alive.add(pooled)
    return pooled


def release(pooled: PooledProducer) -> None:
    """Keep ``pooled`` for the next task; its queue must be empty."""
    with _lock:
        if pooled.key not in _idle:
            _idle[pooled.key] = pooled
            return
    discard(pooled)


def discard(pooled: PooledProducer) -> None:
    """Drop what ``pooled`` still holds and close it."""
    with _lock:
        _alive.discard(pooled)
    pooled.producer.purge(in_queue=True, in_flight=True, blocking=False)
    pooled.producer.flush(0)


def _forget_in_child() -> None:
    """After ``fork``: the parent's producers have no threads here, and freeing one waits for them forever."""
    global _lock
    _lock = threading.Lock()
    for pooled in _alive:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(pooled.producer))
    _alive.clear()
    _idle.clear()


os.register_at_fork(after_in_child=_forget_in_child)


class InFlightLimit:
    """How far enqueuing one partition may run ahead of its acknowledgements; ``outstanding``: messages of others.

    librdkafka counts what is outstanding of all partitions together. So what was outstanding before a partition's first
    message counts as others' for as long as it may be: until ``linger.ms`` is over. ``_begun``: what was enqueued, of
    all partitions, when each of the last pieces began.
    """

    def __init__(self, outstanding: int) -> None:
        self._others = outstanding
        self._begun: deque[int] = deque(maxlen=BATCHES_AHEAD * PIECES - 1)
        self._filled = 1.0

    def most(self, share: float, enqueued: int, outstanding: int) -> int | None:
        """Return how many messages may be outstanding when ``share`` of a piece is enqueued; ``None``: any number.

        Small shares fill a piece together: else a few messages would wait for others that librdkafka does not send
        before it has a batch.
        """
        self._others = min(self._others, outstanding)
        if self._filled + share <= 1:
            self._filled += share
            return None
        is_full = len(self._begun) == self._begun.maxlen
        most = enqueued - self._begun[0] + self._others if is_full else None
        self._begun.extend([enqueued] * math.ceil(share))
        self._filled = share
        return most
