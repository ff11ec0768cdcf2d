"""Chunks of one topic-partition in, their messages in total order out, with control messages among them.

Chunks that overlap are merged in bounded memory; a chunk that overlaps with none is passed through. Objects are made
where the messages are, and only references to them change places; arrays are copied in slices that a processor's cache
holds. So rows of many chunks cost little more than those of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.changes.model import with_ends
from ticdc_emit.columnar.buffers import text_buffers
from ticdc_emit.delivery.base import MESSAGE_SCHEMA, PartitionBatch, Target
from ticdc_emit.pipeline.arrange.sort_key import STAMP_BYTES, TRANSACTION_BYTES, commit_stamps, order_of, rank_by_kind
from ticdc_emit.pipeline.encode.chunks import Chunk, ChunkStore
from ticdc_emit.pipeline.encode.encode_task import HeldRows
from ticdc_emit.pipeline.encode.external_sort import ORDER_KEY, Places, SortedRows, SortedRuns, merged_order
from ticdc_emit.pipeline.encode.message_packing import MessagePacker
from ticdc_emit.pipeline.encode.messages import control_batch

_Objects: TypeAlias = "tuple[list[bytes | None], npt.NDArray[np.int64]]"


@dataclass
class MergedRows:
    """Rows in total order: those of ``parts``, one part after the other, taken in ``order`` (``None``: as they are).

    The rows of one part keep their order. ``stamps``: the commit_ts of each row. ``places``: the row before which each
    of the control messages comes, rising; the number of rows for one after them.
    """

    parts: Sequence[pa.RecordBatch]
    stamps: npt.NDArray[np.uint64]
    order: Places | None = None
    due: Sequence[ControlMessage] = ()
    places: Places = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def merged(cls, parts: Sequence[SortedRows]) -> MergedRows:
        order = merged_order(parts)
        stamps = parts[0].stamps if len(parts) == 1 else np.concatenate([part.stamps for part in parts])
        return cls([part.rows for part in parts], stamps if order is None else stamps[order], order)

    @classmethod
    def joined(cls, windows: Sequence[MergedRows]) -> MergedRows:
        if len(windows) == 1:
            return windows[0]
        parts = [part for window in windows for part in window.parts]
        stamps = np.concatenate([window.stamps for window in windows])
        if all(window.order is None for window in windows):
            return cls(parts, stamps)
        starts = np.cumsum([0, *(window.num_rows for window in windows)]).tolist()
        orders = [window._places() + start for window, start in zip(windows, starts, strict=False)]
        return cls(parts, stamps, np.concatenate(orders))

    @property
    def num_rows(self) -> int:
        return len(self.stamps)

    @cached_property
    def nbytes(self) -> int:
        """The bytes of the columns as they are."""
        return sum(part.nbytes for part in self.parts)

    def slices(self, size: int) -> Iterator[MergedRows]:
        """Yield the rows in slices of about ``size`` bytes, ends of values among them."""
        end = 0  # of values that are kept apart: the longest
        if self._ended:
            longest = (int(text_buffers(part.column("end").dictionary).lengths.max(initial=0)) for part in self.parts)
            end = max(longest)
        rows = max(1, self.num_rows * size // (self.nbytes + self.num_rows * end + 1))
        if rows >= self.num_rows:
            yield self
            return
        counts = [part.num_rows for part in self.parts]
        numbers = np.repeat(np.arange(len(counts)), counts)  # the part of each row, by its place
        taken, first, order = np.zeros(len(counts), np.int64), np.cumsum([0, *counts[:-1]]), self._places()
        for start in range(0, self.num_rows, rows):
            places = order[start : start + rows]
            number = numbers[places]
            wanted = np.bincount(number, minlength=len(counts))
            # rows of a part keep their order: these are the next ones of it, and lie in it side by side
            parts = [
                self.parts[part].slice(int(taken[part]), int(wanted[part])) for part in np.flatnonzero(wanted).tolist()
            ]
            moved = np.cumsum(wanted) - wanted - first - taken
            taken += wanted
            own = None if len(parts) == 1 else places + moved[number]
            yield MergedRows(parts, self.stamps[start : start + rows], own)

    def column(self, name: str) -> pa.Array:
        """Return a column in order: a copy, unless one part is all."""
        columns = [part.column(name) for part in self.parts]
        column = columns[0] if len(columns) == 1 else pa.concat_arrays(columns)
        return column if self.order is None else column.take(pa.array(self.order))

    def batch(self, target: Target, packer: MessagePacker | None) -> pa.RecordBatch:
        """Return the messages in ``MESSAGE_SCHEMA``. Rows that ``packer`` may join to later ones are left to it."""
        topic, partition = target
        places = self.places
        value = self.column("value")
        columns = [
            pa.repeat(pa.scalar(topic, pa.string()), self.num_rows),
            pa.repeat(pa.scalar(partition, pa.int32()), self.num_rows),
            self.column("key"),
            with_ends(value, self.column("end")) if self._ended else value,
            pa.array(self.stamps.view(np.int64)),
        ]
        batch = pa.RecordBatch.from_arrays(columns, schema=MESSAGE_SCHEMA)
        if packer is not None:
            batch, places = packer.add(batch, places)
        if not self.due:
            return batch
        joined = pa.concat_batches([batch, control_batch([(target, message) for message in self.due])])
        order = np.insert(np.arange(batch.num_rows), places, np.arange(batch.num_rows, joined.num_rows))
        return joined.take(pa.array(order))

    def partition_batch(self, target: Target) -> PartitionBatch:
        (all_keys, key_sizes), (all_values, value_sizes) = self.keys_and_values
        sizes = np.maximum(key_sizes, 0) + np.maximum(value_sizes, 0)
        if not self.due:
            return PartitionBatch(*target, all_keys, all_values, sizes)
        keys: list[bytes | None] = []
        values: list[bytes | None] = []
        start = 0
        for message, place in zip(self.due, self.places.tolist(), strict=True):
            keys += [*all_keys[start:place], message.key]
            values += [*all_values[start:place], message.value]
            start = place
        added = [len(message.key or b"") + len(message.value or b"") for message in self.due]
        return PartitionBatch(
            *target, keys + all_keys[start:], values + all_values[start:], np.insert(sizes, self.places, added)
        )

    @cached_property
    def keys_and_values(self) -> tuple[_Objects, _Objects]:
        """The rows' keys, and their values, as Python objects, each with their bytes: -1 for ``None``."""
        values = [part.column("value") for part in self.parts]
        if self._ended:
            values = [with_ends(value, part.column("end")) for value, part in zip(values, self.parts, strict=True)]
        return self._objects([part.column("key") for part in self.parts]), self._objects(values)

    def _objects(self, columns: list[pa.Array]) -> _Objects:
        column = pa.chunked_array(columns)
        objects = column.to_numpy()
        lengths = pc.fill_null(pc.binary_length(column), -1).to_numpy().astype(np.int64)
        if self.order is not None:
            objects, lengths = objects[self.order], lengths[self.order]
        return objects.tolist(), lengths

    def _places(self) -> Places:
        return np.arange(self.num_rows) if self.order is None else self.order

    @property
    def _ended(self) -> bool:
        return "end" in self.parts[0].schema.names


