"""From an Arrow batch of messages to what writers loop over.

In: a record batch shaped like :data:`~ticdc_emit.delivery.contract.MESSAGE_SCHEMA`.  Out: Python keys and values,
gathered in runs of one topic-partition, and counts per partition.  All checks of a batch happen here, before any of
its rows leaves: shape, nulls, negative partitions (librdkafka would read -1 as "any") and ``max-message-bytes``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.delivery.contract import PartitionCount, Place
from ticdc_emit.delivery.topics import MOST_PARTITIONS
from ticdc_emit.errors import DeliveryError, MessageTooLargeError

__all__ = ["MessageColumns", "Run"]


class Run(NamedTuple):
    """Rows of one topic-partition, in their order.  ``sizes``: bytes of key plus value."""

    topic: str
    partition: int
    keys: list[bytes | None]
    values: list[bytes | None]
    sizes: npt.NDArray[np.int64]

    def check_sizes(self, max_message_bytes: int) -> None:
        """Raise :class:`~ticdc_emit.errors.MessageTooLargeError` for the first message above ``max_message_bytes``."""
        _check_sizes(self.sizes, max_message_bytes, lambda _: (self.topic, self.partition))

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


@dataclass(frozen=True)
class MessageColumns:
    """The columns of one batch, checked.  ``topic_codes`` index into ``topics``; ``sizes`` are bytes of key plus
    value."""

    topics: list[str]
    topic_codes: npt.NDArray[np.int64]
    partitions: npt.NDArray[np.int64]
    keys: pa.Array
    values: pa.Array
    sizes: npt.NDArray[np.int64]

    @classmethod
    def of(cls, batch: pa.RecordBatch, max_message_bytes: int) -> MessageColumns:
        """Check and take apart ``batch``.

        Raises :class:`~ticdc_emit.errors.MessageTooLargeError` for the first row above ``max_message_bytes`` and
        :class:`~ticdc_emit.errors.DeliveryError` for a batch that is not one of messages.
        """
        topics, codes = _dictionary(_column(batch, "topic"))
        partition = _column(batch, "partition")
        if not pa.types.is_integer(partition.type) or partition.null_count:
            raise DeliveryError(
                "the column 'partition' must hold an integer in every row",
                remedy="Give each message its partition",
                column="partition",
            )
        partitions = partition.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        if len(partitions) and partitions.min() < 0:
            raise DeliveryError(
                f"partition {partitions.min()} is negative", remedy="Give partitions from 0 on", column="partition"
            )
        keys, values = _binary(batch, "key"), _binary(batch, "value")
        columns = cls(topics, codes, partitions, keys, values, _lengths(keys) + _lengths(values))
        _check_sizes(columns.sizes, max_message_bytes, columns._place)
        return columns

    def runs(self) -> Iterator[Run]:
        """Yield one run per topic-partition, its rows in their order.

        No sink promises an order between partitions, and a loop over long runs is five times as fast as one that
        changes its partition with every row.
        """
        places = self._places()
        keys, values, sizes = self.keys, self.values, self.sizes
        if (np.diff(places) < 0).any():
            order = np.argsort(places, kind="stable")
            places, rows = places[order], pa.array(order)
            keys, values, sizes = keys.take(rows), values.take(rows), sizes[order]
        else:
            order = np.arange(len(places))
        key_list, value_list = keys.to_pylist(), values.to_pylist()
        borders = [0, *(np.flatnonzero(np.diff(places)) + 1).tolist(), len(places)]
        for start, stop in pairwise(borders):
            if start < stop:
                topic, partition = self._place(int(order[start]))
                yield Run(topic, partition, key_list[start:stop], value_list[start:stop], sizes[start:stop])

    def counts(self) -> dict[Place, PartitionCount]:
        """Return what the batch amounts to once all of it is delivered."""
        _, first, group = np.unique(self._places(), return_index=True, return_inverse=True)
        messages = np.bincount(group, minlength=len(first))
        sizes = np.zeros(len(first), dtype=np.int64)
        np.add.at(sizes, group, self.sizes)
        return {
            self._place(row): PartitionCount(count, size)
            for row, count, size in zip(first.tolist(), messages.tolist(), sizes.tolist(), strict=True)
        }

    def _places(self) -> npt.NDArray[np.int64]:
        """Return a number per row, the same for the same topic-partition."""
        return self.topic_codes * MOST_PARTITIONS + self.partitions

    def _place(self, row: int) -> Place:
        return self.topics[self.topic_codes[row]], int(self.partitions[row])


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    index = batch.schema.get_field_index(name)
    if index < 0:
        raise DeliveryError(
            f"a batch of messages needs the column {name!r}, got {batch.schema.names}",
            remedy="Give the columns topic, partition, key and value",
            column=name,
        )
    return batch.column(index)


def _dictionary(topic: pa.Array) -> tuple[list[str], npt.NDArray[np.int64]]:
    encoded = topic if pa.types.is_dictionary(topic.type) else pc.dictionary_encode(topic)
    names, codes = encoded.dictionary, encoded.indices
    if not (pa.types.is_string(names.type) or pa.types.is_large_string(names.type)) or topic.null_count:
        raise DeliveryError(
            "the column 'topic' must hold text in every row", remedy="Give each message its topic", column="topic"
        )
    if len(names.unique()) < len(names):
        # Two codes for one topic would be two partitions' worth of order and counts.
        return _dictionary(topic.cast(names.type))
    return names.to_pylist(), codes.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)


def _binary(batch: pa.RecordBatch, name: str) -> pa.Array:
    column = _column(batch, name)
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return column
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_null(column.type):
        return column.cast(pa.large_binary())
    raise DeliveryError(
        f"the column {name!r} must be binary, not {column.type}", remedy="Cast it to binary first", column=name
    )


def _lengths(column: pa.Array) -> npt.NDArray[np.int64]:
    lengths = pc.fill_null(pc.binary_length(column), 0)
    sizes: npt.NDArray[np.int64] = lengths.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return sizes


def _check_sizes(sizes: npt.NDArray[np.int64], max_message_bytes: int, place: Callable[[int], Place]) -> None:
    """``place``: of the message with that number."""
    if int(sizes.max(initial=0)) <= max_message_bytes:
        return
    row = int(np.argmax(sizes > max_message_bytes))
    topic, partition = place(row)
    raise MessageTooLargeError(
        f"a message for topic {topic} has {sizes[row]} bytes, more than the limit of {max_message_bytes}",
        remedy="Raise max-message-bytes, in TiCDC's next the topic's max.message.bytes.",
        topic=topic,
        partition=partition,
        size=int(sizes[row]),
    )
