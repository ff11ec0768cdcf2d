"""The folder of a storage sink, read as TiCDC's own storage consumer reads it.

Its files come as messages, by version; of one version schema files first, then by partition, date, table and number.
The topic of a message is the folder of its table, its key the place in the folder:

- ``…/CDC00000000000000000001.csv@3``: the fourth row of a file;
- ``…/meta/schema_VERSION_CHECKSUM.json``: a schema file: a statement or, without one, a table's columns;
- ``metadata``: the checkpoint, after what was there when it was read;
- the path of another file: one that cannot be read from there on.

Index files say which files with rows there are. What is newer than the checkpoint, and a file that an index names too
early, is left for later. Source: ``cmd/storage-consumer`` of pingcap/tiflow and pingcap/ticdc, ``CompareDMLPathKey`` of
pingcap/ticdc's ``pkg/cloudstorage/path_key.go``.

:func:`folder_findings` checks the files as a whole, also what is newer than the checkpoint:

- ``file-numbers``: an index file names the newest file with rows beside it, and all numbers from 1 to it exist. Older
  releases write the index first, so while a changefeed writes, or after a crash, an index may name a file that does not
  exist; newer ones write it last, so a file may be newer than its index.
- ``schema-files``: a folder with rows has the schema file of its version, without which CSV has no columns.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, groupby, islice
from operator import attrgetter

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.consume.invariants import Finding
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.stored_events import RowsFolder, checkpoint_of
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.storage_files import StorageSink
from ticdc_emit.errors import ConfigError, DeliveryError
from ticdc_emit.hints import counted
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.storage.files import EXTENSIONS
from ticdc_emit.storage.folder import Folder
from ticdc_emit.storage.paths import METADATA, FileNames, SchemaFile, joined, table_folder

_INDEX = re.compile(r"(?P<folder>.+)/meta/CDC(?:_(?P<dispatcher>\d+))?\.index")
_DIGITS = re.compile(r"(\d+)\.[a-z]+$")
_SCHEMA_FILE = -1
"""Where TiCDC sorts a schema file among the partitions of its version."""


@dataclass(frozen=True)
class IndexFile:
    """An index file, and the folder of the rows that it lists."""

    path: str
    rows: RowsFolder
    dispatcher: str

    @classmethod
    def parse(cls, path: str, tables: Container[str] = ()) -> IndexFile | None:
        """Return what an index file's path says, or ``None``. ``tables``: as in :meth:`RowsFolder.parse`."""
        found = _INDEX.fullmatch(path)
        rows = None if found is None else RowsFolder.parse(found["folder"], tables)
        return None if found is None or rows is None else cls(path, rows, found["dispatcher"] or "")

    @cached_property
    def folder(self) -> str:
        return self.path.rpartition("/meta/")[0]

    def newest(self, content: bytes, extension: str) -> tuple[FileNames, int]:
        """Return the form of names and the newest number. Raises :class:`~ticdc_emit.errors.DeliveryError`."""
        name = content.decode(errors="replace").removesuffix("\n")
        digits = _DIGITS.search(name)
        names = FileNames(extension, len(digits[1]) if digits else 0, self.dispatcher)
        return names, names.number(name)


@dataclass(frozen=True)
class _Place:
    """Where a file comes among the others; ``index``: that of rows, ``None`` for a schema file."""

    table: str
    version: int
    path: str
    index: IndexFile | None = None

    def order(self, *, dated: bool) -> tuple[int, int, str, int, list[str], str]:
        if self.index is None:
            return self.version, _SCHEMA_FILE, "", 0, self.table.split("/"), self.path
        is_id = "/" not in self.table and self.table.isdecimal()
        table_id, names = (int(self.table), []) if is_id else (0, self.table.split("/"))
        return self.version, *self.index.rows.partition_and_date(dated=dated), table_id, names, self.path


@dataclass(frozen=True)
class _File:
    """A file to read. ``number``: 0 for one without rows."""

    table: str
    path: str
    index: str = ""
    number: int = 0


@dataclass
class _Progress:
    """What was read: the newest number by index file; other files, with contents that may change; messages by topic."""

    numbers: dict[str, int] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)