_JOINED_ROWS = 1_000
_JOINED_KEYS = 20_000  # where a window is of order keys alone
_JOINED_BYTES = 1024 * 1024
_WINDOW_BYTES = 8 * 1024 * 1024  # of messages that are held before any are handed on
_KEPT = 0.9  # share of the memory that chunks may keep whose rows later ones come among
_FRESH = 0.25  # share of the chunks held that must be new: to look at each costs, however few rows are handed on


class _Rest(NamedTuple):
    """What is left of a chunk's rows, and the bytes that they keep in memory: those of the whole chunk."""

    rows: SortedRows
    nbytes: int


class Merge:
    """``transactions``: first bytes of order keys that rank by kind; ``limit``: bytes held before files are used."""

    def __init__(self, store: ChunkStore, chunks: Sequence[Chunk], transactions: set[bytes], limit: int) -> None:
        self._store = store
        self._clusters = list(_clusters(chunks, TRANSACTION_BYTES if transactions else None))
        self._transactions = pa.array(sorted(transactions), pa.binary()) if transactions else None
        self._limit = limit

    @classmethod
    def of(cls, store: ChunkStore, limit: int) -> dict[Target, Merge]:
        return {
            target: cls(store, own, store.transactions.get(target[0], set()), limit) for target, own in store.chunks()
        }

    def windows(self) -> Iterator[MergedRows]:
        read = self._store.messages
        return _join_small(
            (window for cluster in self._clusters for window in self._merge_cluster(cluster, read)), _JOINED_ROWS
        )

    def tied_windows(self) -> Iterator[MergedRows]:
        """Yield order keys: of the windows that may hold two changes of one commit_ts, alone or with another."""
        read = self._store.order_keys
        clusters, tied = self._clusters, []
        for place, cluster in enumerate(clusters):
            alone = len(cluster) == 1 and not cluster[0].ties
            before = place and _last_stamp(clusters[place - 1]) == cluster[0].first[:STAMP_BYTES]
            after = place + 1 < len(clusters) and clusters[place + 1][0].first[:STAMP_BYTES] == _last_stamp(cluster)
            if not alone or before or after:
                tied.append(cluster)
        return _join_small((window for cluster in tied for window in self._merge_cluster(cluster, read)), _JOINED_KEYS)

    def _merge_cluster(self, cluster: list[Chunk], read: Callable[[Chunk], pa.RecordBatch]) -> Iterator[MergedRows]:
        if len(cluster) == 1:
            rows = ranked(read(cluster[0]), self._transactions)
            yield MergedRows([rows], commit_stamps(rows.column(ORDER_KEY)))
            return
        batches = (SortedRows.of(ranked(read(chunk), self._transactions)) for chunk in cluster)
        held: list[_Rest] = []
        size = fresh = 0
        compared = None if self._transactions is None else TRANSACTION_BYTES
        # of each chunk the key below which no later one has rows
        bounds = [*(chunk.first[:compared] for chunk in cluster[1:]), None]
        for batch, bound in zip(batches, bounds, strict=False):
            held.append(_Rest(batch, batch.rows.nbytes))
            size, fresh = size + held[-1].nbytes, fresh + 1
            few = size < _WINDOW_BYTES or fresh < len(held) * _FRESH
            if bound is not None and size < self._limit and few:
                continue
            before, held = _split_at(held, bound)
            if before:
                yield MergedRows.merged(before)
            size, fresh = sum(each.nbytes for each in held), 0
            if size > self._limit * _KEPT:
                break
        if held:
            with SortedRuns(self._limit) as runs:
                while held:  # nothing else keeps the rows
                    runs.add(held.pop().rows.rows)
                for batch in batches:
                    runs.add(batch.rows)
                yield from (MergedRows.merged([SortedRows.of(rows)]) for rows in runs.windows())


