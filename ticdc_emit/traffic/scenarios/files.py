"""Scenarios of a storage sink's files: what breaks loaders, in the order in which TiCDC writes it.

In: a name, a protocol of files, a seed. Out: a :class:`FileScenario`: writes in stages, after each of which a loader
reads, and the tables that a correct loader has in the end. Every stage is a folder that a loader can find: TiCDC writes
one file after the other, and after a failure it sends the rows since its checkpoint again, into further files.

The files are a changefeed's (``delivery/storage_files.py``): a kind gives the history, the rows of each run, and the
places between two writes at which a loader reads. Sources of the rules: ``storage/files.py``.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow.compute as pc

from ticdc_emit.config import RELEASES, ChangefeedConfig, Release, load_changefeed
from ticdc_emit.config.protocols import STORED, parse_protocol_name
from ticdc_emit.config.switches import StorageSwitches
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.consume.storage_folder import FolderReader, IndexFile
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.storage_files import MemoryFilesSink
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import counted, facts_html
from ticdc_emit.pipeline.batch import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.storage.folder import Folder, MemoryFolder, Write
from ticdc_emit.storage.paths import SchemaFile
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios.model import AnyKind, AnyScenario, kind_named
from ticdc_emit.traffic.scenarios.order_history import (
    EVENTS,
    ORDERS,
    HistoryBuilder,
    add_events,
    add_orders,
    new_order,
    tso_at,
)

_PROTOCOLS = tuple(sorted((protocol.value for protocol in STORED), reverse=True))
_EXTENSION = "enable-tidb-extension"
_EVERY_TWO_SECONDS = {"cloud-storage-config": {"flush-interval": "2s"}}
_WITH_COMMITS = {"csv": {"include-commit-ts": True}}
_END = 1_000_000
_MIDNIGHT = 32_000  # after the first day of histories, in seconds from their beginning


@dataclass(frozen=True)
class Stage:
    """Files that are written, or removed, between two readings of a loader. ``writes``: in their order."""

    writes: tuple[Write, ...]

    def write(self, folder: Folder) -> None:
        """Write the files to a folder. Raises :class:`~ticdc_emit.errors.DeliveryError` where the storage fails."""
        for path, content in self.writes:
            if content is None:
                folder.remove(path)
            else:
                folder.write(path, content)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write the files below a directory of this machine. Raises :class:`OSError` where that fails."""
        folder = MemoryFolder()
        self.write(folder)
        folder.save(directory)


_Cuts = Callable[[Sequence[Write], Sequence[int]], Sequence[int]]
"""After how many writes a loader reads, of all writes and their number at the end of each run. After its last reading
nothing is written.
"""


def _after_each_run(writes: Sequence[Write], ends: Sequence[int]) -> Sequence[int]:
    return *ends[:-1], len(writes)


@dataclass(frozen=True)
class FileScript:
    """A kind of scenario for one seed. ``runs``: the seconds between which each run has its rows; the same ones again
    are a run that is repeated after a failure. ``cuts``: where a loader reads.
    """

    history: History
    runs: tuple[tuple[float, float], ...] = ((0, _END),)
    cuts: _Cuts = _after_each_run


