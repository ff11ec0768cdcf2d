"""What PLAN and ENCODE may expect of any sink: a picklable :class:`Sink` that opens a :class:`MessageWriter` per task.

In: Arrow batches of messages (:data:`MESSAGE_SCHEMA`), already in the order that each partition must keep.  Out: a
:class:`DeliveryReport` that counts only what is acknowledged.  Nothing here knows a protocol, and nothing here
imports a client library.  Rules: ``design`` 5 of the project (at-least-once, order within a partition, explicit
partitions).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, Protocol

import pyarrow as pa

__all__ = [
    "MESSAGE_SCHEMA",
    "DeliveryReport",
    "MessageWriter",
    "PartitionCount",
    "Place",
    "Sink",
]


MESSAGE_SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("commit_ts", pa.int64()),
    ]
)
"""One row per Kafka record.  A null key is Kafka's null key and ``b""`` a key of zero length; a null value is a
tombstone.

Writers also take ``large_binary`` for key and value, ``large_string`` or a dictionary of strings for the topic, and any
integer type for the partition.  ``commit_ts`` is for ordering the rows; writers do not read it.
"""


Place = tuple[str, int]
"""Topic and partition."""


class PartitionCount(NamedTuple):
    """Delivered messages and their payload bytes (key plus value, uncompressed)."""

    messages: int = 0
    bytes: int = 0

    def plus(self, other: PartitionCount) -> PartitionCount:
        return PartitionCount(self.messages + other.messages, self.bytes + other.bytes)


@dataclass(frozen=True)
class DeliveryReport:
    """The acknowledged messages, per ``(topic, partition)``.  Reports of tasks and flushes add up with ``+``.

    ``retries``: the number of retries after failed or lost connections to the sink.
    """

    per_partition: Mapping[Place, PartitionCount] = field(default_factory=dict)
    retries: int = 0

    @property
    def messages(self) -> int:
        return sum(count.messages for count in self.per_partition.values())

    @property
    def bytes(self) -> int:
        """Payload bytes: keys plus values, uncompressed."""
        return sum(count.bytes for count in self.per_partition.values())

    def __add__(self, other: DeliveryReport) -> DeliveryReport:
        return DeliveryReport.total((self, other))

    @classmethod
    def total(cls, reports: Iterable[DeliveryReport]) -> DeliveryReport:
        """Return the sum of all ``reports``."""
        merged: dict[Place, PartitionCount] = {}
        retries = 0
        for report in reports:
            retries += report.retries
            for place, count in report.per_partition.items():
                merged[place] = merged.get(place, PartitionCount()).plus(count)
        return cls(merged, retries)

    def to_dict(self) -> dict[str, object]:
        """For JSON: totals, then one entry per topic-partition in order of topic and partition."""
        return {
            "messages": self.messages,
            "bytes": self.bytes,
            "retries": self.retries,
            "partitions": [
                {"topic": topic, "partition": partition, "messages": count.messages, "bytes": count.bytes}
                for (topic, partition), count in sorted(self.per_partition.items())
            ],
        }


class MessageWriter(Protocol):
    """One per worker task, used by one thread.  Once a call has raised, the writer is only good for closing.

    Leaving its ``with`` block without an exception flushes and closes; with one, it closes only, and what was not
    flushed may or may not have been delivered (the task is expected to be repeated).
    """

    def write(self, batch: pa.RecordBatch) -> None:
        """Enqueue the rows, those of one topic-partition in their order; waits while the sink is full.

        Raises :class:`~ticdc_emit.errors.MessageTooLargeError` before any row of the batch is enqueued, and the
        :class:`~ticdc_emit.errors.DeliveryError` family as soon as the sink has refused or lost any message.
        """

    def flush(self) -> DeliveryReport:
        """Return only when everything written is acknowledged; the report is what this flush confirmed."""

    def close(self) -> None:
        """Release what the writer holds and forget what was not flushed.  May be called twice."""

    def __enter__(self) -> MessageWriter: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Sink(Protocol):
    """A picklable description of where messages go; holds no connection."""

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        """Called once on the driver, before anything is sent: connect to the sink and create missing topics.

        ``topics`` maps each topic to its wanted number of partitions (None: as many as it has). Returns the number of
        partitions to use: the wanted number, or the topic's own.  Raises
        :class:`~ticdc_emit.errors.BrokerUnreachableError` (with the time waited),
        :class:`~ticdc_emit.errors.AuthenticationError`, :class:`~ticdc_emit.errors.UnknownTopicError`, or
        :class:`~ticdc_emit.errors.ConfigError` if an existing topic has fewer partitions than wanted.
        """

    def message_limit(self, topics: Iterable[str]) -> int:
        """Return the size limit of one message in bytes, for encoders; called on the driver after :meth:`prepare`.

        ``max-message-bytes``, or for Kafka the topics' ``max.message.bytes`` less 128 if that is lower, as TiCDC does;
        TiCDC's ``next`` takes the topics' ``max.message.bytes`` as it is.
        """

    def open(self, message_limit: int | None = None) -> MessageWriter:
        """Return a writer for one task, in the process that calls it.

        ``message_limit``: the result of the method of that name, for a sink that may send many messages as one.
        """
