"""Holds the checked blocks of a task until all are checked: in memory up to a limit, then on disk.

The messages of the first ones are made at once, for the engine that sends the rows works meanwhile; they take some
times the memory of their rows, so no more of it than an eighth. What is spilled loses its checked arrays and is read,
sorted out and checked again when its turn comes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import IO

import pyarrow as pa

from ticdc_emit.encode.blocks import Block, BlockReader, Made
from ticdc_emit.temporary import close_quietly, writing_temporary_files

__all__ = ["Spool"]

_MADE_SHARE = 8


class Spool:
    """A first-in first-out store of blocks, bounded to about ``limit`` bytes of memory."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: list[Block | Made] = []
        self._bytes = 0
        self._makes = True
        self._file: IO[bytes] | None = None
        self._writer: pa.RecordBatchStreamWriter | None = None

    def add(self, block: Block) -> None:
        """Keep a block; once one was spilled all later ones are, so that their order stays."""
        if self._writer is None and self._bytes + block.raw.nbytes <= self._limit:
            self._hold(block)
            return
        with writing_temporary_files():
            if self._writer is None:
                self._file = tempfile.TemporaryFile(prefix="ticdc-emit-")  # noqa: SIM115 - closed by __exit__
                options = pa.ipc.IpcWriteOptions(compression="lz4")
                self._writer = pa.ipc.new_stream(self._file, block.raw.schema, options=options)
            self._writer.write_batch(block.raw)

    def _hold(self, block: Block) -> None:
        if self._makes:
            made = Made.of(block)
            self._makes = self._bytes + made.nbytes <= self._limit // _MADE_SHARE
            if self._makes:
                self._held.append(made)
                self._bytes += made.nbytes
                return
        self._held.append(block)
        self._bytes += block.raw.nbytes

    def drain(self, reader: BlockReader) -> Iterator[Block | Made]:
        """Yield the blocks in their order, forgetting each."""
        while self._held:
            yield self._held.pop(0)
        if self._writer is None or self._file is None:
            return
        with writing_temporary_files():
            self._writer.close()
            self._file.seek(0)
        for raw in pa.ipc.open_stream(self._file):
            yield reader.read(raw)

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            close_quietly(self._file)