@dataclass(frozen=True)
class HeldMerge:
    """The rows of one topic-partition, all at once."""

    rows: MergedRows

    @classmethod
    def of(cls, held: HeldRows) -> dict[Target, HeldMerge]:
        split = {topic: pa.array(sorted(own), pa.binary()) for topic, own in held.transactions.items()}
        rows = sorted((target, ranked(own, split.get(target[0]))) for target, own in held.messages())
        return {target: cls(MergedRows([own], commit_stamps(own.column(ORDER_KEY)))) for target, own in rows}

    def windows(self) -> Iterator[MergedRows]:
        yield self.rows

    tied_windows = windows


def ranked(batch: pa.RecordBatch, transactions: pa.Array | None) -> pa.RecordBatch:
    """Return rows with the ranks that only the whole batch tells, in the order that they then have."""
    if transactions is None:
        return batch
    keys = batch.column(ORDER_KEY)
    by_kind = rank_by_kind(keys, transactions)
    if by_kind is keys:
        return batch
    keys = by_kind
    batch = batch.set_column(batch.schema.get_field_index(ORDER_KEY), ORDER_KEY, keys)
    order = order_of(keys)
    return batch if order is None else batch.take(order)


def _split_at(held: list[_Rest], bound: bytes | None) -> tuple[list[SortedRows], list[_Rest]]:
    before, left = [], []
    for part, nbytes in held:
        rows = len(part.stamps)
        count = rows if bound is None else part.count_below(bound)
        if count:
            before.append(part.slice(0, count))
        if count < rows:
            left.append(_Rest(part.slice(count, rows), nbytes))
    return before, left


def _join_small(windows: Iterable[MergedRows], most_rows: int) -> Iterator[MergedRows]:
    """Yield the windows, small neighbours as one: with many topic-partitions a block has few rows for each."""
    held: list[MergedRows] = []
    rows = size = 0
    for window in windows:
        if held and (rows + window.num_rows > most_rows or size + window.nbytes > _JOINED_BYTES):
            yield MergedRows.joined(held)
            held, rows, size = [], 0, 0
        held.append(window)
        rows, size = rows + window.num_rows, size + window.nbytes
    if held:
        yield MergedRows.joined(held)


def _clusters(chunks: Sequence[Chunk], compared: int | None) -> Iterator[list[Chunk]]:
    """Yield runs of chunks that overlap: comparing whole keys, or only the first bytes that ranks do not change."""
    cluster: list[Chunk] = []
    end = b""
    for chunk in chunks:
        if cluster and chunk.first[:compared] > end:
            yield cluster
            cluster, end = [], b""
        cluster.append(chunk)
        end = max(end, chunk.last[:compared])
    if cluster:
        yield cluster


def _last_stamp(cluster: list[Chunk]) -> bytes:
    return max(chunk.last[:STAMP_BYTES] for chunk in cluster)
