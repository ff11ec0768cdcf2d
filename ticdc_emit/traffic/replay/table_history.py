"""The history of a table that keeps no change feed: the differences between its versions.

In: a Delta or Iceberg table, and which of its versions. Out: row changes in the typed form. A data file is read
once, at a version in which it lives, and its rows are **intervals**: they are in the table from one version until
another, and ``changes.intervals`` makes changes of them. So a table of 200 versions is not read 200 times, and rows of
files that stay are never compared.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ticdc_emit.changes.intervals import BASE, PUT
from ticdc_emit.config.secrets import hides_arguments, mask_text
from ticdc_emit.errors import ConfigError, MissingColumnError
from ticdc_emit.hints import did_you_mean, values
from ticdc_emit.spark.frames import union_of_reads
from ticdc_emit.spark.functions import F
from ticdc_emit.spark.row_changes import (
    column_named,
    common_type,
    converted,
    required_keys,
    uncollated,
    version_changes,
    with_keys,
    without_collations,
)
from ticdc_emit.sql.words import to_lower
from ticdc_emit.traffic.replay.table_versions import (
    FILE,
    FileChange,
    TableVersion,
    VersionedTable,
    version_id,
    versioned_table,
)
from ticdc_emit.tso import tso_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType


@hides_arguments
def from_versions(
    spark: SparkSession,
    table: str,
    keys: str | Iterable[str],
    *,
    versions: int | Iterable[int] | None = None,
    timestamps: dt.datetime | int | Iterable[dt.datetime | int] | None = None,
    format: str | None = None,
) -> DataFrame:
    """Return the changes between versions of a Delta or Iceberg table: the first one's rows are inserts, and each later
    one sends the inserts, updates and deletes since the one before it.

    ``table``: its name in a catalog of Spark, or its path. ``keys``: the columns that identify a row, by their names in
    the last version. ``versions``: Delta's versions or Iceberg's snapshot ids; a ``range`` means those in it that
    exist. ``timestamps``: aware datetimes or TSO, for the version that was current then. Default: all versions.
    ``format``: ``delta`` or ``iceberg``, for a path that is not on this machine.

    commit_ts is a version's commit time; it only rises, even if the clock of the table's writers went back. An image
    has the columns of all versions, NULL where a version lacks one, so replay it with :func:`table_ddl`. Rows that a
    version only wrote again (OPTIMIZE, compaction) and columns that came, went or got another name give no change.

    Raises :class:`ConfigError` without keys, for a version that the table does not have or no longer has, and a table
    that cannot be read, :class:`MissingColumnError` for keys that are not columns of every version,
    and in ``replay`` :class:`~ticdc_emit.errors.DuplicateChangeError` for a key that is twice in one version.
    """
    source = versioned_table(spark, table, format)
    return changes_of_versions(spark, source, keys, versions=versions, timestamps=timestamps)


def changes_of_versions(
    spark: SparkSession,
    source: VersionedTable,
    keys: str | Iterable[str],
    *,
    versions: int | Iterable[int] | None = None,
    timestamps: dt.datetime | int | Iterable[dt.datetime | int] | None = None,
) -> DataFrame:
    """Return what :func:`from_versions` returns for a table that was looked up before."""
    names = required_keys(keys, "versions need keys")
    return _History(spark, source, chosen_versions(source, versions, timestamps), names).changes()


class _Chosen(NamedTuple):
    """The versions of a history: their positions among those of the table."""

    versions: Sequence[TableVersion]
    positions: Sequence[int]


def chosen_versions(
    source: VersionedTable,
    versions: int | Iterable[int] | None = None,
    timestamps: dt.datetime | int | Iterable[dt.datetime | int] | None = None,
) -> _Chosen:
    """Return the versions that :func:`from_versions` has with these arguments."""
    if versions is not None and timestamps is not None:
        raise ConfigError(
            "versions= and timestamps= both choose versions", remedy="Leave out one of them", option="versions"
        )
    known = {version.id: position for position, version in enumerate(source.versions) if version.id is not None}
    if timestamps is not None:
        positions = _at_times(
            source, list(known.values()), [tso_of(moment, "timestamps") for moment in values(timestamps)]
        )
    elif versions is None:
        positions = set(known.values())
    else:
        wanted = (
            [each for each in known if each in versions]
            if isinstance(versions, range)
            else [version_id(each, "versions") for each in values(versions)]
        )
        for version in wanted:
            if version not in known:
                raise ConfigError(
                    f"the table has no version {version}",
                    remedy=f"Choose among {_shown(list(known))}" if known else "Write rows into the table first",
                    option="versions",
                    table=mask_text(source.name),
                )
        positions = {known[version] for version in wanted}
    if not positions:
        raise ConfigError(
            "there is no version to read",
            remedy=f"Choose among {_shown(list(known))}" if known else "Write rows into the table first",
            option="versions",
            table=mask_text(source.name),
        )
    ordered = sorted(positions)
    return _Chosen([source.versions[position] for position in ordered], ordered)


def _at_times(source: VersionedTable, positions: Sequence[int], moments: Sequence[int]) -> set[int]:
    stamps = [source.versions[position].commit_ts for position in positions]
    early = [moment for moment in moments if not stamps or moment < stamps[0]]
    if early:
        first = f"the first version has commit_ts {stamps[0]}" if stamps else "it has no version"
        raise ConfigError(
            f"the table has no version of that time: {first}",
            remedy="Choose later times",
            option="timestamps",
            table=mask_text(source.name),
        )
    return {positions[bisect_right(stamps, moment) - 1] for moment in moments}


def _shown(ids: Sequence[int]) -> str:
    return f"{ids[0]} ... {ids[-1]}" if len(ids) > 8 else ", ".join(map(str, ids))


class FileLife(NamedTuple):
    """How long the rows of a file are in the table: from one of the chosen versions until another, or for good."""

    path: str
    first: int
    end: int | None


def file_lives(changes: Iterable[FileChange], positions: Sequence[int]) -> list[FileLife]:
    """Return the lives of data files, by numbers of the chosen versions. Those that begin at version 0 and never end
    may be missing.

    ``positions``: those of the chosen versions, rising.
    """
    order = {"remove": 0, "touch": 1, "add": 2}
    alive: dict[str, int] = {}
    known: set[str] = set()
    lives: list[FileLife] = []
    for version, path, what in sorted(changes, key=lambda one: (one.version, order[one.what])):
        number = bisect_left(positions, version)
        if number == len(positions):
            break
        for each in [path] if path is not None else list(alive):
            # a file whose addition is not known is there from the first version on
            first = alive.pop(each, number if each in known else 0)
            known.add(each)
            if first < number:
                lives.append(FileLife(each, first, number))
            if what != "remove":
                alive[each] = number
    return lives + [FileLife(path, first, None) for path, first in alive.items()]


def reading_numbers(lives: Sequence[FileLife], ends: Sequence[int]) -> list[int]:
    """Return for each life a version in which to read the file, so that few versions are read.

    ``ends``: for each version the first later one with other columns, which a file of that version must not be read at.
    """
    last = [min(ends[life.first], len(ends) if life.end is None else life.end) - 1 for life in lives]
    result = [0] * len(lives)
    current = 0
    for nth in sorted(range(len(lives)), key=last.__getitem__):
        if lives[nth].first > current:
            current = last[nth]
        # a file that lives since version 0 is read there, together with those whose addition is not known
        result[nth] = current if lives[nth].first else 0
    return result


@dataclass(frozen=True)
class _History:
    """The changes between chosen versions. A version's **number** is its place among them."""

    spark: SparkSession
    source: VersionedTable
    chosen: _Chosen
    keys: tuple[str, ...]

    @property
    def _versions(self) -> Sequence[TableVersion]:
        return self.chosen.versions

    @cached_property
    def _kinds(self) -> dict[str, DataType]:
        kinds: dict[str, list[DataType]] = {}
        for version in self._versions:
            for column in version.columns:
                kinds.setdefault(column.identity, []).append(uncollated(column.field.dataType))
        return {identity: common_type(own) for identity, own in kinds.items()}

    def changes(self) -> DataFrame:
        return with_keys(version_changes(self._versions_of_rows(), "_what", once=True), self.keys)

    def _intervals(self) -> DataFrame:
        """Return the images of rows, with the version from which (``_first``) until which (``_last``) each is there."""
        lives = file_lives(self.source.file_changes(), self.chosen.positions)
        lives = [life for life in lives if life.first or life.end is not None]
        starts = [*self._starts, len(self._versions)]
        ends = [starts[bisect_right(starts, number)] for number in range(len(self._versions))]
        reading = reading_numbers(lives, ends)
        bounds = self.spark.createDataFrame(
            [(number, *life) for number, life in zip(reading, lives, strict=True)],
            f"_number int, {FILE} string, _first int, _last int",
        )
        rows = union_of_reads(list(self._reads({0, *reading})))
        joined = rows.join(F.broadcast(bounds), ["_number", FILE], "left")
        intervals = joined.where("_first is not null or _number = 0")
        return intervals.select(F.coalesce("_first", F.lit(0)).alias("_first"), "_last", "_image")

    @cached_property
    def _starts(self) -> list[int]:
        """The versions that have other columns than the one before them. From each until the next is a **run**."""
        columns = [version.columns for version in self._versions]
        return [number for number, own in enumerate(columns) if not number or own != columns[number - 1]]

    def _runs_with(self, identity: str, name: str | None = None) -> list[int]:
        """Return the runs whose versions have a column (with this name)."""
        return [
            run
            for run, start in enumerate(self._starts)
            for each in self._versions[start].columns
            if each.identity == identity and name in (None, to_lower(each.field.name))
        ]

    def _returns_of(self, identity: str) -> list[int]:
        """Return the runs in which a column that was gone came back (Delta's RESTORE)."""
        return [later for earlier, later in pairwise(self._runs_with(identity)) if later > earlier + 1]

    def _versions_of_rows(self) -> DataFrame:
        """Return intervals as versions (``changes.intervals``), each with the columns of one run.

        An interval ends with its run, and goes on as a row that is known already: so columns that come, go, or get
        another name are no change. A column that came back is NULL until its value is there again.
        """
        stamps = F.lit([version.commit_ts for version in self._versions]).cast("array<long>")
        starts = F.lit([*self._starts, None]).cast("array<int>")
        run, what, begin, end = (F.col(name) for name in ("_run", "_what", "_begin", "_end"))

        def run_of(number: Column) -> Column:
            return F.size(F.filter(starts, lambda start: start <= number)) - 1

        last = F.coalesce("_last", F.lit(len(self._versions) - 1))
        parts = self._intervals().withColumn("_run", F.explode(F.sequence(run_of(F.col("_first")), run_of(last))))
        start, following = F.element_at(starts, run + 1), F.element_at(starts, run + 2)
        parts = parts.withColumns(
            {
                "_begin": F.greatest("_first", start),
                "_end": F.least("_last", following),
                "_what": F.when(F.col("_first") < start, BASE).otherwise(PUT),
            }
        )
        returns = sorted({run for identity in self._kinds for run in self._returns_of(identity)})
        if returns:
            goes_on, is_known = end.isNull() | (end > begin), run.isin(returns) & (what == BASE)
            both = F.when(is_known & goes_on, F.array(F.lit(BASE), F.lit(PUT))).otherwise(F.array(what))
            parts = parts.withColumn("_what", F.explode(both))
            parts = parts.withColumn("_end", F.when(is_known, begin).otherwise(end))
        keys = key_identities(self.source, self._versions, self.keys)
        return parts.select(
            *(F.col("_image")[identity].alias(f"_key{nth}") for nth, identity in enumerate(keys)),
            "_what",
            F.element_at(stamps, begin + 1).alias("_begin"),
            F.element_at(stamps, end + 1).alias("_end"),
            self._named().alias("_image"),
        )

    def _named(self) -> Column:
        """Return the image with the names of columns, NULL for those that the run lacks."""
        names: dict[str, str] = {}
        by_name: dict[str, list[str]] = {}
        for column in (column for version in reversed(self._versions) for column in version.columns):
            name = to_lower(column.field.name)
            names.setdefault(name, column.field.name)
            identities = by_name.setdefault(name, [])
            if column.identity not in identities:
                identities.append(column.identity)
        fields = []
        for name, identities in by_name.items():
            kind = common_type(self._kinds[identity] for identity in identities)
            value = F.lit(None).cast(kind)
            for identity in identities:
                own, runs = F.col("_image")[identity], self._runs_with(identity, name)
                own = converted(own, self._kinds[identity], kind)
                if returns := self._returns_of(identity):
                    own = F.when(~(F.col("_run").isin(returns) & (F.col("_what") == BASE)), own)
                is_always = len(runs) == len(self._starts)
                value = own if is_always else F.when(F.col("_run").isin(runs), own).otherwise(value)
            fields.append(value.alias(names[name]))
        return F.struct(*fields)

    def _reads(self, numbers: Iterable[int]) -> Iterator[DataFrame]:
        for number in sorted(numbers):
            version = self._versions[number]
            assert version.id is not None
            own = {column.identity: column.field for column in version.columns}
            values = [
                (
                    converted(column_named(own[identity].name), own[identity].dataType, kind)
                    if identity in own
                    else F.lit(None).cast(kind)
                ).alias(identity)
                for identity, kind in self._kinds.items()
            ]
            yield without_collations(self.source.rows(version.id)).select(
                F.lit(number).alias("_number"), FILE, F.struct(*values).alias("_image")
            )


def key_identities(source: VersionedTable, versions: Sequence[TableVersion], keys: Sequence[str]) -> list[str]:
    """Return the identities of the key's columns. Raises :class:`MissingColumnError` if a version lacks one."""
    last = {column.field.name: column.identity for column in versions[-1].columns}
    for key in keys:
        if key not in last:
            raise MissingColumnError(
                "the key is not a column of the last version",
                remedy=f"{did_you_mean(key, last)}It has: {', '.join(last)}",
                table=mask_text(source.name),
                column=key,
            )
        for version in versions:
            if last[key] not in {column.identity for column in version.columns}:
                raise MissingColumnError(
                    f"version {version.id} does not have the column of the key",
                    remedy="Begin at a later version, or choose other keys",
                    table=mask_text(source.name),
                    column=key,
                )
    return [last[key] for key in keys]
