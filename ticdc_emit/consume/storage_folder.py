"""The folder of a storage sink, read as TiCDC's own storage consumer reads it.

In: a folder (``storage.folder``) and the changefeed's configuration. Out: what is in its files, as messages, in an
order in which a consumer can apply them: by version; of one version the schema files first, then by partition, date,
table and number (:class:`FolderReader`). The topic of a message is the folder of its table, its key the place in the
folder:

- ``…/CDC00000000000000000001.csv@3``: the fourth row of a file;
- ``…/meta/schema_VERSION_CHECKSUM.json``: a schema file: a statement or, without one, a table's columns;
- ``metadata``: the checkpoint, after what was there when it was read;
- the path of another file: one that cannot be read from there on.

:class:`StoredEvents` makes events of them, so the reference consumer, ``tail`` and the invariants take such messages
like any others. It names the fields of CSV by the schema file of their folder.

Index files say which files with rows there are. What is newer than the checkpoint is left for later; a file that an
index names and that is not there yet, too. Schema files whose checksum is not that in their name are refused. Source:
``cmd/storage-consumer`` of pingcap/tiflow and pingcap/ticdc, ``CompareDMLPathKey`` of pingcap/ticdc's
``pkg/cloudstorage/path_key.go``.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, groupby
from operator import attrgetter
from typing import NamedTuple

from ticdc_emit.config import ChangefeedConfig, Protocol
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.storage_files import StorageSink
from ticdc_emit.errors import ConfigError, DeliveryError
from ticdc_emit.protocols.consumer_tables import Lookup, Tables
from ticdc_emit.protocols.decoder import EventReader
from ticdc_emit.protocols.events import (
    BootstrapEvent,
    DdlEvent,
    DecodeError,
    Event,
    Image,
    RowEvent,
    WatermarkEvent,
    as_decode_error,
    document,
    member,
)
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.types import LABEL_TYPES
from ticdc_emit.storage.files import EXTENSIONS
from ticdc_emit.storage.folder import Folder
from ticdc_emit.storage.paths import METADATA, FileNames, SchemaFile, joined, table_folder
from ticdc_emit.storage.table_definitions import checksum_of, table_of

_TSO = re.compile(r"(?P<table>.+)/(?P<version>\d{10,})(?P<inner>(?:/[^/]+){0,2})")
"""A TSO of our days has more digits than the id of a partition, so it is the last name of so many digits."""
_INDEX = re.compile(r"(?P<folder>.+)/meta/CDC(?:_(?P<dispatcher>\d+))?\.index")
_ROW = re.compile(r"(?P<folder>.+)/CDC[^/]*@\d+")
_DIGITS = re.compile(r"(\d+)\.[a-z]+$")
_MOST_BELOW_TABLE = 3
_SCHEMA_FILE = -1
"""Where TiCDC sorts a schema file among the partitions of its version."""


class RowsFolder(NamedTuple):
    """A folder of rows. ``table``: the folder of the table; ``inner``: those of partition and date below the version,
    with a slash before each.
    """

    table: str
    version: int
    inner: str

    @classmethod
    def parse(cls, path: str, tables: Container[str]) -> RowsFolder | None:
        """Return what a path says; ``None`` if it has no version.

        ``tables``: the folders of tables that have schema files. Below another folder a version is only found if it is
        a TSO of our days.
        """
        names = path.split("/")
        for below in range(1, min(_MOST_BELOW_TABLE, len(names) - 1) + 1):
            table, version = "/".join(names[:-below]), names[-below]
            if table in tables and version.isdecimal():
                return cls(table, int(version), path[len(table) + 1 + len(version) :])
        found = _TSO.fullmatch(path)
        return None if found is None else cls(found["table"], int(found["version"]), found["inner"])

    def partition_and_date(self, *, dated: bool) -> tuple[int, str]:
        """Return the id of the partition, 0 without one, and the date, "" without one.

        ``dated``: whether the changefeed has folders of dates.
        """
        names = self.inner.split("/")[1:]
        date = names.pop() if dated and names else ""
        return int(names[0]) if names and names[0].isdecimal() else 0, date


@dataclass(frozen=True)
class IndexFile:
    """An index file, and the folder of the rows that it lists."""

    path: str
    rows: RowsFolder
    dispatcher: str

    @classmethod
    def parse(cls, path: str, tables: Container[str] = ()) -> IndexFile | None:
        """Return what a path says; ``None`` if it is not that of an index file. ``tables``: as in
        :meth:`RowsFolder.parse`.
        """
        found = _INDEX.fullmatch(path)
        rows = None if found is None else RowsFolder.parse(found["folder"], tables)
        return None if found is None or rows is None else cls(path, rows, found["dispatcher"] or "")

    @cached_property
    def folder(self) -> str:
        """The folder of the rows."""
        return self.path.rpartition("/meta/")[0]

    def newest(self, content: bytes, extension: str) -> tuple[FileNames, int]:
        """Return how the files are named, and the number of the newest one. Raises
        :class:`~ticdc_emit.errors.DeliveryError` for a content that names no such file.
        """
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
        """Return what TiCDC sorts by: version, partition, date, table."""
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
    """What was read. ``numbers``: the newest number by index file; ``files``: schema files and unreadable ones, with
    their contents where these may change; ``offsets``: the number of messages by topic.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)


