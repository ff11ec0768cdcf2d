"""An external sort in bounded memory: batches in any order in, windows out that follow each other in order.

Batches are held up to a limit; beyond it what is held is sorted and written to a temporary file (Arrow IPC, LZ4), a
run. The runs are merged by windows: as many rows as every run has read already. All rows with equal keys are in one
window, whose rows are in no order: whoever takes it sorts it by what the keys do not tell.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import IO, TypeAlias

import numpy as np
import pyarrow as pa

from ticdc_emit.temporary import close_quietly, writing_temporary_files

__all__ = ["SortedRuns"]

_PIECES = 64
_Key: TypeAlias = "tuple[np.integer, np.integer]"


class SortedRuns:
    """Takes batches of one schema, whose two integer columns ``keys`` order them.

    ``limit``: bytes that are held before a run is written, and 64 times what is read of each run at once. Memory is
    about twice that for up to 64 runs, and more where the rows of equal keys are, which come at once.
    """

    def __init__(self, keys: tuple[str, str], limit: int) -> None:
        self._keys = keys
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
        """Yield all rows; call it once, after the last :meth:`add`."""
        if not self._files:
            if self._held:
                yield pa.concat_batches(self._held)
            return
        if self._held:
            self._write_run()
        runs = [_Run(file, self._keys) for file in self._files]
        while runs := [run for run in runs if run.filled()]:
            open_ends = [(run.last, run) for run in runs if run.has_more]
            if not open_ends:
                yield pa.concat_batches([run.taken(None) for run in runs])
                continue
            bound, shortest = min(open_ends, key=lambda end: end[0])
            parts = [part for run in runs if (part := run.taken(bound)).num_rows]
            if parts:
                yield pa.concat_batches(parts)
            else:
                shortest.read_past(bound)

    def _write_run(self) -> None:
        batch = pa.concat_batches(self._held)
        self._held, self._bytes = [], 0
        first, second = (np.asarray(batch.column(name)) for name in self._keys)
        batch = batch.take(pa.array(np.lexsort((second, first))))
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

    def __init__(self, file: IO[bytes], keys: tuple[str, str]) -> None:
        file.seek(0)
        self._reader = pa.ipc.open_file(file)
        self._next = 0
        self._keys = keys
        self._held: pa.RecordBatch | None = None

    @property
    def has_more(self) -> bool:
        """Whether rows of the run are not read yet."""
        return self._next < int(self._reader.num_record_batches)

    @property
    def last(self) -> _Key:
        """The keys of the last row that is read."""
        assert self._held is not None
        first, second = (np.asarray(self._held.column(name)) for name in self._keys)
        return first[-1], second[-1]

    def filled(self) -> bool:
        """Read a batch if none is held; tell whether there is one."""
        if self._held is None and self.has_more:
            self._held = self._read()
        return self._held is not None

    def taken(self, bound: _Key | None) -> pa.RecordBatch:
        """Take the held rows with keys below ``bound`` (``None``: all)."""
        held = self._held
        assert held is not None
        count = held.num_rows if bound is None else self._below(held, bound)
        self._held = held.slice(count) if count < held.num_rows else None
        return held.slice(0, count)

    def read_past(self, bound: _Key) -> None:
        """Read on until a row beyond ``bound``, or the end."""
        read = [self._held]
        while self.has_more:
            self._held = self._read()
            read.append(self._held)
            if self.last > bound:
                break
        self._held = pa.concat_batches(read)

    def _read(self) -> pa.RecordBatch:
        self._next += 1
        return self._reader.get_batch(self._next - 1)

    def _below(self, batch: pa.RecordBatch, bound: _Key) -> int:
        first, second = (np.asarray(batch.column(name)) for name in self._keys)
        start, end = np.searchsorted(first, bound[0], "left"), np.searchsorted(first, bound[0], "right")
        return int(start + np.searchsorted(second[start:end], bound[1], "left"))
