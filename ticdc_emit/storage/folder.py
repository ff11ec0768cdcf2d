"""The place for a storage sink's files, by relative paths with ``/``; a file is written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

Data: TypeAlias = "bytes | memoryview"
"""Bytes of a file: as they are, or where an Arrow array has them."""


class Folder(Protocol):
    """A folder of a file system or a bucket; methods raise :class:`~ticdc_emit.errors.DeliveryError` if it fails."""

    def exists(self, path: str) -> bool:
        """Return whether there is a file."""

    def read(self, path: str) -> bytes:
        """Return a file's bytes."""

    def files(self, folder: str) -> Iterable[str]:
        """Return the paths of all files in a folder, and in those below it, in order; "" for the whole place."""

    def write(self, path: str, *parts: Data) -> None:
        """Write a file of these parts, or replace it."""


class Write(NamedTuple):
    """A file that was written."""

    path: str
    content: bytes


class MemoryFolder:
    """A :class:`Folder` in memory: ``contents`` by path, ``writes`` in order, also of files replaced later."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.writes: list[Write] = []

    def exists(self, path: str) -> bool:
        return path in self.contents

    def read(self, path: str) -> bytes:
        return self.contents[path]

    def files(self, folder: str) -> list[str]:
        return sorted(path for path in self.contents if not folder or path.startswith(f"{folder}/"))

    def write(self, path: str, *parts: Data) -> None:
        content = self.contents[path] = b"".join(parts)
        self.writes.append(Write(path, content))

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write the files below a directory of this machine, which is made if it is missing."""
        for path, content in self.contents.items():
            place = Path(directory, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
