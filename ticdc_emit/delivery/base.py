"""The contract between the pipeline and every sink: messages in, acknowledged messages out.

A :class:`Sink` opens a :class:`MessageWriter` for each task; the sinks of this package build theirs on
:class:`TaskWriter`. :class:`Message` is one record as a consumer reads it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.config.document import refused
from ticdc_emit.errors import DeliveryError, MessageTooLargeError, TicdcEmitError, UnknownTopicError
from ticdc_emit.hints import short_bytes


class Message(NamedTuple):
    """One record as a consumer sees it; ``offset`` counts from 0 in its topic-partition."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None

    def __repr__(self) -> str:
        where = f"{self.topic}/{self.partition}@{self.offset}"
        return f"<Message {where} key={short_bytes(self.key)} value={short_bytes(self.value)}>"


def to_messages(*batches: pa.RecordBatch | pa.Table) -> list[Message]:
    """Return the messages of batches as they would be on empty topics: offsets count from 0 through all batches.

    ``batches``: with the columns ``topic`` (string), ``partition`` (integer), ``key`` and ``value`` (binary).
    """
    offsets: Counter[tuple[str, int]] = Counter()
    messages: list[Message] = []
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("topic", "partition", "key", "value"))
        for topic, partition, key, value in zip(*columns, strict=True):
            messages.append(Message(topic, partition, offsets[topic, partition], key, value))
            offsets[topic, partition] += 1
    return messages


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
tombstone. ``commit_ts`` is for ordering the rows; writers do not read it.
"""


Target = tuple[str, int]
"""Topic and partition."""


class PartitionCount(NamedTuple):
    """Delivered messages and their payload bytes (key plus value, uncompressed)."""

    messages: int = 0
    bytes: int = 0

    def plus(self, other: PartitionCount) -> PartitionCount:
        return PartitionCount(self.messages + other.messages, self.bytes + other.bytes)


@dataclass(frozen=True)
class DeliveryReport:
    """The acknowledged messages, per ``(topic, partition)``; reports add up with ``+``. ``retries``: of connections."""

    per_partition: Mapping[Target, PartitionCount] = field(default_factory=dict)
    retries: int = 0

    @property
    def messages(self) -> int:
        return sum(count.messages for count in self.per_partition.values())

    @property
    def bytes(self) -> int:
        """Payload bytes: keys plus values, uncompressed."""
        return sum(count.bytes for count in self.per_partition.values())

    def __add__(self, other: DeliveryReport) -> DeliveryReport:
        counts = dict(self.per_partition)
        for target, count in other.per_partition.items():
            counts[target] = counts.get(target, PartitionCount()).plus(count)
        return DeliveryReport(counts, self.retries + other.retries)

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
    """One per worker task, used by one thread. Once a call has raised, the writer is only good for closing.

    Leaving its ``with`` block flushes and closes; after an exception it closes only, and what was not flushed may or
    may not have been delivered.
    """

    def write(self, batch: pa.RecordBatch) -> None:
        """Enqueue the rows, those of one topic-partition in their order; waits while the sink is full.

        Raises :class:`~ticdc_emit.errors.MessageTooLargeError` before any row is enqueued, and
        :class:`~ticdc_emit.errors.DeliveryError` as soon as the sink has refused or lost any message.
        """

    def flush(self) -> DeliveryReport:
        """Return only when everything written is acknowledged; the report is what this flush confirmed."""

    def close(self) -> None:
        """Release what the writer holds and forget what was not flushed.  May be called twice."""

    def __enter__(self) -> MessageWriter: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None: ...


class Sink(Protocol):
    """A picklable description of where messages go; holds no connection."""

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        """Connect to the sink and create missing topics: called once on the driver, before anything is sent.

        ``topics`` maps each to its wanted number of partitions (None: as many as it has). Returns the numbers to use.
        Raises the :class:`~ticdc_emit.errors.DeliveryError` family, and :class:`~ticdc_emit.errors.ConfigError` if a
        topic has fewer partitions than wanted.
        """

    def message_limit(self, topics: Iterable[str]) -> int:
        """Return the size limit of one message in bytes, for encoders; called on the driver after :meth:`prepare`.

        ``max-message-bytes``, or for Kafka the topics' ``max.message.bytes`` less 128 if that is lower, as TiCDC does;
        TiCDC's ``next`` takes it as it is.
        """

    def open(self, message_limit: int | None = None) -> MessageWriter:
        """Return a writer for one task; ``message_limit``: for a sink that may send many messages as one."""


MOST_PARTITIONS = 1 << 31
"""More than a topic can have: a topic's number times this, plus the partition, numbers topic-partitions."""


def effective_partitions(topic: str, asked: int | None, existing: int) -> int:
    """Return the partitions to dispatch to, all or some of the topic's; ``ConfigError`` if more are asked for."""
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
    return UnknownTopicError(
        f"the topic {topic} has no partition {partition}",
        remedy="Set partition-num to at most the topic's number of partitions",
        topic=topic,
        partition=partition,
    )


class PartitionBatch(NamedTuple):
    """Messages of one topic-partition as Python objects, in their order. ``sizes``: bytes of key plus value."""

    topic: str
    partition: int
    keys: list[bytes | None]
    values: list[bytes | None]
    sizes: npt.NDArray[np.int64]

    def pieces(self, messages: int, size: int) -> Iterator[tuple[int, int]]:
        """Yield (start, stop) of pieces with at most so many messages and so many bytes, or with one message."""
        ends = np.cumsum(self.sizes)
        start = 0
        while start < len(ends):
            before = int(ends[start - 1]) if start else 0
            fitting = int(np.searchsorted(ends, before + size, side="right"))
            stop = max(start + 1, min(start + messages, fitting))
            yield start, stop
            start = stop


