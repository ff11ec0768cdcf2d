"""Topics and their partitions, where all sinks agree: TiCDC's rule for ``partition-num``, and what is unknown.

Source: ``SetPartitionNum`` in ``pkg/sink/kafka/options.go`` of pingcap/tiflow.
"""

from __future__ import annotations

from ticdc_emit.config.refusal import refused
from ticdc_emit.errors import UnknownTopicError

__all__ = ["MOST_PARTITIONS", "effective_partitions", "unknown_partition", "unknown_topic"]

MOST_PARTITIONS = 1 << 31
"""More than a topic can have: a topic's number times this, plus the partition, numbers topic-partitions."""


def effective_partitions(topic: str, asked: int | None, existing: int) -> int:
    """Return the partitions to dispatch to, which may be fewer than the topic has.

    Raises :class:`~ticdc_emit.errors.ConfigError` (CDC:ErrKafkaInvalidPartitionNum) if more are asked for.
    """
    if asked is None:
        return existing
    if asked > existing:
        raise refused(
            "ErrKafkaInvalidPartitionNum",
            f"the number of partition ({asked}) specified in sink-uri is more than that of actual topic ({existing})",
            option="partition-num",
            remedy=f"Lower partition-num, or add partitions to the topic {topic}.",
        )
    return asked


def unknown_topic(topic: str, *, creates: bool = False) -> UnknownTopicError:
    """Return the error for a topic that is not there. ``creates``: the next try would make it."""
    return UnknownTopicError(
        f"the topic {topic} does not exist",
        remedy="Run the batch again, which creates it, because auto-create-topic is true."
        if creates
        else "Create it, or set auto-create-topic=true in the sink URI.",
        topic=topic,
    )


def unknown_partition(topic: str, partition: int) -> UnknownTopicError:
    """Return the error for a partition that its topic does not have."""
    return UnknownTopicError(
        f"the topic {topic} has no partition {partition}",
        remedy="Set partition-num to at most the topic's number of partitions",
        topic=topic,
        partition=partition,
    )
