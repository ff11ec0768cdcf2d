"""An external sort in bounded memory: batches in any order in, windows in order out.

Batches are held up to a limit; beyond it what is held is sorted and written to a temporary file (Arrow IPC, LZ4), a
run. The runs are merged by windows: as many rows as every run has read already.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from types import TracebackType
from typing import IO

import pyarrow as pa

from ticdc_emit.arrange.order_key import order_of
from ticdc_emit.temporary import close_quietly, writing_temporary_files

__all__ = ["ORDER_KEY", "SortedRuns"]

ORDER_KEY = "order_key"
"""The column, ``binary``, that orders rows (``arrange.order_key``)."""

_PIECES = 64


class SortedRuns:
    """Takes batches of one schema with the column :data:`ORDER_KEY`.

    ``limit``: bytes that are held before a run is written, and 64 times what is read of each run at once. Memory is
    about twice that for up to 64 runs.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self._files: list[IO[bytes]] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of a batch."""
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
        while runs := [run for run in runs if run.filled()]:
            bound = min((run.last for run in runs if run.has_more), default=None)
            parts = [part for run in runs if (part := run.taken(bound)).num_rows]
            yield _in_order(pa.concat_batches(parts))

    def _write_run(self) -> None:
        batch = _in_order(pa.concat_batches(self._held))
        self._held, self._bytes = [], 0
        rows = max(1, batch.num_rows * self._limit // (_PIECES * max(batch.nbytes, 1)))
        with writing_temporary_files():
            file = tempfile.TemporaryFile(prefix="ticdc-emit-")  # noqa: SIM115 - closed by __exit__
            self._files.append(file)
            with pa.ipc.new_file(file, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
                for start in range(0, batch.num_rows, rows):
                    writer.write_batch(batch.slice(start, rows))
            file.flush()

    def __enter__(self) -> SortedRuns:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files:
            close_quietly(file)


class _Run:
    """A sorted file that is read batch by batch."""

    def __init__(self, file: IO[bytes]) -> None:
        file.seek(0)
        self._reader = pa.ipc.open_file(file)
        self._next = 0
        self._held: pa.RecordBatch | None = None

    @property
    def has_more(self) -> bool:
        """Whether rows of the run are not read yet."""
        return self._next < int(self._reader.num_record_batches)

    @property
    def last(self) -> bytes:
        """The key of the last row that is read."""
        assert self._held is not None
        return _key(self._held, self._held.num_rows - 1)

    def filled(self) -> bool:
        """Read a batch if none is held; return whether one exists."""
        if self._held is None and self.has_more:
            self._next += 1
            self._held = self._reader.get_batch(self._next - 1)
        return self._held is not None

    def taken(self, bound: bytes | None) -> pa.RecordBatch:
        """Take the held rows with keys up to ``bound`` (``None``: all).

        Rows of equal keys have no order, so it does not matter that a run may have more of them to read.
        """
        held = self._held
        assert held is not None
        rows = held.num_rows
        count = rows if bound is None else bisect_right(range(rows), bound, key=lambda row: _key(held, row))
        self._held = held.slice(count) if count < held.num_rows else None
        return held.slice(0, count)


def _key(batch: pa.RecordBatch, row: int) -> bytes:
    return bytes(batch.column(ORDER_KEY)[row].as_py())


def _in_order(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows of a batch in order."""
    order = order_of(batch.column(ORDER_KEY))
    return batch if order is None else batch.take(order)
