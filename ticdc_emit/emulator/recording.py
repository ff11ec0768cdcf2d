"""The sink of an emulated changefeed: it knows what it sent, can hold partitions back, and can send messages again.

Memory is bounded: of each topic-partition the newest :data:`MOST_MESSAGES` are kept, of all :data:`MOST_BYTES`, for
which the one with the most bytes gives up its oldest; messages that wait may have as many bytes again. Offsets are
counted from a topic-partition's end at its first use. Changefeeds that write to one Kafka share the ends, so they are
Kafka's own as long as no other program writes there.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice

import numpy as np

from ticdc_emit.delivery.base import (
    Message,
    MessageWriter,
    PartitionBatch,
    Sink,
    Target,
    TaskWriter,
    unknown_partition,
    unknown_topic,
)
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.delivery.kafka_reader import offset_ranges
from ticdc_emit.delivery.memory import MemorySink, messages
from ticdc_emit.errors import DeliveryError

MOST_MESSAGES = 10_000
"""Of one topic-partition."""

MOST_BYTES = 64 * 1024 * 1024
"""Of the messages of all topic-partitions of a changefeed, with what Python needs for them."""


_OVERHEAD = 200
"""Bytes that Python needs for a message beside its key and value."""


def _size(key: bytes | None, value: bytes | None) -> int:
    return len(key or b"") + len(value or b"")


class RecordingSink:
    """A sink around another one. ``ends``: the offset after the last message of each topic-partition, shared by
    changefeeds that write to the same Kafka. Any thread may look something up while one sends: the emulator's calls
    come one after the other.
    """

    in_process = True

    def __init__(self, sink: Sink, ends: dict[Target, int] | None = None, *, most_bytes: int = MOST_BYTES) -> None:
        self._sink = sink
        self._ends = {} if ends is None else ends
        self._most_bytes = most_bytes
        self._lock = threading.RLock()
        """Taken last, never while something is asked of the sink."""
        self._partitions: dict[str, int] = {}
        self._kept: dict[Target, deque[Message]] = {}
        self._bytes_of: Counter[Target] = Counter()
        self._kept_bytes = 0
        self._held: dict[Target, list[PartitionBatch]] = {}
        self._held_bytes = 0
        self._sent: Counter[Target] = Counter()

    # -- the contract of a sink ---------------------------------------------------------------------------------------

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        counts = self._sink.prepare(topics)
        every = [(topic, number) for topic, count in counts.items() for number in range(count)]
        new = [target for target in every if target not in self._ends]
        known: Mapping[Target, int] = {}  # in a file, offsets count from 0
        if new and isinstance(self._sink, KafkaSink):
            known = {target: end for target, (_, end) in offset_ranges(self._sink.connection_settings(), new).items()}
        elif new and isinstance(self._sink, MemorySink):
            known = Counter(message[:2] for message in messages(self._sink.name))
        self._ends |= {target: known.get(target, 0) for target in new}
        with self._lock:
            self._partitions |= counts
        return counts

    def message_limit(self, topics: Iterable[str]) -> int:
        return self._sink.message_limit(topics)

    def open(self, message_limit: int | None = None) -> MessageWriter:
        return _Writer(self, message_limit)

    # -- what was sent ------------------------------------------------------------------------------------------------

    def still(self) -> AbstractContextManager[bool]:
        """Let nothing be recorded in the block, so that what is looked up there fits together."""
        return self._lock

    @property
    def targets(self) -> list[Target]:
        with self._lock:
            return [(topic, number) for topic, count in sorted(self._partitions.items()) for number in range(count)]

    @property
    def retained_bytes(self) -> int:
        return self._kept_bytes + self._held_bytes

    def sent(self) -> dict[Target, int]:
        """Return how many messages each topic-partition got from this changefeed, also again ones."""
        with self._lock:
            return dict(self._sent)

    def end(self, target: Target) -> int:
        with self._lock:
            return self._ends.get(target, 0)

    def messages(
        self, topic: str | None = None, partition: int | None = None, last: int | None = None
    ) -> list[Message]:
        """Return the newest messages that were sent, of each topic-partition at most ``last``, in order of offset.
        Raises :class:`~ticdc_emit.errors.UnknownTopicError`.
        """
        with self._lock:
            found: list[Message] = []
            for target in self.chosen(topic, partition):
                kept = self._kept.get(target, ())
                found += islice(kept, 0 if last is None else max(0, len(kept) - last), None)
            return found

    def chosen(self, topic: str | None, partition: int | None) -> list[Target]:
        """Return the topic-partitions with this topic and number, ``None`` for any."""
        with self._lock:
            targets = [
                target for target in self.targets if topic in (None, target[0]) and partition in (None, target[1])
            ]
            if not targets and (topic, partition) != (None, None):
                is_known = topic is None or topic in self._partitions
                fault = unknown_partition(topic or "", partition or 0) if is_known else unknown_topic(topic or "")
                fault.remedy = "Use one of these topics and partitions: " + ", ".join(
                    f"{name} 0 to {count - 1}" for name, count in sorted(self._partitions.items())
                )
                raise fault
            return targets

    # -- what a test asks for -----------------------------------------------------------------------------------------

    def redeliver(
        self,
        last: int,
        topic: str | None = None,
        partition: int | None = None,
        is_wanted: Callable[[Message], bool] = lambda _: True,
    ) -> None:
        """Send each topic-partition's last wanted messages again, after those that wait."""
        again = []
        for target in self.chosen(topic, partition):
            newest = islice(filter(is_wanted, reversed(self._kept.get(target, ()))), last)
            if messages := list(newest)[::-1]:
                keys, values = [each.key for each in messages], [each.value for each in messages]
                sizes = np.array(list(map(_size, keys, values)), np.int64)
                again.append(PartitionBatch(*target, keys, values, sizes))
        self._deliver(again)

    def hold(self, topic: str, partition: int) -> None:
        with self._lock:
            (target,) = self.chosen(topic, partition)
            self._held.setdefault(target, [])

    @property
    def held(self) -> dict[Target, int]:
        """The topic-partitions that are held, and how many messages of each wait."""
        with self._lock:
            return {target: sum(len(each.keys) for each in own) for target, own in sorted(self._held.items())}

    def release(self, topic: str | None = None, partition: int | None = None) -> None:
        """Send what waits, in order, and hold nothing more. Raises the errors of the sink."""
        with self._lock:
            waiting = [each for target in self.chosen(topic, partition) for each in self._held.pop(target, ())]
            self._held_bytes -= sum(map(_memory, waiting))
        self._deliver(waiting)

    def forget_held(self, *, ends_holds: bool = False) -> None:
        """Drop the messages that wait, as a TiCDC that crashes does. ``ends_holds``: hold nothing more."""
        with self._lock:
            self._held = {} if ends_holds else {target: [] for target in self._held}
            self._held_bytes = 0

    def clear(self) -> None:
        """Forget what was sent, hold nothing back, and drop what waits. Offsets go on."""
        with self._lock:
            self.forget_held(ends_holds=True)
            self._kept, self._bytes_of, self._kept_bytes, self._sent = {}, Counter(), 0, Counter()

    # -- sending ------------------------------------------------------------------------------------------------------

    def _deliver(self, batches: Sequence[PartitionBatch], message_limit: int | None = None) -> None:
        more = sum(_memory(batch) for batch in batches if (batch.topic, batch.partition) in self._held)
        if self._held_bytes + more > self._most_bytes:
            raise DeliveryError(
                f"more than {self._most_bytes} bytes of messages wait for the release of their partitions",
                remedy="Release the partitions earlier",
                partitions=[f"{topic}/{number}" for topic, number in self._held],
            )
        due = [batch for batch in batches if (batch.topic, batch.partition) not in self._held]
        if due:
            limit = self._sink.message_limit(sorted(self._partitions)) if message_limit is None else message_limit
            with self._sink.open(limit) as writer:
                assert isinstance(writer, TaskWriter)
                for batch in due:
                    writer.write_partition(batch)
                writer.flush()
        with self._lock:
            for batch in batches:
                waiting = self._held.get((batch.topic, batch.partition))
                if waiting is None:
                    self._record(batch)
                else:
                    waiting.append(batch)
                    self._held_bytes += _memory(batch)

    def _record(self, batch: PartitionBatch) -> None:
        target, count = (batch.topic, batch.partition), len(batch.keys)
        first = self._ends.get(target, 0)
        self._ends[target] = first + count
        self._sent[target] += count
        kept = self._kept.setdefault(target, deque())
        for offset, key, value in zip(range(first, first + count), batch.keys, batch.values, strict=True):
            kept.append(Message(*target, offset, key, value))
            self._count(target, _OVERHEAD + _size(key, value))
            if len(kept) > MOST_MESSAGES:
                self._drop_oldest(target)
        while self._kept_bytes > self._most_bytes:
            largest = max(self._bytes_of, key=self._bytes_of.__getitem__)
            while self._kept_bytes > self._most_bytes and self._kept[largest]:
                self._drop_oldest(largest)

    def _drop_oldest(self, target: Target) -> None:
        record = self._kept[target].popleft()
        self._count(target, -_OVERHEAD - _size(record.key, record.value))

    def _count(self, target: Target, size: int) -> None:
        self._bytes_of[target] += size
        self._kept_bytes += size


class _Writer(TaskWriter):
    def __init__(self, sink: RecordingSink, message_limit: int | None) -> None:
        super().__init__(_NO_LIMIT)  # the writer behind it checks sizes
        self._recording, self._message_limit = sink, message_limit
        self._batches: list[PartitionBatch] = []

    def check_target(self, topic: str, partition: int) -> None:
        """The sink behind it checks."""

    def enqueue(self, batch: PartitionBatch) -> None:
        self._batches.append(batch)

    def settle(self) -> None:
        batches, self._batches = self._batches, []
        self._recording._deliver(batches, self._message_limit)

    def release(self, failed: bool) -> None:
        self._batches = []


_NO_LIMIT = 1 << 62


def _memory(batch: PartitionBatch) -> int:
    return int(batch.sizes.sum()) + _OVERHEAD * len(batch.sizes)