def partition_batches(batch: pa.RecordBatch, max_message_bytes: int) -> list[PartitionBatch]:
    """Check a batch of messages, and return those of each topic-partition in their order.

    A loop over the messages of one partition is five times as fast as one that changes it with every row.
    """
    try:
        if not pa.types.is_integer(batch.column("partition").type):  # a cast would take texts, too
            raise pa.ArrowTypeError("a partition is not a whole number")
        names, places, keys, values = (batch.column(part.name).cast(part.type) for part in list(MESSAGE_SCHEMA)[:4])
    except (KeyError, pa.ArrowException) as fault:
        remedy = "Give topic, partition, key and value of MESSAGE_SCHEMA"
        raise DeliveryError(f"it is not a batch of messages: {fault}", remedy=remedy) from None
    if names.null_count or places.null_count or (len(places) and pc.min(places).as_py() < 0):
        cause = "a message has no topic, or no partition"
        raise DeliveryError(cause, remedy="Give every message a topic, and a partition from 0 on")
    named, partitions = names.dictionary_encode(), np.asarray(places).astype(np.int64)
    topics, codes = named.dictionary.to_pylist(), np.asarray(named.indices).astype(np.int64)
    sizes = _lengths(keys) + _lengths(values)
    _check_sizes(sizes, max_message_bytes, lambda row: (topics[codes[row]], int(partitions[row])))
    numbers = codes * MOST_PARTITIONS + partitions
    if (np.diff(numbers) < 0).any():
        order = np.argsort(numbers, kind="stable")
        rows = pa.array(order)
        numbers, keys, values, sizes = numbers[order], keys.take(rows), values.take(rows), sizes[order]
    key_list, value_list = keys.to_pylist(), values.to_pylist()
    batches = []
    for start, stop in pairwise([0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]):
        if start < stop:
            code, partition = divmod(int(numbers[start]), MOST_PARTITIONS)
            own_keys, own_values = key_list[start:stop], value_list[start:stop]
            batches.append(PartitionBatch(topics[code], partition, own_keys, own_values, sizes[start:stop]))
    return batches


def _lengths(column: pa.Array) -> npt.NDArray[np.int64]:
    sizes: npt.NDArray[np.int64] = np.asarray(pc.fill_null(pc.binary_length(column), 0)).astype(np.int64)
    return sizes


def _check_sizes(sizes: npt.NDArray[np.int64], max_message_bytes: int, target: Callable[[int], Target]) -> None:
    if int(sizes.max(initial=0)) <= max_message_bytes:
        return
    row = int(np.argmax(sizes > max_message_bytes))
    topic, partition = target(row)
    raise MessageTooLargeError(
        f"a message for topic {topic} has {sizes[row]} bytes, more than the limit of {max_message_bytes}",
        remedy="Raise max-message-bytes, in TiCDC's next the topic's max.message.bytes.",
        topic=topic,
        partition=partition,
        size=int(sizes[row]),
    )


Self = TypeVar("Self", bound="TaskWriter")


class TaskWriter(ABC):
    """A :class:`~ticdc_emit.delivery.base.MessageWriter` over four steps that a subclass gives."""

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._known: set[Target] = set()
        self._pending: dict[Target, PartitionCount] = {}
        self._failure: TicdcEmitError | None = None
        self._closed = False

    @abstractmethod
    def check_target(self, topic: str, partition: int) -> None:
        """Raise :class:`~ticdc_emit.errors.UnknownTopicError` unless the topic-partition exists."""

    @abstractmethod
    def enqueue(self, batch: PartitionBatch) -> None:
        """Add the messages after the earlier ones of their topic-partition."""

    @abstractmethod
    def settle(self) -> None:
        """Return when everything enqueued is durable."""

    @abstractmethod
    def release(self, failed: bool) -> None:
        """Release the writer's resources; messages that are not settled are dropped. ``failed``: a step has raised."""

    def write(self, batch: pa.RecordBatch) -> None:
        with self._failing():
            self._enqueue_all(partition_batches(batch, self._max_message_bytes))

    def write_partition(self, batch: PartitionBatch) -> None:
        """Enqueue messages of one topic-partition that are Python objects already, as :meth:`write` does."""
        with self._failing():
            _check_sizes(batch.sizes, self._max_message_bytes, lambda _: (batch.topic, batch.partition))
            self._enqueue_all([batch])

    def flush(self) -> DeliveryReport:
        with self._failing():
            self.settle()
            delivered, self._pending = self._pending, {}
            return DeliveryReport(delivered)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.release(self._failure is not None)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def _enqueue_all(self, batches: list[PartitionBatch]) -> None:
        for target in sorted({(batch.topic, batch.partition) for batch in batches} - self._known):
            self.check_target(*target)
            self._known.add(target)
        for batch in batches:
            self.enqueue(batch)
            target, count = (batch.topic, batch.partition), PartitionCount(len(batch.sizes), int(batch.sizes.sum()))
            self._pending[target] = self._pending.get(target, PartitionCount()).plus(count)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        if self._closed:
            raise DeliveryError("the writer is closed", remedy="Open another one")
        if self._failure is not None:
            raise self._failure
        try:
            yield
        except TicdcEmitError as failure:
            self._failure = failure
            raise
