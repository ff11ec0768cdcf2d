"""The messages of one topic-partition in total order, from chunks of many tasks.

In: chunks by their first order key. Out: windows of messages (or of order keys alone) in total order. Chunks that
overlap no other pass as they are, each read once. Of overlapping ones, such as those of tables side by side, only those
are held that rows yet to come may stand between; where that is more than memory may hold, as in a shuffled source, the
rest is sorted in temporary files.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.arrange.order_key import TRANSACTION_BYTES, order_of, with_ranks
from ticdc_emit.arrange.sorted_runs import ORDER_KEY, SortedRuns, count_to, in_order
from ticdc_emit.encode.chunk_store import Chunk

__all__ = ["Merge"]

_JOINED_ROWS = 1_000
_JOINED_KEYS = 20_000  # where a window is of order keys alone
_JOINED_BYTES = 1024 * 1024
_WINDOW_BYTES = 8 * 1024 * 1024  # of messages that are held before any are handed on
_FRESH = 0.25  # share of the chunks held that must be new: to look at each costs, however few rows are handed on


class _Held(NamedTuple):
    """What is left of a chunk's rows, and the bytes that they keep in memory: those of the whole chunk."""

    rest: pa.RecordBatch
    nbytes: int


class Merge:
    """``transactions``: the first bytes of the order keys of those whose rows rank by kind. ``limit``: bytes of
    messages that a merge holds before it uses temporary files.
    """

    def __init__(self, chunks: Sequence[Chunk], transactions: set[bytes], limit: int) -> None:
        self._clusters = list(_clusters(chunks, TRANSACTION_BYTES if transactions else None))
        self._transactions = pa.array(sorted(transactions), pa.binary()) if transactions else None
        self._limit = limit

    def windows(self, read: Callable[[Chunk], pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield what ``read`` gives for the chunks, in total order."""
        return _joined((window for cluster in self._clusters for window in self._merged(cluster, read)), _JOINED_ROWS)

    def tied_windows(self, read: Callable[[Chunk], pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the windows that may hold two changes of one commit_ts, and those that share theirs with another.

        ``read`` gives order keys.
        """
        return _joined(self._tied_windows(read), _JOINED_KEYS)

    def _tied_windows(self, read: Callable[[Chunk], pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        clusters = self._clusters
        for place, cluster in enumerate(clusters):
            alone = len(cluster) == 1 and cluster[0].keys is None
            before = place and _last_stamp(clusters[place - 1]) == _stamp(cluster[0].first)
            after = place + 1 < len(clusters) and _stamp(clusters[place + 1][0].first) == _last_stamp(cluster)
            if not alone or before or after:
                yield from self._merged(cluster, read)

    def _merged(self, cluster: list[Chunk], read: Callable[[Chunk], pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if len(cluster) == 1:
            yield self._ranked(read(cluster[0]))
            return
        batches = (self._ranked(read(chunk)) for chunk in cluster)
        held: list[_Held] = []
        size = fresh = 0
        for batch, bound in zip(batches, self._bounds(cluster), strict=False):
            held.append(_Held(batch, batch.nbytes))
            size, fresh = size + batch.nbytes, fresh + 1
            few = size < _WINDOW_BYTES or fresh < len(held) * _FRESH
            if bound is not None and size < self._limit and few:
                continue
            before, held = _parted(held, bound)
            if before:
                yield in_order(pa.concat_batches(before))
            size, fresh = sum(each.nbytes for each in held), 0
            if size > self._limit / 2:
                break
        if held:
            with SortedRuns(self._limit) as runs:
                for batch in (*(each.rest for each in held), *batches):
                    runs.add(batch)
                yield from runs.windows()

    def _bounds(self, cluster: list[Chunk]) -> Iterator[bytes | None]:
        """Yield for each chunk the key below which no later one has rows; ``None`` for the last."""
        compared = None if self._transactions is None else TRANSACTION_BYTES
        yield from (chunk.first[:compared] for chunk in cluster[1:])
        yield None

    def _ranked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a chunk's rows with the ranks that only the whole batch tells, in the order that they then have."""
        if self._transactions is None:
            return batch
        keys = batch.column(ORDER_KEY)
        of_split = pc.is_in(pc.binary_slice(keys, 0, TRANSACTION_BYTES), value_set=self._transactions)
        rows = np.flatnonzero(np.asarray(of_split.to_numpy(zero_copy_only=False)))
        if not len(rows):
            return batch
        keys = with_ranks(keys, rows)
        batch = batch.set_column(batch.schema.get_field_index(ORDER_KEY), ORDER_KEY, keys)
        order = order_of(keys)
        return batch if order is None else batch.take(order)


def _parted(held: list[_Held], bound: bytes | None) -> tuple[list[pa.RecordBatch], list[_Held]]:
    """Return the rows with keys below ``bound`` (``None``: all), and what is left."""
    before, left = [], []
    for batch, nbytes in held:
        count = batch.num_rows if bound is None else count_to(batch, bound, bisect_left)
        if count:
            before.append(batch.slice(0, count))
        if count < batch.num_rows:
            left.append(_Held(batch.slice(count), nbytes))
    return before, left


def _joined(windows: Iterable[pa.RecordBatch], most_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the windows, small neighbours as one: with many topic-partitions a block has few rows for each."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for window in windows:
        if held and (rows + window.num_rows > most_rows or size + window.nbytes > _JOINED_BYTES):
            yield held[0] if len(held) == 1 else pa.concat_batches(held)
            held, rows, size = [], 0, 0
        held.append(window)
        rows, size = rows + window.num_rows, size + window.nbytes
    if held:
        yield held[0] if len(held) == 1 else pa.concat_batches(held)


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


def _stamp(key: bytes) -> bytes:
    return key[:8]


def _last_stamp(cluster: list[Chunk]) -> bytes:
    return max(_stamp(chunk.last) for chunk in cluster)
