"""Sorting by order keys: batches that are in order merged, and more rows than memory holds sorted by way of files.

Keys are compared by commit_ts and table, two numbers; whole keys only where rows of different parts have both in
common, for the rows of one part are in order already.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import order_of_pairs
from ticdc_emit.delivery.temporary import close_quietly, writing_temporary_files
from ticdc_emit.pipeline.arrange.sort_key import order_of, stamp_and_table, stamps_and_tables

Places = npt.NDArray[np.int64]

ORDER_KEY = "order_key"
"""The column, ``binary``, that orders rows (``pipeline.arrange.sort_key``)."""

_BATCHES = 64  # of a run of the limit's size: how much of each run is read at once


class SortedRows(NamedTuple):
    """Rows in order, with the commit_ts of each and its table's place."""

    rows: pa.RecordBatch
    stamps: npt.NDArray[np.uint64]
    tables: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, rows: pa.RecordBatch) -> SortedRows:
        """Return rows that have the column ``ORDER_KEY`` and are in its order."""
        return cls(rows, *stamps_and_tables(rows.column(ORDER_KEY)))

    def slice(self, start: int, stop: int) -> SortedRows:
        """Return the rows from ``start`` to before ``stop``."""
        return SortedRows(self.rows.slice(start, stop - start), self.stamps[start:stop], self.tables[start:stop])

    def count_below(self, bound: bytes) -> int:
        """Count the rows with keys below ``bound``, a key or the first bytes of one, commit_ts among them."""
        stamp = np.uint64(stamp_and_table(bound)[0])
        first = int(np.searchsorted(self.stamps, stamp))
        last = first + int(np.searchsorted(self.stamps[first:], stamp, side="right"))
        return bisect_left(range(last), bound, lo=first, key=self.key)

    def key(self, row: int) -> bytes:
        return bytes(self.rows.column(ORDER_KEY)[row].as_py())


def merged_order(parts: Sequence[SortedRows]) -> Places | None:
    """Return the places of all rows in order, ``None`` where they are; rows of one part stay in their order."""
    if all(one.key(-1) <= other.key(0) for one, other in pairwise(parts)):
        return None
    stamps, tables = (np.concatenate([part[field] for part in parts]) for field in (1, 2))
    order = order_of_pairs(stamps, tables)
    stamps, tables = stamps[order], tables[order]
    same = (stamps[1:] == stamps[:-1]) & (tables[1:] == tables[:-1])
    if same.any():
        _order_ties(order, same, parts)
    return order


def _order_ties(order: Places, same: npt.NDArray[np.bool_], parts: Sequence[SortedRows]) -> None:
    """Order rows that have commit_ts and table in common. ``same``: each row but the first, with the one before it."""
    numbers = np.repeat(np.arange(len(parts)), [len(part.stamps) for part in parts])[order]
    mixed = np.flatnonzero(same & (numbers[1:] != numbers[:-1]))
    if all(parts[numbers[row]].key(-1) <= parts[numbers[row + 1]].key(0) for row in mixed):
        return  # as where a block of rows ends within a transaction, and the next one goes on with it
    groups = np.append(0, np.cumsum(~same))
    is_mixed = np.zeros(groups[-1] + 1, np.bool_)
    is_mixed[groups[mixed]] = True
    # groups are in order among each other, so that sorting the rows of all of them moves none to another
    tied = np.flatnonzero(is_mixed[groups])
    rows = order[tied]
    keys = pa.concat_arrays([part.rows.column(ORDER_KEY) for part in parts]).take(pa.array(rows))
    order[tied] = rows[np.asarray(pc.array_sort_indices(keys))]


class SortedRuns:
    """Takes batches with the column :data:`ORDER_KEY`. ``limit``: bytes held before a run is written to a file.

    It is also 64 times what is read of each run at once, so memory is about twice that for up to 64 runs.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self._files: list[IO[bytes]] = []

    def add(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        self._bytes += batch.nbytes
        if self._bytes > self._limit:
            self._write_run()

    def windows(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows in order; call it once, after the last :meth:`add`."""
        if not self._files:
            if self._held:
                yield _in_order(pa.concat_batches(self._held))
            return
        if self._held:
            self._write_run()
        runs = [_Run(file) for file in self._files]
        while runs := [run for run in runs if run.fill()]:
            bound = min((run.last for run in runs if run.has_more), default=None)
            parts = [part for run in runs if (part := run.take_until(bound)).num_rows]
            yield _in_order(pa.concat_batches(parts))

    def _write_run(self) -> None:
        batch = pa.concat_batches(self._held)
        self._held, self._bytes = [], 0
        order = order_of(batch.column(ORDER_KEY))
        rows = max(1, batch.num_rows * self._limit // (_BATCHES * max(batch.nbytes, 1)))
        with writing_temporary_files():
            file = tempfile.TemporaryFile(prefix="ticdc-emit-")  # noqa: SIM115 - closed by __exit__
            self._files.append(file)
            with pa.ipc.new_file(file, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
                for start in range(0, batch.num_rows, rows):  # a part at a time, because taking copies it
                    part = slice(start, start + rows)
                    writer.write_batch(batch[part] if order is None else batch.take(order[part]))
            file.flush()

    def __enter__(self) -> SortedRuns:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            close_quietly(file)


class _Run:
    def __init__(self, file: IO[bytes]) -> None:
        file.seek(0)
        self._reader = pa.ipc.open_file(file)
        self._next = 0
        self._held: pa.RecordBatch | None = None

    @property
    def has_more(self) -> bool:
        return self._next < int(self._reader.num_record_batches)

    @property
    def last(self) -> bytes:
        assert self._held is not None
        return _key(self._held, self._held.num_rows - 1)

    def fill(self) -> bool:
        if self._held is None and self.has_more:
            self._next += 1
            self._held = self._reader.get_batch(self._next - 1)
        return self._held is not None

    def take_until(self, bound: bytes | None) -> pa.RecordBatch:
        """Take the held rows with keys up to ``bound`` (``None``: all); equal keys to come have no order."""
        held = self._held
        assert held is not None
        rows = held.num_rows
        count = rows if bound is None else bisect_right(range(rows), bound, key=lambda row: _key(held, row))
        self._held = held.slice(count) if count < held.num_rows else None
        return held.slice(0, count)


def _key(batch: pa.RecordBatch, row: int) -> bytes:
    return bytes(batch.column(ORDER_KEY)[row].as_py())


def _in_order(batch: pa.RecordBatch) -> pa.RecordBatch:
    order = order_of(batch.column(ORDER_KEY))
    return batch if order is None else batch.take(order)
