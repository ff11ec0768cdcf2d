"""The messages of one topic-partition in total order, from chunks of many tasks.

In: chunks by their first order key. Out: windows of messages (or of order keys alone) in total order. Messages are not
moved: a window has those of its chunks where they were read, and says their order. Chunks that overlap no other are
each read once. Of overlapping ones, such as those of tables side by side, only those are held that rows yet to come may
stand between; where that is more than memory may hold, as in a shuffled source, the rest is sorted in temporary files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.arrange.merged import SortedRows
from ticdc_emit.arrange.order_key import TRANSACTION_BYTES, order_of, with_ranks
from ticdc_emit.arrange.sorted_runs import ORDER_KEY, SortedRuns
from ticdc_emit.encode.chunk_store import Chunk
from ticdc_emit.encode.window import Window

__all__ = ["Merge"]

_JOINED_ROWS = 1_000
_JOINED_KEYS = 20_000  # where a window is of order keys alone
_JOINED_BYTES = 1024 * 1024
_WINDOW_BYTES = 8 * 1024 * 1024  # of messages that are held before any are handed on
_KEPT = 0.9  # share of the memory that chunks may keep whose rows later ones come among
_FRESH = 0.25  # share of the chunks held that must be new: to look at each costs, however few rows are handed on


class _Held(NamedTuple):
    """What is left of a chunk's rows, and the bytes that they keep in memory: those of the whole chunk."""

    rest: SortedRows
    nbytes: int


class Merge:
    """``transactions``: the first bytes of the order keys of those whose rows rank by kind. ``limit``: bytes of
    messages that a merge holds before it uses temporary files.
    """

    def __init__(self, chunks: Sequence[Chunk], transactions: set[bytes], limit: int) -> None:
        self._clusters = list(_clusters(chunks, TRANSACTION_BYTES if transactions else None))
        self._transactions = pa.array(sorted(transactions), pa.binary()) if transactions else None
        self._limit = limit

    def windows(self, read: Callable[[Chunk], pa.RecordBatch]) -> Iterator[Window]:
        """Yield what ``read`` gives for the chunks, in total order."""
        return _joined((window for cluster in self._clusters for window in self._merged(cluster, read)), _JOINED_ROWS)

    def tied_windows(self, read: Callable[[Chunk], pa.RecordBatch]) -> Iterator[Window]:
        """Yield the windows that may hold two changes of one commit_ts, and those that share theirs with another.

        ``read`` gives order keys.
        """
        return _joined(self._tied_windows(read), _JOINED_KEYS)

    def _tied_windows(self, read: Callable[[Chunk], pa.RecordBatch]) -> Iterator[Window]:
        clusters = self._clusters
        for place, cluster in enumerate(clusters):
            alone = len(cluster) == 1 and cluster[0].keys is None
            before = place and _last_stamp(clusters[place - 1]) == _stamp(cluster[0].first)
            after = place + 1 < len(clusters) and _stamp(clusters[place + 1][0].first) == _last_stamp(cluster)
            if not alone or before or after:
                yield from self._merged(cluster, read)

    def _merged(self, cluster: list[Chunk], read: Callable[[Chunk], pa.RecordBatch]) -> Iterator[Window]:
        if len(cluster) == 1:
            yield Window.merged([self._sorted(read(cluster[0]))])
            return
        batches = (self._sorted(read(chunk)) for chunk in cluster)
        held: list[_Held] = []
        size = fresh = 0
        for batch, bound in zip(batches, self._bounds(cluster), strict=False):
            held.append(_Held(batch, batch.rows.nbytes))
            size, fresh = size + held[-1].nbytes, fresh + 1
            few = size < _WINDOW_BYTES or fresh < len(held) * _FRESH
            if bound is not None and size < self._limit and few:
                continue
            before, held = _parted(held, bound)
            if before:
                yield Window.merged(before)
            size, fresh = sum(each.nbytes for each in held), 0
            if size > self._limit * _KEPT:
                break
        if held:
            with SortedRuns(self._limit) as runs:
                for batch in (*(each.rest for each in held), *batches):
                    runs.add(batch.rows)
                yield from (Window.merged([SortedRows.of(rows)]) for rows in runs.windows())

    def _bounds(self, cluster: list[Chunk]) -> Iterator[bytes | None]:
        """Yield for each chunk the key below which no later one has rows; ``None`` for the last."""
        compared = None if self._transactions is None else TRANSACTION_BYTES
        yield from (chunk.first[:compared] for chunk in cluster[1:])
        yield None

    def _sorted(self, batch: pa.RecordBatch) -> SortedRows:
        return SortedRows.of(self._ranked(batch))

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


def _parted(held: list[_Held], bound: bytes | None) -> tuple[list[SortedRows], list[_Held]]:
    """Return the rows with keys below ``bound`` (``None``: all), and what is left."""
    before, left = [], []
    for part, nbytes in held:
        rows = len(part.stamps)
        count = rows if bound is None else part.count_below(bound)
        if count:
            before.append(part.slice(0, count))
        if count < rows:
            left.append(_Held(part.slice(count, rows), nbytes))
    return before, left


def _joined(windows: Iterable[Window], most_rows: int) -> Iterator[Window]:
    """Yield the windows, small neighbours as one: with many topic-partitions a block has few rows for each."""
    held: list[Window] = []
    rows = size = 0
    for window in windows:
        if held and (rows + window.num_rows > most_rows or size + window.nbytes > _JOINED_BYTES):
            yield Window.joined(held)
            held, rows, size = [], 0, 0
        held.append(window)
        rows, size = rows + window.num_rows, size + window.nbytes
    if held:
        yield Window.joined(held)


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
