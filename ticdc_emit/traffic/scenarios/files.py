"""Scenarios of a storage sink's files: what breaks loaders, in the order in which TiCDC writes it.

A loader reads after each stage, a folder that it can find: TiCDC writes one file after the other, and after a failure
it sends the rows since its checkpoint again, into further files. The files are a changefeed's
(``delivery/storage_files.py``). Sources of the rules: ``storage/files.py``.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow.compute as pc

from ticdc_emit.config import ChangefeedConfig, Release, load_changefeed
from ticdc_emit.config.protocols import parse_protocol_name
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.consume.storage_folder import FolderReader
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.storage_files import MemoryFilesSink
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.storage.folder import Folder, MemoryFolder, Write
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios import file_kinds
from ticdc_emit.traffic.scenarios.model import AnyScenario, FileScenarioKind, kind_named, kinds_in
from ticdc_emit.traffic.scenarios.orders import NEXT_RUN, history_of, tso_at

_KINDS = tuple(kinds_in(file_kinds, FileScenarioKind))
_EXTENSION = "enable-tidb-extension"
_EVERY_TWO_SECONDS = {"cloud-storage-config": {"flush-interval": "2s"}}
_WITH_COMMITS = {"csv": {"include-commit-ts": True}}
_END = 1_000_000


@dataclass(frozen=True)
class Stage:
    """Files that are written between two readings of a loader. ``writes``: in their order."""

    writes: tuple[Write, ...]

    def write(self, folder: Folder) -> None:
        """Write the files to a folder. Raises :class:`~ticdc_emit.errors.DeliveryError` where the storage fails."""
        for path, content in self.writes:
            folder.write(path, content)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write the files below a directory of this machine. Raises :class:`OSError` where that fails."""
        folder = MemoryFolder()
        self.write(folder)
        folder.save(directory)


@dataclass(frozen=True, repr=False)
class FileScenario(AnyScenario):
    """A scenario of files. ``stages``: what is written between two readings of a loader."""

    kind: FileScenarioKind
    stages: tuple[Stage, ...]

    def consumer(self) -> ReferenceConsumer:
        """Return a reference consumer for this changefeed; a ``FolderReader`` reads the files for it."""
        return ReferenceConsumer(self.config, self.history.catalog(config=self.config))

    def readings(self) -> Iterator[list[Message]]:
        """Yield for each stage what a reader finds after it."""
        folder = MemoryFolder()
        reader = FolderReader(self.config, folder)
        for stage in self.stages:
            stage.write(folder)
            yield list(reader.read())

    def read(self) -> ReferenceConsumer:
        """Return a reference consumer that has read after each stage."""
        consumer = self.consumer()
        for reading in self.readings():
            consumer.take_all(reading)
        consumer.finish()
        return consumer


def file_scenarios() -> tuple[FileScenarioKind, ...]:
    """Return all kinds of scenarios of files."""
    return _KINDS


def file_scenario(
    name: str, *, protocol: str | None = None, release: str | Release | None = None, seed: int = 0
) -> FileScenario:
    """Make a scenario of a storage sink's files; the same arguments make the same files, the same seed the same tables.

    ``protocol``: ``csv``, the default, or ``canal-json``. ``release``: default: the first that has the scenario. Raises
    :class:`~ticdc_emit.errors.ConfigError` for an unknown name, another protocol, and a release that lacks it.
    """
    kind = kind_named(name, _KINDS, what="scenario of files")
    chosen = kind.protocols[0] if protocol is None else parse_protocol_name(protocol)[0].value
    record = kind.release(chosen, release)
    chance = random.Random(f"{name} {seed}")
    steps = list(kind.steps(chance))
    history = history_of(kind.schema, steps)
    uri = f"file:///ticdc-scenario?protocol={chosen}" + ("" if chosen == "csv" else f"&{_EXTENSION}=true")
    changefeed: dict[str, Any] = {"sink": {**_EVERY_TWO_SECONDS, **(_WITH_COMMITS if chosen == "csv" else {})}}
    config = load_changefeed(uri, changefeed, release=record, time_zone=history.time_zone)
    return FileScenario(
        kind=kind,
        protocol=chosen,
        seed=seed,
        history=history,
        sink_uri=uri,
        changefeed=changefeed,
        config=config,
        expected=history.tables(config=config),
        keys=history.keys(config=config),
        stages=_stages(kind, history, sorted(second for second, what in steps if what == NEXT_RUN), config, chance),
    )


def _stages(
    kind: FileScenarioKind, history: History, starts: list[float], config: ChangefeedConfig, chance: random.Random
) -> tuple[Stage, ...]:
    """Return the writes of a changefeed's runs, cut where a loader reads. ``starts``: the later runs' first second."""
    sink = MemoryFilesSink.of(config)
    feed = Changefeed(config, sink, history.catalog(), ddl=history.ddl)
    rows = history.to_arrow().sort_by("commit_ts")
    bounds = [tso_at(second) for second in (0, *starts, _END)]
    ends = []
    for number in (*range(len(starts) + 1), *[len(starts)] * kind.repeats):
        first, after = bounds[number : number + 2]
        own = rows.filter((pc.field("commit_ts") >= first) & (pc.field("commit_ts") < after))
        feed.run(ArrowBatch(own), number, final=False)
        ends.append(len(sink.kept.writes))
    feed.finish()
    writes = sink.kept.writes
    return tuple(Stage(tuple(writes[start:end])) for start, end in pairwise((0, *kind.cuts(writes, ends, chance))))
