"""Events of a storage sink's messages: rows are the protocol's, schema files and the checkpoint are read here."""

from __future__ import annotations

import re
from collections.abc import Container, Hashable, Iterator
from dataclasses import replace
from typing import NamedTuple

from ticdc_emit.config import Protocol
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
from ticdc_emit.storage.paths import METADATA, SchemaFile, table_folder
from ticdc_emit.storage.table_definitions import checksum_of, table_of

_TSO = re.compile(r"(?P<table>.+)/(?P<version>\d{10,})(?P<inner>(?:/[^/]+){0,2})")
"""A TSO of our days has more digits than the id of a partition, so it is the last name of so many digits."""
_ROW = re.compile(r"(?P<folder>.+)/CDC[^/]*@\d+")
_MOST_BELOW_TABLE = 3


class RowsFolder(NamedTuple):
    """A folder of rows: that of its table, the version, and those of partition and date, each after a slash."""

    table: str
    version: int
    inner: str

    @classmethod
    def parse(cls, path: str, tables: Container[str]) -> RowsFolder | None:
        """Return what a path says; ``None`` without a version, which is a TSO of our days below other ``tables``."""
        names = path.split("/")
        for below in range(1, min(_MOST_BELOW_TABLE, len(names) - 1) + 1):
            table, version = "/".join(names[:-below]), names[-below]
            if table in tables and version.isdecimal():
                return cls(table, int(version), path[len(table) + 1 + len(version) :])
        found = _TSO.fullmatch(path)
        return None if found is None else cls(found["table"], int(found["version"]), found["inner"])

    def partition_and_date(self, *, dated: bool) -> tuple[int, str]:
        """Return the id of the partition, 0 without one, and the date, "" if folders are not ``dated``."""
        names = self.inner.split("/")[1:]
        date = names.pop() if dated and names else ""
        return int(names[0]) if names and names[0].isdecimal() else 0, date


def checkpoint_of(metadata: bytes) -> int:
    """Return the TSO in a file of the checkpoint; :class:`DecodeError` for another content."""
    return member(document(metadata, METADATA), "checkpoint-ts", int)


class StoredEvents(EventReader):
    """Reads what a ``FolderReader`` gives, and what the pipeline sends to a storage sink; ``rows`` reads rows."""

    def __init__(self, rows: EventReader, protocol: Protocol) -> None:
        self._rows = rows
        self._protocol = protocol
        self._tables: dict[tuple[str, str, int], TableInfo] = {}
        self._folders: set[str] = set()

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        place = (key or b"").decode(errors="replace")
        if place == METADATA:
            return WatermarkEvent(checkpoint_of(value or b""))
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
