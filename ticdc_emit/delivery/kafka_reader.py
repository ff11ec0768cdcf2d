"""Read topics: completely, message by message up to their current end, or for as long as the caller reads.

No consumer group is left behind. Partitions that a topic gets meanwhile are not seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ticdc_emit.config.secrets import foreign_text
from ticdc_emit.delivery.base import Message, Target
from ticdc_emit.delivery.kafka_client import ConnectionLog, delivery_failed, find_topics, new_client
from ticdc_emit.errors import DeliveryError, importing

if TYPE_CHECKING:
    from confluent_kafka import Consumer, TopicPartition

_POLL_S = 0.2


def read_topic(
    settings: Mapping[str, Any], topic: str, newest: int | None = None, timeout_s: float = 10.0
) -> list[Message]:
    """Return what a topic holds by partition and offset; takes and raises what :func:`stream_topics` does."""
    return sorted(stream_topics(settings, [topic], newest=newest, timeout_s=timeout_s))


def stream_topics(
    settings: Mapping[str, Any],
    topics: Collection[str] | Callable[[Collection[str]], Collection[str]],
    *,
    newest: int | None = None,
    follow: bool = False,
    partitions: dict[str, int] | None = None,
    timeout_s: float = 10.0,
) -> Iterator[Message]:
    """Yield what the topics hold in the cluster of ``settings`` (:meth:`KafkaSink.connection_settings`).

    ``topics``: names, or what chooses among those that exist. ``newest`` limits the messages per partition to begin
    with; ``follow``: do not end where the topics end now. ``partitions``: takes the number of each topic's partitions
    before the first message. ``timeout_s``: for a connection, and without ``follow`` for the next message. Raises the
    :class:`~ticdc_emit.errors.DeliveryError` family.
    """
    with _consumer(settings) as (consumer, log, brokers):
        targets: list[Target] = []
        if callable(topics):
            every = find_topics(consumer, log, brokers, timeout_s).topics
            topics = topics([name for name, topic in every.items() if topic.error is None])
        for topic in topics:
            metadata = find_topics(consumer, log, brokers, timeout_s, topic).topics[topic]
            if metadata.error is not None:
                raise delivery_failed(metadata.error, topic)
            targets += [(topic, number) for number in sorted(metadata.partitions)]
            if partitions is not None:
                partitions[topic] = len(metadata.partitions)
        ends = _assign(consumer, targets, newest, timeout_s)
        yield from _messages(consumer, ends, follow, timeout_s)


def offset_ranges(
    settings: Mapping[str, Any], targets: Collection[Target], timeout_s: float = 10.0
) -> dict[Target, tuple[int, int]]:
    """Return the first offset of each topic-partition that Kafka still has, and the one after its last message.
    ``settings``: of the cluster, as for :func:`stream_topics`.
    """
    with _consumer(settings) as (consumer, _, _):
        from confluent_kafka import TopicPartition

        return {target: _offsets(consumer, TopicPartition(*target), timeout_s) for target in targets}


@contextmanager
def _consumer(settings: Mapping[str, Any]) -> Iterator[tuple[Consumer, ConnectionLog, list[str]]]:
    with importing("reading Kafka needs confluent-kafka", extra="kafka"):
        from confluent_kafka import Consumer, KafkaException
    own = {"group.id": f"ticdc-emit-reader-{uuid4()}", "enable.auto.commit": False, "auto.offset.reset": "error"}
    log, brokers = ConnectionLog(), str(settings.get("bootstrap.servers", "")).split(",")
    consumer = new_client(Consumer, {**settings, **own}, log)
    started = time.monotonic()
    try:
        yield consumer, log, brokers
    except KafkaException as error:
        raise log.failure(brokers, time.monotonic() - started, error.args[0].str()) from None
    finally:
        consumer.close()


def _assign(consumer: Consumer, targets: list[Target], newest: int | None, timeout_s: float) -> dict[Target, int]:
    from confluent_kafka import TopicPartition

    ends: dict[Target, int] = {}
    starts: list[TopicPartition] = []
    for topic, partition in targets:
        low, high = _offsets(consumer, TopicPartition(topic, partition), timeout_s)
        start = low if newest is None else max(low, high - newest)
        starts.append(TopicPartition(topic, partition, start))
        if start < high:
            ends[topic, partition] = high
    consumer.assign(starts)
    return ends


def _offsets(consumer: Consumer, partition: TopicPartition, timeout_s: float) -> tuple[int, int]:
    """Return the first offset and the end. A partition that is new, or moves, has no leader for a moment."""
    from confluent_kafka import KafkaError, KafkaException

    deadline = time.monotonic() + timeout_s
    while True:
        try:
            low, high = consumer.get_watermark_offsets(partition, timeout=timeout_s)
            return low, high
        except KafkaException as error:
            leaderless = KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION
            if error.args[0].code() not in leaderless or time.monotonic() > deadline:
                raise
        time.sleep(_POLL_S)


def _messages(consumer: Consumer, ends: dict[Target, int], follow: bool, timeout_s: float) -> Iterator[Message]:
    deadline = time.monotonic() + timeout_s
    while follow or ends:
        records = consumer.consume(10_000, timeout=_POLL_S)
        for record in records:
            error, topic, partition, offset = record.error(), record.topic(), record.partition(), record.offset()
            if error is not None or topic is None or partition is None or offset is None:
                raise DeliveryError(
                    f"cannot read topic {topic}: {foreign_text(str(error))}",
                    remedy="Check the topic's name and the rights of the user",
                    topic=topic,
                )
            if follow or offset < ends.get((topic, partition), 0):
                yield Message(topic, partition, offset, record.key(), record.value())
        if follow:
            continue
        for position in consumer.position(consumer.assignment()):  # offsets of control records count too
            if position.offset >= ends.get((position.topic, position.partition), 0):
                ends.pop((position.topic, position.partition), None)
        if records:
            deadline = time.monotonic() + timeout_s
        elif ends and time.monotonic() > deadline:
            missing = ", ".join(f"{topic}/{partition}" for topic, partition in sorted(ends))
            raise DeliveryError(
                f"messages of {missing} did not arrive in time", remedy="Check the brokers, or give more time"
            )
