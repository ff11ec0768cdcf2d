"""librdkafka's errors as this library's.

In: a ``KafkaError`` with its place.  Out: an error of the :class:`~ticdc_emit.errors.DeliveryError` family (or
:class:`~ticdc_emit.errors.MessageTooLargeError`) with librdkafka's own words as cause, secrets masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ticdc_emit.config.secrets import mask_text
from ticdc_emit.delivery.topics import unknown_partition, unknown_topic
from ticdc_emit.errors import BrokerUnreachableError, DeliveryError, MessageTooLargeError, TicdcEmitError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

__all__ = ["delivery_failed", "is_unreachable", "unreachable"]


def unreachable(brokers: Sequence[str], waited: float, cause: str) -> BrokerUnreachableError:
    """No broker of ``brokers`` answered for ``waited`` seconds; ``cause`` is the last thing that went wrong."""
    detail = f": {mask_text(cause)}" if cause else ""
    return BrokerUnreachableError(
        f"no Kafka broker of {', '.join(brokers)} answered in {waited:.1f} s{detail}",
        remedy="Check the addresses, TLS and SASL options of the sink URI, or raise dial-timeout.",
        waited=round(waited, 1),
    )


def is_unreachable(error: KafkaError) -> bool:
    """Whether ``error`` says that no answer came, rather than a refusal."""
    from confluent_kafka import KafkaError

    return error.code() in (
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._RESOLVE,
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
    )


def delivery_failed(
    error: KafkaError, topic: str, partition: int | None = None, size: int | None = None
) -> TicdcEmitError:
    """The error for a message, or a request about ``topic``, that Kafka refused or lost."""
    from confluent_kafka import KafkaError

    code = error.code()
    if code == KafkaError.MSG_SIZE_TOO_LARGE:
        return MessageTooLargeError(
            f"Kafka refused a message of {size} bytes for topic {topic}: {mask_text(error.str())}",
            remedy="Lower max-message-bytes to the topic's max.message.bytes, or raise that.",
            topic=topic,
            partition=partition,
            size=size,
        )
    if code in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError.TOPIC_EXCEPTION):
        return unknown_topic(topic)
    if code == KafkaError._UNKNOWN_PARTITION and partition is not None:
        return unknown_partition(topic, partition)
    return DeliveryError(
        f"Kafka did not take a message for topic {topic}: {mask_text(error.str())} ({error.name()})",
        topic=topic,
        partition=partition,
        size=size,
    )
