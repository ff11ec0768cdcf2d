"""Loaders of a storage sink's files that are wrong in one thing each: what scenarios of files must find out.

A :class:`Loader` is right. Each subclass believes one thing that is not so, and says it in its name.
"""

from __future__ import annotations

import re
from typing import Any

from naive_consumer import NaiveConsumer, Row

from ticdc_emit.consume.readers import reader_for
from ticdc_emit.delivery.base import Message
from ticdc_emit.protocols.events import DdlEvent, RowEvent
from ticdc_emit.storage import MemoryFolder
from ticdc_emit.traffic.scenarios.files import FileScenario

_SCHEMA = re.compile(r"(?P<table>.+)/meta/schema_(?P<version>\d+)_(?P<checksum>\d+)\.json")
_INDEX = re.compile(r"(?P<table>[^/]+/[^/]+)/(?P<version>\d+)(?P<inner>/.*)?/meta/CDC\.index")


class Loader(NaiveConsumer):
    """Reads what is new in the files, by version, and drops rows that are older than what it has of their key.

    ``numbers``: the last file by folder. ``seen``: schema files that were read.
    """

    def __init__(self, scenario: FileScenario) -> None:
        super().__init__(scenario)  # type: ignore[arg-type]
        self.numbers: dict[Any, int] = {}
        self.seen: set[str] = set()
        self.newest: dict[Any, int] = {}

    def make_reader(self) -> Any:
        return reader_for(self.scenario.config)

    def load_all(self) -> None:
        folder = MemoryFolder()
        for stage in self.scenario.stages:  # type: ignore[attr-defined]
            stage.write(folder)
            self.load(folder)

    def load(self, folder: MemoryFolder) -> None:
        found = []
        for path in folder.files(""):
            for is_index, place in enumerate((_SCHEMA.fullmatch(path), _INDEX.fullmatch(path))):
                if place is not None:
                    found.append((int(place["version"]), is_index, path, place))
        for _, is_index, path, place in sorted(found, key=lambda each: each[:3]):
            if is_index:
                self.files(folder, place)
            elif self.is_new(path, place["checksum"]):
                self.take(Message(place["table"], 0, 0, path.encode(), folder.read(path)))

    def is_new(self, path: str, checksum: str) -> bool:
        known = path in self.seen
        self.seen.add(path)
        return not known

    def files(self, folder: MemoryFolder, place: re.Match[str]) -> None:
        name = folder.read(place[0]).decode().strip()
        newest, counter = int(name[3:].partition(".")[0]), self.counter(place)
        for number in range(self.numbers.get(counter, 0) + 1, newest + 1):
            path = f"{place[0].removesuffix('/meta/CDC.index')}/CDC{number:020d}.{name.partition('.')[2]}"
            if not folder.exists(path) and self.waits():
                return
            self.numbers[counter] = number
            if folder.exists(path):
                for row, record in enumerate(self.reader.records(folder.read(path))):
                    self.take(Message(place["table"], 0, row, f"{path}@{row}".encode(), record))

    def counter(self, place: re.Match[str]) -> Any:
        return place[0]

    def waits(self) -> bool:
        """Return whether to wait for a file that an index names."""
        return True

    def wants(self, event: RowEvent, message: Message) -> bool:
        return self.has_table(event) and self.is_newest(event)

    def has_table(self, event: RowEvent) -> bool:
        return (event.schema, event.table) in self.rows

    def is_newest(self, event: RowEvent) -> bool:
        info = self.catalog.table(event.schema, event.table)
        row = self.text(event, event.after if event.after is not None else event.before, info) or {}
        key = event.schema, event.table, *(row[column.name] for column in info.whole_handle_key)
        commit = event.commit_ts or 0
        if commit < self.newest.get(key, 0):
            return False
        self.newest[key] = commit
        return True

    def run(self, event: DdlEvent) -> None:
        super().run(event)
        if event.query.upper().startswith("TRUNCATE"):
            self.rows[event.schema, event.table].clear()


class IndexedFilesAreThere(Loader):
    def waits(self) -> bool:
        return False


class KnownChecksumsAreOld(Loader):
    def is_new(self, path: str, checksum: str) -> bool:
        return super().is_new(f"{path.partition('/meta/')[0]} {checksum}", checksum)


class NumbersRiseInAVersion(Loader):
    def counter(self, place: re.Match[str]) -> Any:
        return place["table"], place["version"]


class CommitsRiseInATable(Loader):
    """``dropped``: keys of rows below the highest commit_ts of their table."""

    def is_newest(self, event: RowEvent) -> bool:
        name, commit = (event.schema, event.table), event.commit_ts or 0
        if commit < self.highest[name]:
            row = self.text(event, event.after, self.catalog.table(*name)) or {}
            self.dropped.append(row["id"])
            return False
        self.highest[name] = commit
        return True


class RowsComeOnce(Loader):
    def is_newest(self, event: RowEvent) -> bool:
        return True

    def apply(self, rows: list[Row], op: str, names: list[str], old_key: list[Any], after: Row | None) -> None:
        if op == "insert":
            rows.append(dict(after or {}))
        else:
            super().apply(rows, op, names, old_key, after)


class NewFilesAreNewer(Loader):
    def is_newest(self, event: RowEvent) -> bool:
        return True


class TablesOfFilesExist(Loader):
    def has_table(self, event: RowEvent) -> bool:
        return True
