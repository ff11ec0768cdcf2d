"""Messages that stay on their machine, between tasks that share it.

In: the messages of a chunk, in the encoding task. Out: their place in a file; in the delivering task, the messages
again, mapped into memory. A shuffle would compress them and copy them through the sockets of a JVM, twice. A file that
is read at once stays in the system's page cache, and costs a fifth of that. So that it does stay there, the files of a
batch have a bound. Messages beyond it are shuffled, as are those of small chunks. Whoever gives the folder removes it
when the batch is over.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import pyarrow as pa

from ticdc_emit.errors import TemporaryFileError

__all__ = ["ChunkFile", "ChunkFolder", "Place", "mapped"]

_SMALL_BYTES = 64 * 1024  # of messages, for which a file does not pay
_LOOK_BYTES = 64 * 1024 * 1024  # after which a task looks again at what all of them have written
_NAME_BYTES = 12
_WRITE = pa.ipc.IpcWriteOptions(use_threads=False)


class Place(NamedTuple):
    """A stretch of a file, in bytes: an Arrow IPC stream."""

    file: str
    start: int
    length: int


@dataclass(frozen=True)
class ChunkFolder:
    """A folder for the files of one batch. ``most``: bytes that they may have together, or a little more."""

    path: str
    most: int


class ChunkFile:
    """The file of one encoding task, made when the first messages come. Without a folder, nothing is written."""

    def __init__(self, folder: ChunkFolder | None) -> None:
        self._folder = folder
        self._file: pa.NativeFile | None = None
        self._name = ""
        self._look_at = 0

    def place(self, messages: pa.RecordBatch) -> Place | None:
        """Write messages and return where they are; ``None`` if they are to be shuffled.

        A disk that refuses them is not used again: what is shuffled is compressed, and may fit.
        """
        if self._folder is None or messages.nbytes < _SMALL_BYTES:
            return None
        try:
            return self._written(self._folder, messages)
        except OSError:
            self._folder = None
            return None

    def _written(self, folder: ChunkFolder, messages: pa.RecordBatch) -> Place | None:
        if self._file is None:
            self._name = str(Path(folder.path, os.urandom(_NAME_BYTES).hex()))
            self._file = pa.OSFile(self._name, "wb")
        start = self._file.tell()
        if start >= self._look_at:
            self._look_at = start + _LOOK_BYTES
            if sum(file.stat().st_size for file in os.scandir(folder.path)) >= folder.most:
                self._folder = None
                return None
        with pa.ipc.new_stream(self._file, messages.schema, options=_WRITE) as stream:
            stream.write_batch(messages)
        return Place(self._name, start, self._file.tell() - start)

    def __enter__(self) -> ChunkFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()


def mapped(place: Place) -> pa.Buffer:
    """Return the bytes at a place. The file is open only while it is mapped.

    Raises :class:`~ticdc_emit.errors.TemporaryFileError` if the file is gone.
    """
    try:
        with pa.memory_map(place.file) as file:
            file.seek(place.start)
            return file.read_buffer(place.length)
    except OSError as error:
        raise TemporaryFileError(
            f"cannot read a temporary file: {error.strerror or error}",
            remedy="Run the batch again, and keep other programs from removing files of that folder",
            folder=str(Path(place.file).parent),
        ) from error
