"""TiCDC's storage sink: where a changefeed's files are.

Each table is a topic of one partition, so its rows come to one task in order; ``pipeline.deliver.file_delivery`` makes
their files, the writer that :meth:`StorageSink.open` returns takes whole ones: schema files, and the last checkpoint. A
storage that fails is an error, never a missing file, which would get written. So :class:`ObjectFolder` asks no method
of fsspec that answers "no" to every failure (``isfile``) or leaves out what it cannot list (``find``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.secrets import Secret
from ticdc_emit.config.storage import MAX_BYTES
from ticdc_emit.delivery.base import PartitionBatch, TaskWriter
from ticdc_emit.delivery.object_storage import ObjectStorage
from ticdc_emit.storage.files import FileRules
from ticdc_emit.storage.folder import Data, Folder, MemoryFolder
from ticdc_emit.storage.paths import METADATA

T = TypeVar("T")


class ObjectFolder:
    """A :class:`~ticdc_emit.storage.folder.Folder` under a storage URI. Used by one thread."""

    def __init__(self, storage: ObjectStorage) -> None:
        self._storage = storage
        self._uri = storage.storage

    @cached_property
    def _files(self) -> Any:
        return self._storage.files()

    def exists(self, path: str) -> bool:
        def is_file(files: Any, whole: str) -> bool:
            with suppress(FileNotFoundError):
                return bool(files.info(whole)["type"] == "file")
            return False

        return self._ask(is_file, "cannot look for a file", path)

    def read(self, path: str) -> bytes:
        content: bytes = self._ask(lambda files, whole: files.cat_file(whole), "cannot read a file", path)
        return content

    def files(self, folder: str) -> list[str]:
        found = self._ask(self._below, "cannot list files", folder)
        first = len(self._path("")) + 1
        return sorted(path[first:] for path in found)

    def write(self, path: str, *parts: Data) -> None:
        self._storage.put({self._path(path): parts}, f"cannot write {path}")

    def _below(self, files: Any, path: str) -> list[str]:
        if self._uri.kind == "file":
            walk = os.walk(path or "/", onerror=_refuse_unless_missing)
            return [f"{folder.rstrip('/')}/{name}" for folder, _, names in walk for name in names]
        return list(files.find(path))

    def _ask(self, request: Callable[[Any, str], T], failure: str, path: str) -> T:
        """Return what a function of the file system gives, without listings of before: others write there too."""
        files, whole = self._files, self._path(path)
        files.invalidate_cache()
        return self._storage.attempt(lambda: request(files, whole), failure, f"{self._uri.location}/{path}")

    def _path(self, path: str) -> str:
        return f"{self._uri.root}/{path}".rstrip("/")


def _refuse_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


class NoFolder(MemoryFolder):
    """A folder that keeps nothing."""

    def write(self, path: str, *parts: Data) -> None:
        """Forget it."""


if TYPE_CHECKING:
    from typing import Self

OPTION = "sink-uri"
_BETWEEN = b"\0"


def as_message(files: Iterable[tuple[str, bytes]]) -> tuple[bytes, bytes]:
    """Return files that are written together as key and value of one message: names of TiDB and JSON have no NUL."""
    paths, contents = zip(*files, strict=True)
    return _BETWEEN.join(path.encode() for path in paths), _BETWEEN.join(contents)


def files_in(key: bytes | None, value: bytes | None) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a message."""
    paths, contents = (key or b"").decode().split("\0"), (value or b"").split(_BETWEEN)
    yield from zip(paths, contents, strict=True)


@dataclass(frozen=True)
class StorageSink:
    """Files under a storage URI, ``None`` for ``noop://``, by the ``rules`` of the changefeed."""

    uri: Secret[str] | None
    rules: FileRules

    @classmethod
    def of(cls, config: ChangefeedConfig) -> Self:
        """Return the sink of a changefeed; ``ConfigError`` without a bucket, or for an unknown parameter."""
        if config.sink_uri.scheme == "noop":
            return cls(None, FileRules.of(config))
        storage = config.sink_uri.storage
        ObjectStorage(storage, OPTION)  # refuses what is wrong
        return cls(storage, FileRules.of(config))

    def folder(self) -> Folder:
        """Return the folder of the files; it connects at the first use."""
        return NoFolder() if self.uri is None else ObjectFolder(ObjectStorage(self.uri, OPTION))

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        """Return one partition for each table; refuse a folder that cannot be reached before anything is written."""
        self.folder().exists(METADATA)
        return dict.fromkeys(topics, 1)

    def message_limit(self, topics: Iterable[str]) -> int:
        return MAX_BYTES

    def open(self, message_limit: int | None = None) -> WholeFilesWriter:
        return WholeFilesWriter(self.folder())


@dataclass(frozen=True)
class MemoryFilesSink(StorageSink):
    """A storage sink whose files are in the memory of this process, wherever its URI leads: in ``kept``."""

    kept: MemoryFolder = field(default_factory=MemoryFolder)

    def folder(self) -> Folder:
        return self.kept


class WholeFilesWriter(TaskWriter):
    """Writes the files of messages (:func:`as_message`). The checkpoint is the last one."""

    def __init__(self, folder: Folder) -> None:
        super().__init__(MAX_BYTES)
        self._folder = folder
        self._checkpoint: bytes | None = None

    def check_target(self, topic: str, partition: int) -> None:
        """Every table has a place."""

    def enqueue(self, batch: PartitionBatch) -> None:
        for key, value in zip(batch.keys, batch.values, strict=True):
            for path, content in files_in(key, value):
                if path == METADATA:
                    self._checkpoint = content
                else:
                    self._folder.write(path, content)

    def settle(self) -> None:
        if self._checkpoint is not None:
            self._folder.write(METADATA, self._checkpoint)
            self._checkpoint = None

    def release(self, failed: bool) -> None:
        self._checkpoint = None