@dataclass(frozen=True)
class FileScenarioKind(AnyKind):
    """A named scenario of files. ``needs``: whether a release has it, by what its storage sink does."""

    make: Callable[[random.Random], FileScript] = field(repr=False)
    needs: Callable[[StorageSwitches], bool] = field(default=lambda _: True, repr=False)

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases that have the scenario."""
        return tuple(name for name, release in RELEASES.items() if self.needs(release.storage))


@dataclass(frozen=True, repr=False)
class FileScenario(AnyScenario):
    """A scenario of files. ``stages``: what is written between two readings of a loader."""

    kind: FileScenarioKind
    stages: tuple[Stage, ...]

    def __repr__(self) -> str:
        writes = counted(sum(len(stage.writes) for stage in self.stages), "write")
        stages = counted(len(self.stages), "stage")
        return f"<FileScenario {self.name} as {self.protocol}, seed {self.seed}: {writes} in {stages}>"

    def _repr_html_(self) -> str:
        kind = self.kind
        facts = [("incident", kind.incident), ("breaks", kind.breaks), ("outcome", kind.outcome)]
        facts += [
            (f"stage {number}", counted(len(stage.writes), "write")) for number, stage in enumerate(self.stages, 1)
        ]
        return facts_html(f"{self.name} as {self.protocol}, seed {self.seed}", facts)

    def consumer(self) -> ReferenceConsumer:
        """Return a reference consumer for this changefeed; a ``FolderReader`` reads the files for it."""
        return ReferenceConsumer(self.config, self.history.catalog(config=self.config))

    def readings(self) -> Iterator[list[Message]]:
        """Yield for each stage what a reader finds after it."""
        folder = MemoryFolder()
        reader = FolderReader.of(self.config, folder)
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
    return FILES


def file_scenario(
    name: str, *, protocol: str | None = None, release: str | Release | None = None, seed: int = 0
) -> FileScenario:
    """Make a scenario of a storage sink's files; the same arguments make the same files, the same seed the same tables.

    ``protocol``: ``csv``, the default, or ``canal-json``. ``release``: default: the first that has the scenario. Raises
    :class:`~ticdc_emit.errors.ConfigError` for an unknown name, another protocol, and a release that lacks the
    scenario.
    """
    kind = kind_named(name, FILES, what="scenario of files")
    chosen = kind.protocols[0] if protocol is None else parse_protocol_name(protocol)[0].value
    kind.require(chosen)
    record = Release.parse(release or kind.releases[0])
    if not kind.needs(record.storage):
        raise ConfigError(
            f"the storage sink of {record.name} does not do what the scenario {name} shows",
            remedy=f"Use one of the releases {', '.join(kind.releases)}",
            option="release",
        )
    script = kind.make(random.Random(f"{name} {seed}"))
    history = script.history
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
        stages=_stages(script, config),
    )


def _stages(script: FileScript, config: ChangefeedConfig) -> tuple[Stage, ...]:
    """Return the writes of a changefeed's runs, cut where a loader reads."""
    sink = MemoryFilesSink.of(config)
    feed = Changefeed(config, sink, script.history.catalog(), ddl=script.history.ddl)
    rows = script.history.to_arrow().sort_by("commit_ts")
    batches: Mapping[tuple[float, float], int] = {run: number for number, run in enumerate(dict.fromkeys(script.runs))}
    ends = []
    for run in script.runs:
        first, after = (tso_at(second) for second in run)
        own = rows.filter((pc.field("commit_ts") >= first) & (pc.field("commit_ts") < after))
        feed.run(ArrowBatch(own), batches[run], final=False)
        ends.append(len(sink.kept.writes))
    feed.finish()
    writes = sink.kept.writes
    return tuple(Stage(tuple(writes[start:end])) for start, end in pairwise((0, *script.cuts(writes, ends))))


# -- the kinds ---------------------------------------------------------------------------------------------------------


def _index_before_data(chance: random.Random) -> FileScript:
    builder = HistoryBuilder(ORDERS)
    for number in range(1, 25):
        builder.insert(number / 2, "orders", new_order(chance, number))

    def between(writes: Sequence[Write], ends: Sequence[int]) -> Sequence[int]:
        return chance.choice([at + 1 for at, write in enumerate(writes) if IndexFile.parse(write.path)]), len(writes)

    return FileScript(builder.history(), cuts=between)


def _known_checksum(chance: random.Random) -> FileScript:
    builder = HistoryBuilder(ORDERS)
    add_orders(builder, chance, orders=6, cancelled=0)
    builder.ddl(10, "truncate table shop.orders")
    for number in range(chance.randrange(50, 90), 93):
        builder.insert(10 + number / 100, "orders", new_order(chance, number))
    return FileScript(builder.history(), runs=((0, 10), (10, _END)))


def _date_rollover(chance: random.Random) -> FileScript:
    builder = HistoryBuilder(ORDERS)
    add_orders(builder, chance, orders=12, start=_MIDNIGHT - 10, seconds=10 + chance.random() * 6)
    for number in range(50, chance.randrange(54, 60)):
        builder.insert(_MIDNIGHT + (number - 50) / 10, "orders", new_order(chance, number))
    return FileScript(builder.history(), runs=((0, _MIDNIGHT), (_MIDNIGHT, _END)))


def _partition_folders(chance: random.Random) -> FileScript:
    builder = HistoryBuilder(EVENTS)
    add_events(builder, chance, seconds=8)
    return FileScript(builder.history())