class FolderReader:
    """Reads a storage sink's folder, and later what was added. A file that was read once is not read again.
    ``waiting``: how many schema and index files are left, because their versions are newer than the checkpoint.

    ``folder``: where the files are; default: as in the changefeed's sink URI. ``skips_missing``: read on after a file
    that is missing. Raises :class:`~ticdc_emit.errors.ConfigError`.
    """

    def __init__(self, config: ChangefeedConfig, folder: Folder | None = None, *, skips_missing: bool = False) -> None:
        if config.storage is None:
            raise ConfigError(
                "the sink URI is not one of a storage sink", remedy="Give file://, s3:// ...", option="sink-uri"
            )
        self._skips_missing = skips_missing
        self._dated = config.storage.date_separator != "none"
        self._extension = EXTENSIONS[config.codec.protocol.value]
        self._folder = StorageSink.of(config).folder() if folder is None else folder
        self._reader = reader_for(config)
        self._progress = _Progress()
        self.waiting = 0

    def checkpoint(self) -> int | None:
        """Return the TSO up to which every change is in files, ``None`` before the first one is written. Raises
        :class:`~ticdc_emit.protocols.events.DecodeError`, :class:`~ticdc_emit.errors.DeliveryError`.
        """
        metadata = self._metadata()
        return checkpoint_of(metadata) if metadata else None

    def read(self, *, newest: int | None = None) -> Iterator[Message]:
        """Yield what was not read before. ``newest``: at most so many rows and statements of each table, the last ones.

        A damaged file comes as a message that cannot be read, after its whole rows. Raises
        :class:`~ticdc_emit.errors.DeliveryError` where the storage fails, and for a missing file below the newest one.
        """
        metadata = self._metadata()
        files = self._new_files(metadata)
        if newest is None:
            for each in files:
                yield from self._messages(each)
        else:
            by_table = sorted(files, key=attrgetter("table"))
            for _, own in groupby(by_table, key=attrgetter("table")):
                yield from self._newest(list(own), newest)
        if metadata and self._progress.files.get(METADATA) != metadata:
            self._progress.files[METADATA] = metadata
            yield self._message(METADATA, METADATA, metadata)

    def schema_files(self) -> Iterator[Message]:
        """Yield the schema files up to the checkpoint, also those that were read."""
        metadata = self._metadata()
        for place in self._places(metadata):
            if place.index is None:
                yield Message(place.table, 0, 0, place.path.encode(), self._folder.read(place.path))

    def _metadata(self) -> bytes:
        return self._folder.read(METADATA) if self._folder.exists(METADATA) else b""

    def _places(self, metadata: bytes) -> list[_Place]:
        try:
            checkpoint = checkpoint_of(metadata) if metadata else None
        except DecodeError:
            checkpoint = None  # the message of the file says it
        paths = list(self._folder.files(""))
        places = [_Place(table_folder(path), file.version, path) for path in paths if (file := SchemaFile.parse(path))]
        tables = {place.table for place in places}
        for index in filter(None, (IndexFile.parse(path, tables) for path in paths)):
            places.append(_Place(index.rows.table, index.rows.version, index.path, index))
        now = [each for each in places if checkpoint is None or each.version <= checkpoint]
        self.waiting = len(places) - len(now)
        return sorted(now, key=lambda place: place.order(dated=self._dated))

    def _new_files(self, metadata: bytes) -> list[_File]:
        files: list[_File] = []
        for place in self._places(metadata):
            if place.index is not None:
                files += self._files_of(place.index)
            elif place.path not in self._progress.files:
                files.append(_File(place.table, place.path))
        return files

    def _files_of(self, index: IndexFile) -> Iterator[_File]:
        content = self._folder.read(index.path)
        try:
            names, newest = index.newest(content, self._extension)
        except DeliveryError:
            if self._progress.files.get(index.path) != content:
                yield _File(index.rows.table, index.path)
            return
        done = self._progress.numbers.get(index.path, 0)
        if newest <= done:
            return
        # listed after the index was read, as files may come meanwhile
        present = names.numbers(path[len(index.folder) + 1 :] for path in self._folder.files(index.folder))
        missing = next(number for number in count(done + 1) if number not in present)
        if missing < newest and not self._skips_missing:  # the newest alone may follow its index
            raise DeliveryError(
                f"{index.path} names {names.name(newest)}, but {names.name(missing)} is missing",
                remedy="Restore the file and those after it. If they never existed, the index file is damaged: "
                "write the newest existing file's name into it",
                path=index.folder,
            )
        for number in sorted(each for each in present if done < each <= newest):
            yield _File(index.rows.table, joined(index.folder, names.name(number)), index.path, number)

    def _newest(self, files: Sequence[_File], most: int) -> Iterator[Message]:
        kept: deque[Message] = deque()
        for each in reversed(files):
            if len(kept) < most:
                kept.extendleft(reversed(list(self._messages(each))))
            else:
                self._pass(each, b"")
        yield from [*kept][max(len(kept) - most, 0) :]

    def _messages(self, file: _File) -> Iterator[Message]:
        content = self._folder.read(file.path)
        self._pass(file, content)
        if not file.number:
            yield self._message(file.table, file.path, content)
            return
        try:
            for row, record in enumerate(self._reader.records(content)):
                yield self._message(file.table, f"{file.path}@{row}", record)
        except DecodeError:
            yield self._message(file.table, file.path, content)

    def _pass(self, file: _File, content: bytes) -> None:
        if file.number:
            self._progress.numbers[file.index] = max(file.number, self._progress.numbers.get(file.index, 0))
        else:
            self._progress.files[file.path] = content

    def _message(self, topic: str, place: str, value: bytes) -> Message:
        offset = self._progress.offsets.get(topic, 0)
        self._progress.offsets[topic] = offset + 1
        return Message(topic, 0, offset, place.encode(), value)


