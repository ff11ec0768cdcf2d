"""Scenarios of files: what is written, and the places between two writes at which a loader reads."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from ticdc_emit.config import Release
from ticdc_emit.consume.storage_folder import IndexFile
from ticdc_emit.storage.folder import Write
from ticdc_emit.storage.paths import SchemaFile
from ticdc_emit.traffic.scenarios.model import FileScenarioKind
from ticdc_emit.traffic.scenarios.orders import EVENTS, NEXT_RUN, Step, events, insert, new_order, orders

_MIDNIGHT = 32_000  # after the first day of histories, in seconds from their beginning


class IndexBeforeData(FileScenarioKind, name="index-before-data"):
    """The loader reads between an index file and the file that it names. The rows of that file are in the tables after
    the next reading.
    """

    incident = (
        "pingcap/ticdc#3784: the index is written first, and the consumer loses the rows of a file that comes later"
    )
    breaks = "that a file which an index names is there"

    def lacks(self, release: Release, protocol: str) -> str | None:
        return None if release.storage.order == "index-first" else "a storage sink that writes the index first"

    def steps(self, chance: random.Random) -> Iterator[Step]:
        for number in range(1, 25):
            yield number / 2, insert("orders", *new_order(chance, number))

    def cuts(self, writes: Sequence[Write], ends: Sequence[int], chance: random.Random) -> Sequence[int]:
        return chance.choice([at + 1 for at, write in enumerate(writes) if IndexFile.parse(write.path)]), len(writes)


class KnownChecksum(FileScenarioKind, name="known-checksum"):
    """TRUNCATE TABLE makes a schema file with the same columns, so with the same checksum in its name. The table has
    only the rows after it.
    """

    incident = "pingcap/docs-cn#13956: a new version of a table need not have other columns"
    breaks = "that a schema file with a known checksum has nothing new"

    def steps(self, chance: random.Random) -> Iterator[Step]:
        yield from orders(chance, 6, cancelled=0)
        yield 10, NEXT_RUN
        yield 10, "truncate table shop.orders"
        for number in range(chance.randrange(50, 90), 93):
            yield 10 + number / 100, insert("orders", *new_order(chance, number))


class DateRollover(FileScenarioKind, name="date-rollover"):
    """At midnight a new folder begins, whose files count from 1. The tables have the rows of both days."""

    incident = "pingcap/tiflow#10374: a consumer passes over files whose names are below those that it has read"
    breaks = "that the numbers of a table's files only rise"

    def steps(self, chance: random.Random) -> Iterator[Step]:
        yield from orders(chance, 12, start=_MIDNIGHT - 10, seconds=10 + chance.random() * 6)
        yield _MIDNIGHT, NEXT_RUN
        for number in range(50, chance.randrange(54, 60)):
            yield _MIDNIGHT + (number - 50) / 10, insert("orders", *new_order(chance, number))


class PartitionFolders(FileScenarioKind, name="partition-folders"):
    """Each partition has its folder, and their commits are mixed. The table has the rows of both."""

    incident = "pingcap/tiflow#8581: each partition of a table writes files of its own"
    breaks = "that commit_ts rises from file to file of a table"
    schema = EVENTS

    def steps(self, chance: random.Random) -> Iterator[Step]:
        return events(chance, 8)


class FilesAgain(FileScenarioKind, name="files-again"):
    """TiCDC restarts from its checkpoint and writes the rows after it again, into files with higher numbers. The tables
    stay the same.
    """

    incident = "pingcap/tiflow#8805: after a change of the owner, rows are in new files again"
    breaks = "that a row is in the files once"
    repeats = True

    def steps(self, chance: random.Random) -> Iterator[Step]:
        yield from orders(chance, 10, seconds=10)
        yield 3 + chance.random() * 4, NEXT_RUN
        yield 11, insert("orders", *new_order(chance, 50))
        yield 11.5, "update orders set state = 'returned' where id = 1"


class OldVersionAgain(FileScenarioKind, name="old-version-again"):
    """After an ALTER TABLE, rows from before it come again in the folder of the old version. Each row keeps its newest
    values.
    """

    incident = "pingcap/ticdc#4421: a table that moves to another node starts again from an older checkpoint"
    breaks = "that rows in new files are newer than those in files that were read"
    repeats = True

    def steps(self, chance: random.Random) -> Iterator[Step]:
        yield from orders(chance, 8, seconds=8)
        yield 9, "update orders set state = 'returned' where id = 1"
        yield 10, "alter table shop.orders add column gift varchar(20)"
        gift = f"card {chance.randrange(100)}"
        yield 11, f"update orders set state = 'refunded', gift = '{gift}' where id = 1"
        yield 2 + chance.random() * 4, NEXT_RUN

    def cuts(self, writes: Sequence[Write], ends: Sequence[int], chance: random.Random) -> Sequence[int]:
        return *ends[:-1], next(at for at in range(ends[1], len(writes)) if SchemaFile.parse(writes[at].path))


class RenamedAgain(FileScenarioKind, name="renamed-again"):
    """After a RENAME, rows from before it come again in the folder of the old name. The new table keeps its newest
    values, and the old one does not come back.
    """

    incident = "pingcap/ticdc#4334: after a RENAME, the consumer still reads older rows of the old name"
    breaks = "that the table of a new file exists"
    repeats = True

    def steps(self, chance: random.Random) -> Iterator[Step]:
        yield from orders(chance, 8, seconds=8)
        yield 9, "update orders set state = 'returned' where id = 1"
        yield 10, "rename table shop.orders to shop.archive"
        yield 11, insert("archive", *new_order(chance, 50))
        yield 2 + chance.random() * 4, NEXT_RUN