def _files_again(chance: random.Random) -> FileScript:
    builder = HistoryBuilder(ORDERS)
    left = add_orders(builder, chance, orders=10, seconds=10)
    middle = 3 + chance.random() * 4
    builder.insert(11, "orders", new_order(chance, 50))
    builder.update(11.5, "orders", left["1"], {**left["1"], "state": "returned"})
    return FileScript(builder.history(), runs=((0, middle), (middle, 12), (middle, 12)))


def _old_version_again(chance: random.Random) -> FileScript:
    builder = HistoryBuilder(ORDERS)
    left = add_orders(builder, chance, orders=8, seconds=8)
    last = {**left["1"], "state": "returned"}
    builder.update(9, "orders", left["1"], last)
    builder.ddl(10, "alter table shop.orders add column gift varchar(20)")
    before = {**last, "gift": None}
    builder.update(11, "orders", before, {**before, "state": "refunded", "gift": f"card {chance.randrange(100)}"})
    middle = 2 + chance.random() * 4

    def before_the_statement(writes: Sequence[Write], ends: Sequence[int]) -> Sequence[int]:
        return *ends[:-1], next(at for at in range(ends[1], len(writes)) if SchemaFile.parse(writes[at].path))

    return FileScript(builder.history(), ((0, middle), (middle, 12), (middle, 12)), before_the_statement)


def _renamed_again(chance: random.Random) -> FileScript:
    builder = HistoryBuilder(ORDERS)
    left = add_orders(builder, chance, orders=8, seconds=8)
    builder.update(9, "orders", left["1"], {**left["1"], "state": "returned"})
    builder.ddl(10, "rename table shop.orders to shop.archive")
    builder.insert(11, "archive", new_order(chance, 50))
    middle = 2 + chance.random() * 4
    return FileScript(builder.history(), runs=((0, middle), (middle, 12), (middle, 12)))


FILES = (
    FileScenarioKind(
        "index-before-data",
        "pingcap/ticdc#3784: the index is written first, and the consumer loses the rows of a file that comes later",
        "that a file which an index names is there",
        "The loader reads between an index file and the file that it names. The rows of that file are in the tables "
        "after the next reading.",
        _PROTOCOLS,
        _index_before_data,
        lambda switches: switches.order == "index-first",
    ),
    FileScenarioKind(
        "known-checksum",
        "pingcap/docs-cn#13956: a new version of a table need not have other columns",
        "that a schema file with a known checksum has nothing new",
        "TRUNCATE TABLE makes a schema file with the same columns, so with the same checksum in its name. The table "
        "has only the rows after it.",
        _PROTOCOLS,
        _known_checksum,
    ),
    FileScenarioKind(
        "date-rollover",
        "pingcap/tiflow#10374: a consumer passes over files whose names are below those that it has read",
        "that the numbers of a table's files only rise",
        "At midnight a new folder begins, whose files count from 1. The tables have the rows of both days.",
        _PROTOCOLS,
        _date_rollover,
    ),
    FileScenarioKind(
        "partition-folders",
        "pingcap/tiflow#8581: each partition of a table writes files of its own",
        "that commit_ts rises from file to file of a table",
        "Each partition has its folder, and their commits are mixed. The table has the rows of both.",
        _PROTOCOLS,
        _partition_folders,
    ),
    FileScenarioKind(
        "files-again",
        "pingcap/tiflow#8805: after a change of the owner, rows are in new files again",
        "that a row is in the files once",
        "TiCDC restarts from its checkpoint and writes the rows after it again, into files with higher numbers. The "
        "tables stay the same.",
        _PROTOCOLS,
        _files_again,
    ),
    FileScenarioKind(
        "old-version-again",
        "pingcap/ticdc#4421: a table that moves to another node starts again from an older checkpoint",
        "that rows in new files are newer than those in files that were read",
        "After an ALTER TABLE, rows from before it come again in the folder of the old version. Each row keeps its "
        "newest values.",
        _PROTOCOLS,
        _old_version_again,
    ),
    FileScenarioKind(
        "renamed-again",
        "pingcap/ticdc#4334: after a RENAME, the consumer still reads older rows of the old name",
        "that the table of a new file exists",
        "After a RENAME, rows from before it come again in the folder of the old name. The new table keeps its newest "
        "values, and the old one does not come back.",
        _PROTOCOLS,
        _renamed_again,
    ),
)
"""All scenarios of files, in listing order."""
