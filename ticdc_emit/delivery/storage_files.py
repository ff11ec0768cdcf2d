"""TiCDC's storage sink: where a changefeed's files are.

In: a changefeed whose sink URI is one of :data:`~ticdc_emit.config.uri.STORAGE_SCHEMES`. Out: :class:`StorageSink`, a
picklable :class:`~ticdc_emit.delivery.base.Sink`: each table is a topic of one partition, so the rows of a table come
to one task in their order. ``pipeline.deliver.file_delivery`` gives these rows to
:class:`~ticdc_emit.storage.StorageFiles`; the writer that :meth:`StorageSink.open` returns takes the rest, files that
are whole already: schema files, and the checkpoint, of which only the last one is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.secrets import Secret
from ticdc_emit.config.storage import MAX_BYTES
from ticdc_emit.delivery.base import PartitionBatch, TaskWriter
from ticdc_emit.delivery.object_folder import NoFolder, ObjectFolder
from ticdc_emit.delivery.object_storage import ObjectStorage
from ticdc_emit.storage.files import FileRules
from ticdc_emit.storage.folder import Folder, MemoryFolder
from ticdc_emit.storage.paths import METADATA

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
        """Return the sink of a changefeed. Raises :class:`~ticdc_emit.errors.ConfigError` for a URI without a bucket
        and for parameters of the storage that this library does not act on.
        """
        if config.sink_uri.scheme == "noop":
            return cls(None, FileRules.of(config))
        storage = config.sink_uri.storage
        ObjectStorage(storage, OPTION)  # refuses what is wrong
        return cls(storage, FileRules.of(config))

    def folder(self) -> Folder:
        """Return the folder of the files; it connects at the first use."""
        return NoFolder() if self.uri is None else ObjectFolder(ObjectStorage(self.uri, OPTION))

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        """Return one partition for each table. Looks into the folder, so that one that cannot be reached is refused
        before anything is written.
        """
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
