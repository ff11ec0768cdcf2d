"""Read a topic back, to show or to check what arrived.

In: brokers and a topic.  Out: :class:`~ticdc_emit.delivery.contract.Message` records by partition and offset, up to
what the topic held when the call began.  No consumer group is left behind.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ticdc_emit.config.secrets import mask_text
from ticdc_emit.delivery.contract import Message
from ticdc_emit.delivery.kafka_connection import ConnectionLog, client_settings, find_topics
from ticdc_emit.delivery.kafka_errors import delivery_failed, settings_refused
from ticdc_emit.errors import DeliveryError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, TopicPartition

__all__ = ["read_topic"]


def read_topic(
    settings: Mapping[str, Any], topic: str, newest: int | None = None, timeout_s: float = 10.0
) -> list[Message]:
    """The messages of ``topic`` in the cluster of ``settings`` (:meth:`KafkaSink.connection_settings`).

    ``newest`` limits the messages per partition.  Raises :class:`~ticdc_emit.errors.BrokerUnreachableError`,
    :class:`~ticdc_emit.errors.AuthenticationError`, :class:`~ticdc_emit.errors.UnknownTopicError`, or
    :class:`~ticdc_emit.errors.DeliveryError` if messages that the topic holds do not arrive within ``timeout_s``.
    """
    from confluent_kafka import Consumer, KafkaException

    own = {"group.id": f"ticdc-emit-reader-{uuid4()}", "enable.auto.commit": False, "auto.offset.reset": "error"}
    log = ConnectionLog()
    brokers = str(settings.get("bootstrap.servers", "")).split(",")
    try:
        consumer = Consumer(client_settings({**settings, **own}, log))
    except KafkaException as error:
        raise settings_refused(error) from None
    started = time.monotonic()
    try:
        found = find_topics(consumer, log, brokers, timeout_s, topic).topics[topic]
        if found.error is not None:
            raise delivery_failed(found.error, topic)
        ends = _assign(consumer, topic, list(found.partitions), newest, timeout_s)
        return sorted(_consume(consumer, topic, ends, started + timeout_s))
    except KafkaException as error:
        raise log.failure(brokers, time.monotonic() - started, error.args[0].str()) from None
    finally:
        consumer.close()


def _assign(
    consumer: Consumer, topic: str, partitions: list[int], newest: int | None, timeout_s: float
) -> dict[int, int]:
    """Start each partition at its first wanted message; returns the offset behind its last one."""
    from confluent_kafka import TopicPartition

    ends: dict[int, int] = {}
    starts: list[TopicPartition] = []
    for partition in partitions:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=timeout_s)
        start = low if newest is None else max(low, high - newest)
        if start < high:
            ends[partition] = high
            starts.append(TopicPartition(topic, partition, start))
    consumer.assign(starts)
    return ends


def _consume(consumer: Consumer, topic: str, ends: dict[int, int], deadline: float) -> list[Message]:
    messages: list[Message] = []
    open_partitions = set(ends)
    while open_partitions:
        for record in consumer.consume(10_000, timeout=0.2):
            error, partition, offset = record.error(), record.partition(), record.offset()
            if error is not None or partition is None or offset is None:
                raise DeliveryError(f"cannot read topic {topic}: {mask_text(str(error))}", topic=topic)
            if offset < ends[partition]:
                messages.append(Message(topic, partition, offset, record.key(), record.value()))
        open_partitions = {
            place.partition
            for place in consumer.position(consumer.assignment())
            if place.offset < ends[place.partition]
        }
        if open_partitions and time.monotonic() > deadline:
            raise DeliveryError(
                f"topic {topic}: partitions {sorted(open_partitions)} did not arrive in time", topic=topic
            )
    return messages
