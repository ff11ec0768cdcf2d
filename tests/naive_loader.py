"""Loaders of a storage sink's files that are wrong in one thing each: what scenarios of files must find out.

A :class:`Loader` is right. Each subclass believes one thing that is not so, and says it in its name.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from ticdc_emit.check.naive import Naive
from ticdc_emit.delivery.base import Message
from ticdc_emit.protocols.events import RowEvent
from ticdc_emit.storage.folder import MemoryFolder
from ticdc_emit.traffic.scenarios.files import FileScenario

_SCHEMA = re.compile(r"(?P<table>.+)/meta/schema_(?P<version>\d+)_(?P<checksum>\d+)\.json")
_INDEX = re.compile(r"(?P<table>[^/]+/[^/]+)/(?P<version>\d+)(?P<inner>/.*)?/meta/CDC\.index")


class Loader(Naive):
    """Reads what is new in the files, by version, and drops rows that are older than what it has of their key.

    ``numbers``: the last file by folder. ``seen``: schema files that were read.
    """

    def __init__(self, scenario: FileScenario) -> None:
        super().__init__(SimpleNamespace(config=scenario.config, history=scenario.history, schemas=None))
        self.scenario = scenario
        self.numbers: dict[Any, int] = {}
        self.seen: set[str] = set()

    def load_all(self) -> None:
        folder = MemoryFolder()
        for stage in self.scenario.stages:
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
                self.read(path, folder.read(path))

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
                    self.read(f"{path}@{row}", record)

    def counter(self, place: re.Match[str]) -> Any:
        return place[0]

    def waits(self) -> bool:
        """Return whether to wait for a file that an index names."""
        return True

    def read(self, path: str, value: bytes) -> None:
        for event in self.events(Message("", 0, 0, path.encode(), value)):
            self.take(event)

    def wants(self, event: RowEvent) -> bool:
        return (event.schema, event.table) in self.rows


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

    dropped: list[str | None]

    def wants(self, event: RowEvent) -> bool:
        self.dropped = getattr(self, "dropped", [])
        row = self.image(event, event.after, self.catalog.table(event.schema, event.table)) or {}
        is_old = self.is_old(event)
        self.dropped += [row["id"]] if is_old else []
        return not is_old


class NewFilesAreNewer(Loader):
    def is_old(self, *_: Any, **__: Any) -> bool:
        return False


class RowsComeOnce(NewFilesAreNewer):
    def at(self, rows: Any, op: str, *row: Any) -> int | None:
        return None if op == "insert" else super().at(rows, op, *row)


class TablesOfFilesExist(Loader):
    def wants(self, event: RowEvent) -> bool:
        return True