class FolderReader:
    """Reads a storage sink's folder, and later what was added. A file that was read once is not read again.

    ``waiting``: how many schema and index files were left at the last reading, because their versions are newer than
    the checkpoint.
    """

    def __init__(self, config: ChangefeedConfig, folder: Folder, reader: EventReader, *, skips_missing: bool) -> None:
        assert config.storage is not None
        self._skips_missing = skips_missing
        self._dated = config.storage.date_separator != "none"
        self._extension = EXTENSIONS[config.codec.protocol.value]
        self._folder = folder
        self._reader = reader
        self._progress = _Progress()
        self.waiting = 0

    @classmethod
    def of(cls, config: ChangefeedConfig, folder: Folder | None = None, *, skips_missing: bool = False) -> FolderReader:
        """Return the reader of a changefeed's files. ``folder``: where they are; default: the one in its sink URI.
        ``skips_missing``: read on after a file that is missing, for a reader that looks at what is there.

        Raises :class:`~ticdc_emit.errors.ConfigError` for a sink URI that is not one of a storage sink.
        """
        from ticdc_emit.consume.readers import reader_for  # which needs this module

        if config.storage is None:
            raise ConfigError(
                "the sink URI is not one of a storage sink", remedy="Give file://, s3:// ...", option="sink-uri"
            )
        where = StorageSink.of(config).folder() if folder is None else folder
        return cls(config, where, reader_for(config), skips_missing=skips_missing)

    def checkpoint(self) -> int | None:
        """Return the TSO up to which every change is in files; ``None`` before the first one is written.

        Raises :class:`~ticdc_emit.protocols.events.DecodeError` for a file that is not a checkpoint, and
        :class:`~ticdc_emit.errors.DeliveryError` where the storage fails.
        """
        metadata = self._metadata()
        return _checkpoint(metadata) if metadata else None

    def read(self, *, newest: int | None = None) -> Iterator[Message]:
        """Yield what was not read before. ``newest``: at most so many rows and statements of each table, the last ones;
        older ones count as read.

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
        """Return the file of the checkpoint; nothing before the first one is written."""
        return self._folder.read(METADATA) if self._folder.exists(METADATA) else b""

    def _places(self, metadata: bytes) -> list[_Place]:
        try:
            checkpoint = _checkpoint(metadata) if metadata else None
        except DecodeError:
            checkpoint = None  # the message of the file says it
        paths = list(self._folder.files(""))
        places = [
            _Place(table_folder(path), schema.version, path) for path in paths if (schema := SchemaFile.parse(path))
        ]
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

    def _newest(self, files: Sequence[_File], count: int) -> Iterator[Message]:
        kept: deque[Message] = deque()
        for each in reversed(files):
            if len(kept) < count:
                kept.extendleft(reversed(list(self._messages(each))))
            else:
                self._pass(each, b"")
        yield from [*kept][max(len(kept) - count, 0) :]

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


def _checkpoint(metadata: bytes) -> int:
    return member(document(metadata, METADATA), "checkpoint-ts", int)


class StoredEvents(EventReader):
    """A reader of the messages of :class:`FolderReader`, and of those that the pipeline sends to a storage sink: rows
    are the protocol's, which ``rows`` reads.
    """

    def __init__(self, rows: EventReader, protocol: Protocol) -> None:
        self._rows = rows
        self._protocol = protocol
        self._tables: dict[tuple[str, str, int], TableInfo] = {}
        self._folders: set[str] = set()

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        place = (key or b"").decode(errors="replace")
        if place == METADATA:
            return WatermarkEvent(_checkpoint(value or b""))
        (path, *_), (content, *_) = place.split("\0"), (value or b"").split(b"\0")  # a statement may write two
        named = SchemaFile.parse(path)
        if named is not None:
            return self._schema(path, named, content)
        found = _ROW.fullmatch(place)
        if found is None and "/" in place:
            self._refuse(place, value or b"")
        event = self._rows.read(None, value)
        rows = None if found is None else RowsFolder.parse(found["folder"], self._folders)
        if rows is None or not isinstance(event, RowEvent):
            return event
        table = self._tables.get((event.schema, event.table, rows.version))
        return replace(event if table is None else self._rows.named(event, table), schema_version=rows.version)

    def _schema(self, path: str, named: SchemaFile, content: bytes) -> Event:
        self._folders.add(table_folder(path))
        shown = document(content, "value")
        if checksum_of(shown) != named.checksum:
            raise DecodeError("the checksum in the name of a schema file is not that of its columns", path=path)
        version = member(shown, "TableVersion", int)
        if version != named.version:
            raise DecodeError(f"the version in the name of a schema file is not its own, {version}", path=path)
        schema, name = member(shown, "Schema", str), member(shown, "Table", str)
        with as_decode_error:
            table = table_of(shown)
        if table is not None:
            self._tables[schema, name, version] = table
        query = member(shown, "Query", str)
        if query:
            return DdlEvent(query, version, schema, name, message=shown)
        return BootstrapEvent(schema, name, version, message=shown)

    def _refuse(self, path: str, content: bytes) -> None:
        if path.endswith(".index"):
            named = content.decode(errors="replace").strip()
            raise DecodeError(
                f"the index names {named!r:.100}, which is not a file with rows of {self._protocol}",
                remedy="Check that the protocol is the changefeed's. If it is, the index file is damaged",
            )
        for _ in self._rows.records(content):
            """Its whole rows came before."""

    def stored_at(self, key: bytes | None) -> str:
        place = (key or b"").decode(errors="replace")
        return place if "/" in place or place == METADATA else ""

    def records(self, data: bytes) -> Iterator[bytes]:
        return self._rows.records(data)

    def learn(self, key: bytes | None, value: bytes | None) -> None:
        self.read(key, value)

    def knows(self, event: RowEvent) -> bool:
        return event.schema_version is None or (event.schema, event.table, event.schema_version) in self._tables

    def _image(self, event: RowEvent, image: Image, table: TableInfo | None) -> dict[str, str | None]:
        shown = self._rows.image(event, image, self._shown(event, image) if table is None else table)
        assert shown is not None
        return shown

    def _shown(self, event: RowEvent, image: Image) -> TableInfo | None:
        """Return the table as its schema file shows it, if that has what the protocol needs."""
        table = self._tables.get((event.schema, event.table, event.schema_version or 0))
        if table is None or not image.keys() <= {column.name for column in table.columns}:
            return None
        lacks_labels = any(column.type in LABEL_TYPES and not column.elems for column in table.columns)
        return None if lacks_labels and self._protocol.spec.numbers_labels else table

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        names = self._rows.key_names(event)
        table = self._tables.get((event.schema, event.table, event.schema_version or 0))
        if names or table is None:
            return names
        names = tuple(column.name for column in table.columns if column.is_primary_key)
        shown = event.after if event.after is not None else event.before or {}
        return names if shown.keys() >= set(names) else ()  # fields without names

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        return self._rows.content(event, None, value)

    def make_tables(self, catalog: Catalog, zone: str, lookup: Lookup | None) -> Tables:
        return self._rows.make_tables(catalog, zone, lookup)
