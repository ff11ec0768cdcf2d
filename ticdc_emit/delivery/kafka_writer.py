"""Messages on their way to Kafka: enqueued in order, counted when acknowledged.

In: batches of messages, already ordered.  Out: records in Kafka, and a report once every delivery report is in.  The
loop over messages is plain ``produce``: measured, it feeds librdkafka as fast as it delivers, and ``produce_batch``
no faster.

Of one partition, an idempotent producer has one batch in flight: librdkafka allows five requests, but compares that
with the number of messages that are in flight. So that the next batch goes out as soon as the last is acknowledged, it
must be complete by then. But a message that has waited longer than ``linger.ms`` keeps librdkafka asking without pause
whether it may be sent: a core of its own, for nothing. So of each partition a few batches are enqueued and no more
(``delivery.pace``), and linger.ms is longer than they usually wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ticdc_emit.config.secrets import foreign_text
from ticdc_emit.delivery.batches import Run
from ticdc_emit.delivery.contract import DeliveryReport, Place
from ticdc_emit.delivery.kafka_connection import find_topics
from ticdc_emit.delivery.kafka_errors import delivery_failed
from ticdc_emit.delivery.kafka_pool import discard, give_back, lend
from ticdc_emit.delivery.pace import PIECES, Pace
from ticdc_emit.delivery.topics import unknown_partition, unknown_topic
from ticdc_emit.delivery.writer import TaskWriter
from ticdc_emit.errors import DeliveryError, TicdcEmitError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from ticdc_emit.delivery.kafka import KafkaSink

__all__ = ["BATCH_BYTES", "KafkaWriter"]

BATCH_BYTES = 1_000_000
"""librdkafka's own ``batch.size``; larger ones are no faster."""

_BATCH_MESSAGES = 10_000
"""librdkafka's own ``batch.num.messages``."""


class KafkaWriter(TaskWriter):
    """Produces on a lent producer, which it gives back if nothing failed."""

    def __init__(self, sink: KafkaSink, message_limit: int | None = None) -> None:
        super().__init__(sink.largest_message(message_limit))
        self._sink = sink
        self._message_limit = message_limit
        self._lent = lend(sink.producer_settings(message_limit))  # no local holds them: a traceback shows locals
        self._producer = self._lent.producer
        self._piece = tuple(
            max(1, int(dict(self._lent.key).get(name, default)) // PIECES)
            for name, default in (("batch.num.messages", _BATCH_MESSAGES), ("batch.size", BATCH_BYTES))
        )
        self._enqueued = 0
        self._paces: dict[Place, Pace] = {}

    def check_place(self, topic: str, partition: int) -> None:
        """A topic is looked up once per producer: one round trip instead of librdkafka's 30 s of hope."""
        known = self._lent.partitions
        if partition >= known.get(topic, 0):
            known[topic] = self._partitions_of(topic)
        if partition >= known[topic]:
            raise unknown_partition(topic, partition)

    def enqueue(self, run: Run) -> None:
        topic, partition, keys, values, sizes = run
        produce = self._producer.produce
        most_messages, most_bytes = self._piece
        for start, stop in run.pieces(most_messages, most_bytes):
            share = max((stop - start) / most_messages, int(sizes[start:stop].sum()) / most_bytes)
            self._make_room((topic, partition), share)
            for key, value in zip(keys[start:stop], values[start:stop], strict=True):
                try:
                    produce(topic, value, key, partition)
                except Exception as error:
                    self._produce_again(error, topic, value, key, partition)
            self._enqueued += stop - start

    def _make_room(self, place: Place, share: float) -> None:
        """Wait until ``share`` of a piece may be enqueued."""
        self._producer.poll(0)
        self._raise_failures()
        outstanding = len(self._producer)
        pace = self._paces.get(place)
        if pace is None:
            pace = self._paces[place] = Pace(outstanding)
        most = pace.most(share, self._enqueued, outstanding)
        if most is not None and outstanding > most:
            self._wait(self._poll, until=most)

    def settle(self) -> None:
        self._wait(lambda: self._producer.flush(0.2), until=0)
        self._paces.clear()

    def flush(self) -> DeliveryReport:
        report = super().flush()
        failures, self._lent.log.failures = self._lent.log.failures, 0
        return replace(report, retries=failures)

    def release(self, failed: bool) -> None:
        self._producer.poll(0)
        if failed or self._lent.failed or len(self._producer):
            discard(self._lent)
        else:
            give_back(self._lent)

    def _produce_again(
        self, error: Exception, topic: str, value: bytes | None, key: bytes | None, partition: int
    ) -> None:
        """``produce`` raised ``error``: wait while it says that the queue is full, fail for anything else."""
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
        """Serve delivery reports until at most ``until`` messages are outstanding; fail when none moves."""
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
                self._lent.log.forget()
            elif (now - last_progress) * 1000 > self._sink.delivery_timeout_ms:
                raise self._stalled(left, now - last_progress)

    def _stalled(self, outstanding: int, waited: float) -> TicdcEmitError:
        partitions = self._existing_partitions()
        if partitions is None and self._lent.log.cause:
            return self._lent.log.failure(self._sink.brokers, waited)
        if partitions is not None:
            for topic, partition in sorted(self._paces):
                if topic not in partitions:
                    return self._unknown(topic)
                if partition >= partitions[topic]:
                    return unknown_partition(topic, partition)
        return DeliveryError(
            f"Kafka acknowledged none of {outstanding} messages in {waited:.1f} s",
            remedy="Check that the topic has enough in-sync replicas (min.insync.replicas).",
            outstanding=outstanding,
            waited=round(waited, 1),
        )

    def _existing_partitions(self) -> dict[str, int] | None:
        """Return the number of partitions of all topics; ``None`` if the cluster does not answer.

        A dead broker may not be why nothing is acknowledged: librdkafka also waits for a topic that was deleted.
        """
        from confluent_kafka import KafkaException

        try:
            metadata = self._producer.list_topics(timeout=1)
        except KafkaException:
            return None
        counts = {name: len(found.partitions) for name, found in metadata.topics.items()}
        return counts if metadata.brokers else None

    def _unknown(self, topic: str) -> TicdcEmitError:
        return unknown_topic(topic, creates=self._sink.auto_create_topic)

    def _failed(
        self, error: KafkaError, topic: str, partition: int | None = None, size: int | None = None
    ) -> TicdcEmitError:
        limit, creates = self._message_limit, self._sink.auto_create_topic
        return delivery_failed(error, topic, partition, size, limit=limit, creates=creates)

    def _partitions_of(self, topic: str) -> int:
        from confluent_kafka import KafkaException

        sink, log = self._sink, self._lent.log
        try:
            metadata = find_topics(self._producer, log, sink.brokers, sink.dial_timeout_ms / 1000, topic)
        except KafkaException as error:
            raise self._failed(error.args[0], topic) from None
        found = metadata.topics[topic]
        if found.error is not None:
            raise self._failed(found.error, topic)
        if not found.partitions:
            raise self._unknown(topic)
        return len(found.partitions)

    def _raise_failures(self) -> None:
        if self._lent.first_failure is not None:
            raise self._failed(*self._lent.first_failure)
        if self._lent.log.fatal is not None:
            raise DeliveryError(
                f"the Kafka producer cannot go on: {foreign_text(self._lent.log.fatal.str())}",
                remedy="Run the batch again",
            )
