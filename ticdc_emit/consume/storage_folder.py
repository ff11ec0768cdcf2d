"""The folder of a storage sink, read as TiCDC's own storage consumer reads it.

In: a folder (``storage.folder``) and the changefeed's configuration. Out: its rows and statements as messages, in an
order in which a consumer can apply them: by version; of one version the schema file first, then partitions, dates and
numbers (:class:`FolderReader`). A message of a statement has the path of its schema file as the key and the file as the
value; one of a row has no key. :class:`StoredEvents` makes events of them, so the reference consumer and the invariants
take such messages like any others.

Index files say which files with rows there are. What is newer than the checkpoint is left for later; a file that an
index names and that is not there yet, too. Schema files whose checksum is not that in their name are refused. Source:
``cmd/storage-consumer`` of pingcap/tiflow and pingcap/ticdc.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.storage_files import StorageSink
from ticdc_emit.errors import ConfigError
from ticdc_emit.protocols.consumer_tables import Lookup, Tables
from ticdc_emit.protocols.decoder import EventReader, Part
from ticdc_emit.protocols.events import DdlEvent, DecodeError, Event, Image, RowEvent, document, member
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.storage.files import EXTENSIONS
from ticdc_emit.storage.folder import Folder
from ticdc_emit.storage.paths import METADATA, FileNames, SchemaFile, joined
from ticdc_emit.storage.table_definitions import checksum_of

_INDEX = re.compile(
    r"(?P<table>.+?)/(?P<version>\d{10,})(?P<inner>(?:/[^/]+){0,2})/meta/CDC(?:_(?P<dispatcher>\d+))?\.index"
)
"""A TSO has more digits than the id of a partition."""
_DIGITS = re.compile(r"(\d+)\.[a-z]+$")


class _Place(NamedTuple):
    """Where a file comes among the others. ``inner``: partition and date, "" for a schema file."""

    version: int
    inner: str
    path: str


class FolderReader:
    """Reads a storage sink's folder, and later what was added. A file that was read once is not read again."""

    def __init__(self, config: ChangefeedConfig, folder: Folder, reader: EventReader) -> None:
        self._extension = EXTENSIONS[config.codec.protocol.value]
        self._folder = folder
        self._reader = reader
        self._done: dict[str, int] = {}
        self._offsets: dict[str, int] = {}

    @classmethod
    def of(cls, config: ChangefeedConfig) -> FolderReader:
        """Return the reader of the folder in a changefeed's sink URI.

        Raises :class:`~ticdc_emit.errors.ConfigError` for one that is not a storage sink.
        """
        from ticdc_emit.consume.readers import reader_for  # which needs this module

        if config.storage is None:
            raise ConfigError(
                "the sink URI is not one of a storage sink", remedy="Give file://, s3:// ...", option="sink-uri"
            )
        return cls(config, StorageSink.of(config).folder(), reader_for(config))

    def checkpoint(self) -> int | None:
        """Return the TSO up to which every change is in files; ``None`` before the first one is written."""
        if not self._folder.exists(METADATA):
            return None
        return member(document(self._folder.read(METADATA), METADATA), "checkpoint-ts", int)

    def read(self) -> Iterator[Message]:
        """Yield what was not read before. Raises :class:`~ticdc_emit.protocols.events.DecodeError` for a damaged file,
        and :class:`~ticdc_emit.errors.DeliveryError` where the storage fails.
        """
        checkpoint = self.checkpoint()
        places = []
        for path in self._folder.files(""):
            schema, index = SchemaFile.parse(path), _INDEX.fullmatch(path)
            if schema is not None:
                places.append(_Place(schema.version, "", path))
            elif index is not None:
                places.append(_Place(int(index["version"]), f"/{index['inner']}", path))
        for place in sorted(places):
            if checkpoint is None or place.version <= checkpoint:
                yield from self._schema(place.path) if not place.inner else self._rows(place.path)

    def _schema(self, path: str) -> Iterator[Message]:
        if path in self._done:
            return
        content = self._folder.read(path)
        shown = document(content, path)
        named = SchemaFile.parse(path)
        if named is None or checksum_of(shown) != named.checksum:
            raise DecodeError("the checksum in the name of a schema file is not that of its columns", path=path)
        self._done[path] = 0
        if member(shown, "Query", str):
            table = joined(member(shown, "Schema", str), member(shown, "Table", str))
            yield self._message(table, path.encode(), content)

    def _rows(self, index: str) -> Iterator[Message]:
        found = _INDEX.fullmatch(index)
        assert found is not None
        newest = self._folder.read(index).decode(errors="replace").removesuffix("\n")
        digits = _DIGITS.search(newest)
        names = FileNames(self._extension, len(digits[1]) if digits else 0, found["dispatcher"] or "")
        folder = index.rpartition("/meta/")[0]
        for number in range(self._done.get(index, 0) + 1, names.number(newest) + 1):
            path = joined(folder, names.name(number))
            if not self._folder.exists(path):
                if number == names.number(newest):
                    return  # the index was written first
                continue  # somebody removed it
            for record in self._reader.records(self._folder.read(path)):
                yield self._message(found["table"], None, record)
            self._done[index] = number

    def _message(self, topic: str, key: bytes | None, value: bytes) -> Message:
        offset = self._offsets.get(topic, 0)
        self._offsets[topic] = offset + 1
        return Message(topic, 0, offset, key, value)


class StoredEvents(EventReader):
    """A reader of the messages of :class:`FolderReader`, and of those that the pipeline sends to a storage sink: rows
    are the protocol's, which ``rows`` reads.
    """

    def __init__(self, rows: EventReader) -> None:
        self._rows = rows

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        if not key:
            return self._rows.read(None, value)
        shown = document(value or b"", "value")
        return DdlEvent(
            member(shown, "Query", str),
            member(shown, "TableVersion", int),
            member(shown, "Schema", str),
            member(shown, "Table", str),
            message=shown,
        )

    def parts(self, key: bytes | None, value: bytes | None) -> Sequence[Part]:
        return ((key, value),) if key else self._rows.parts(None, value)

    def records(self, data: bytes) -> Iterator[bytes]:
        return self._rows.records(data)

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        return self._rows.image(event, image, table)

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        return self._rows.key_names(event)

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        return self._rows.content(event, None, value)

    def make_tables(self, catalog: Catalog, zone: str, lookup: Lookup | None) -> Tables:
        return self._rows.make_tables(catalog, zone, lookup)
