"""What all writers share: checks before anything is enqueued, counting, and an end that is either clean or not.

In: batches of messages, handed to a subclass as runs of one topic-partition.  Out: reports.  A subclass only knows
how to enqueue a run, how to wait until all is durable, and how to let go.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TypeVar

import pyarrow as pa

from ticdc_emit.delivery.batches import MessageColumns, Run
from ticdc_emit.delivery.contract import DeliveryReport, PartitionCount, Place
from ticdc_emit.errors import DeliveryError, TicdcEmitError

__all__ = ["TaskWriter"]

Self = TypeVar("Self", bound="TaskWriter")

_NONE = PartitionCount()


class TaskWriter(ABC):
    """A :class:`~ticdc_emit.delivery.contract.MessageWriter` over four steps that a subclass gives."""

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._known: set[Place] = set()
        self._pending: dict[Place, PartitionCount] = {}
        self._failure: TicdcEmitError | None = None
        self._closed = False

    @abstractmethod
    def check_place(self, topic: str, partition: int) -> None:
        """Raise :class:`~ticdc_emit.errors.UnknownTopicError` unless the topic-partition exists."""

    @abstractmethod
    def enqueue(self, run: Run) -> None:
        """Add the messages of ``run`` after the earlier ones of its topic-partition."""

    @abstractmethod
    def settle(self) -> None:
        """Return when everything enqueued is durable."""

    @abstractmethod
    def release(self, failed: bool) -> None:
        """Release the writer's resources; messages that are not settled are dropped. ``failed``: a step has raised."""

    def write(self, batch: pa.RecordBatch) -> None:
        with self._failing():
            columns = MessageColumns.of(batch, self._max_message_bytes)
            counts = columns.counts()
            for place in sorted(counts):
                self._know(place)
            for run in columns.runs():
                self.enqueue(run)
            for place, count in counts.items():
                self._count(place, count)

    def write_run(self, run: Run) -> None:
        """Enqueue messages of one topic-partition that are Python objects already, as :meth:`write` does."""
        with self._failing():
            run.check_sizes(self._max_message_bytes)
            place = run.topic, run.partition
            self._know(place)
            self.enqueue(run)
            self._count(place, PartitionCount(len(run.sizes), int(run.sizes.sum())))

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def _know(self, place: Place) -> None:
        if place not in self._known:
            self.check_place(*place)
            self._known.add(place)

    def _count(self, place: Place, count: PartitionCount) -> None:
        self._pending[place] = self._pending.get(place, _NONE).plus(count)

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