FILE_NUMBERS, SCHEMA_FILES = "file-numbers", "schema-files"
_MOST_NAMED = 3


def folder_findings(config: ChangefeedConfig, folder: Folder) -> Iterator[Finding]:
    """Yield what is wrong with the files of a folder as a whole. Raises :class:`~ticdc_emit.errors.DeliveryError`."""
    extension = EXTENSIONS[config.codec.protocol.value]
    paths = sorted(folder.files(""))
    versions = {(table_folder(path), schema.version) for path in paths if (schema := SchemaFile.parse(path))}
    tables = {table for table, _ in versions}
    rows_by_folder: dict[str, set[str]] = {}
    for path in paths:
        place, _, name = path.rpartition("/")
        if name.startswith("CDC") and name.endswith(extension):
            rows_by_folder.setdefault(place, set()).add(name)
    for path in paths:
        index = IndexFile.parse(path, tables)
        if index is None:
            continue
        try:
            names, newest = index.newest(folder.read(path), extension)
        except DeliveryError:
            continue
        numbers = names.numbers(rows_by_folder.get(index.folder, set()))
        rows_by_folder.get(index.folder, set()).difference_update(map(names.name, numbers))
        yield from _of_index(index, names, newest, numbers)
        if (index.rows.table, index.rows.version) not in versions:
            text = f"there are rows of version {index.rows.version}, and no schema file of it"
            yield _finding(SCHEMA_FILES, text, index.rows.table, path)
    for place, left in rows_by_folder.items():
        for name in sorted(left):
            text = "no index file covers the file: readers do not see it"
            yield _finding(FILE_NUMBERS, text, place, f"{place}/{name}")


def _of_index(index: IndexFile, names: FileNames, newest: int, numbers: set[int]) -> Iterator[Finding]:
    if newest not in numbers:
        text = f"the index names {names.name(newest)}, which does not exist"
        yield _finding(FILE_NUMBERS, text, index.rows.table, index.path)
    missing = newest - 1 - sum(0 < number < newest for number in numbers)  # a damaged index may name any number
    if missing > 0:
        first = islice((number for number in count(1) if number not in numbers), min(missing, _MOST_NAMED))
        shown = ", ".join(map(names.name, first)) + (", …" if missing > _MOST_NAMED else "")
        text = f"{counted(missing, 'file')} below the newest one {'is' if missing == 1 else 'are'} missing"
        yield _finding(FILE_NUMBERS, f"{text}: {shown}", index.rows.table, index.path)
    for number in sorted(each for each in numbers if each > newest):
        text = f"the file is newer than {names.name(newest)}, which the index names: readers do not see it"
        yield _finding(FILE_NUMBERS, text, index.rows.table, f"{index.folder}/{names.name(number)}")


def _finding(invariant: str, text: str, table: str, path: str) -> Finding:
    return Finding(invariant, text, table, 0, stored_at=path)
