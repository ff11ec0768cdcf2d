"""Messages that stay on their machine, between tasks that share it.

In: the messages of a chunk, in the encoding task. Out: the name of a file with them; in the delivering task, the
messages again, mapped into memory. A shuffle would compress them and copy them through the sockets of a JVM, twice. A
file that is read at once stays in the system's page cache, and costs a fifth of that. So that it does stay there, the
files of a batch have a bound. Messages beyond it are shuffled, as are those of small chunks.

Where no task is tried a second time, a file is removed as it is read. Its memory is free as soon as its messages are
sent, and the log of a broker on the same machine grows into it: memory that a virtual machine has never used, or has
given back, costs many times as much. Whoever gives the folder removes what is left when the batch is over.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ticdc_emit.encode.error_json import unreadable
from ticdc_emit.errors import TemporaryFileError

__all__ = ["ChunkFiles", "ChunkFolder", "mapped", "taken"]

_SMALL_BYTES = 128 * 1024  # of messages, for which a file does not pay
_TALLY = "tally"  # the file in which all tasks count: a byte for each _TALLY_BYTES that they have written
_TALLY_BYTES = 64 * 1024
_NAME_BYTES = 12
_FILE_NAME = re.compile(r"[0-9a-f]+-[0-9]+")
_WRITE = pa.ipc.IpcWriteOptions(use_threads=False)


@dataclass(frozen=True)
class ChunkFolder:
    """A folder for the files of one batch. ``most``: bytes that they may have together, or a little more.

    ``read_once``: no task is tried a second time, so a file may go as it is read.
    """

    path: str
    most: int
    read_once: bool = False

    def file(self, name: str) -> str:
        """Return the path of a file that a chunk names. A chunk comes from elsewhere, so it may name no other file."""
        if _FILE_NAME.fullmatch(name) is None:
            raise unreadable(f"{name!r:.40} is not the name of a file of messages")
        return str(Path(self.path, name))

    def has_room(self, size: int) -> bool:
        """Return whether so many bytes may be written, and count them if so."""
        with Path(self.path, _TALLY).open("ab", buffering=0) as tally:
            if tally.tell() * _TALLY_BYTES >= self.most:
                return False
            tally.write(bytes(-(-size // _TALLY_BYTES)))
        return True


class ChunkFiles:
    """The files of one encoding task. Without a folder, there are none."""

    def __init__(self, folder: ChunkFolder | None) -> None:
        self._folder = folder
        self._name = os.urandom(_NAME_BYTES).hex()
        self._count = 0

    def keep(self, messages: pa.RecordBatch) -> str | None:
        """Write messages to a file and return its name; ``None`` if they are to be shuffled.

        A disk that refuses them is not used again: what is shuffled is compressed, and may fit.
        """
        if self._folder is None or messages.nbytes < _SMALL_BYTES:
            return None
        try:
            if self._folder.has_room(messages.nbytes):
                return self._new_file(self._folder, messages)
        except OSError:
            pass
        self._folder = None
        return None

    def _new_file(self, folder: ChunkFolder, messages: pa.RecordBatch) -> str:
        name = f"{self._name}-{self._count}"
        self._count += 1
        with (
            pa.OSFile(folder.file(name), "wb") as file,
            pa.ipc.new_stream(file, messages.schema, options=_WRITE) as stream,
        ):
            stream.write_batch(messages)
        return name


def mapped(path: str) -> pa.Buffer:
    """Return the content of a file. It is open only while it is mapped.

    Raises :class:`~ticdc_emit.errors.TemporaryFileError` if the file is gone.
    """
    try:
        with pa.memory_map(path) as file:
            return file.read_buffer()
    except OSError as error:
        raise TemporaryFileError(
            f"cannot read a temporary file: {error.strerror or error}",
            remedy="Run the batch again, and keep other programs from removing files of that folder",
            folder=str(Path(path).parent),
        ) from error


def taken(path: str) -> pa.Buffer:
    """Return the content of a file, as :func:`mapped` does, and remove the file: it lasts as long as its content."""
    content = mapped(path)
    with suppress(OSError):  # a system that keeps files while they are mapped
        Path(path).unlink()
    return content
