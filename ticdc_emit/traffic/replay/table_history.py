"""The history of a table that keeps no change feed: the differences between its versions.

In: a Delta or Iceberg table, and which of its versions. Out: row changes in the typed form. A data file is read
once, at a version in which it lives, and its rows are **intervals**: they are in the table from one version until
another. What one interval of a key leaves and the next one brings is a change. So a table of 200 versions is not read
200 times, and rows of files that stay are never compared.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, NamedTuple

from ticdc_emit.config.secrets import hides_arguments, mask_text
from ticdc_emit.errors import ConfigError, MissingColumnError
from ticdc_emit.hints import did_you_mean, values
from ticdc_emit.spark.frames import union_of_reads
from ticdc_emit.spark.row_changes import (
    column_named,
    common_type,
    comparable,
    converted,
    duplicate_key,
    required_keys,
    uncollated,
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
        """The type of each column of any version, by its identity."""
        kinds: dict[str, list[DataType]] = {}
        for version in self._versions:
            for column in version.columns:
                kinds.setdefault(column.identity, []).append(uncollated(column.field.dataType))
        return {identity: common_type(own) for identity, own in kinds.items()}

    def changes(self) -> DataFrame:
        from pyspark.sql import Window
        from pyspark.sql import functions as F  # noqa: N812

        key_columns = [F.col("_image")[identity] for identity in key_identities(self.source, self._versions, self.keys)]
        by_key = Window.partitionBy(*key_columns).orderBy("_first")
        seen = self._intervals().select(
            "*",
            F.lag("_end").over(by_key).alias("_earlier_end"),
            F.lag("_first").over(by_key).alias("_earlier_first"),
            F.lag("_image").over(by_key).alias("_earlier"),
            F.lead("_first").over(by_key).alias("_later"),
        )
        first, since, earlier = F.col("_first"), F.col("_earlier_first"), F.col("_earlier")
        twice = since.isNotNull() & (F.col("_earlier_end").isNull() | (F.col("_earlier_end") > first))
        goes_on = since.isNotNull() & (F.col("_earlier_end") == first)
        op = F.when(twice, duplicate_key(key_columns, self._stamp(first))).when(goes_on, "u").otherwise("c")
        begins = F.when(
            twice | ~goes_on | self._differs(earlier, since, F.col("_image"), first),
            F.struct(
                op.alias("op"),
                first.alias("number"),
                since.alias("since"),
                F.when(goes_on, earlier).alias("before"),
                F.col("_image").alias("after"),
            ),
        )
        ends = F.when(
            F.col("_end").isNotNull() & (F.col("_later").isNull() | (F.col("_later") > F.col("_end"))),
            F.struct(
                F.lit("d").alias("op"),
                F.col("_end").alias("number"),
                first.alias("since"),
                F.col("_image").alias("before"),
                F.lit(None).alias("after"),
            ),
        )
        change = F.explode(F.filter(F.array(begins, ends), lambda one: one.isNotNull()))
        number = F.col("number")
        changes = (
            seen.select(change.alias("_change"))
            .select("_change.*")
            .select(
                "op",
                self._stamp(number).alias("commit_ts"),
                self._named("before", F.col("since"), number).alias("before"),
                self._named("after", number, number).alias("after"),
            )
        )
        return with_keys(changes, self.keys)

    def _stamp(self, number: Column) -> Column:
        """Return the commit_ts of versions."""
        from pyspark.sql import functions as F  # noqa: N812

        return F.element_at(F.lit([version.commit_ts for version in self._versions]).cast("array<long>"), number + 1)

    def _intervals(self) -> DataFrame:
        """Return the images of rows, with the version from which (``_first``) until which (``_end``) each is there."""
        from pyspark.sql import functions as F  # noqa: N812

        lives = file_lives(self.source.file_changes(), self.chosen.positions)
        lives = [life for life in lives if life.first or life.end is not None]
        reading = reading_numbers(lives, self._ends())
        bounds = self.spark.createDataFrame(
            [(number, *life) for number, life in zip(reading, lives, strict=True)],
            f"_number int, {FILE} string, _begin int, _end int",
        )
        rows = union_of_reads(list(self._reads({0, *reading})))
        joined = rows.join(F.broadcast(bounds), ["_number", FILE], "left")
        intervals = joined.where("_begin is not null or _number = 0").select(
            F.coalesce("_begin", F.lit(0)).alias("_first"), "_end", "_image"
        )
        for number in self._numbers_of_return():
            here, end = F.lit(number), F.col("_end")
            parts = F.array(
                F.struct(F.col("_first"), here.alias("_end"), "_image"),
                F.struct(here.alias("_first"), end, "_image"),
            )
            goes_across = (F.col("_first") < here) & (end.isNull() | (end > here))
            whole = F.array(F.struct("_first", "_end", "_image"))
            intervals = intervals.select(F.explode(F.when(goes_across, parts).otherwise(whole)).alias("_part")).select(
                "_part.*"
            )
        return intervals

    def _numbers_of_return(self) -> list[int]:
        """Return the versions in which a column came back."""
        return sorted({begin for identity in self._kinds for begin, _ in self._numbers_with(identity)[1:]})

    def _reads(self, numbers: Iterable[int]) -> Iterator[DataFrame]:
        from pyspark.sql import functions as F  # noqa: N812

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

    def _ends(self) -> list[int]:
        """Return for each version the first later one with other columns; the count of versions if there is none."""
        ends = [len(self._versions)] * len(self._versions)
        for number in range(len(ends) - 2, -1, -1):
            same = self._versions[number].columns == self._versions[number + 1].columns
            ends[number] = ends[number + 1] if same else number + 1
        return ends

    def _numbers_with(self, identity: str, name: str | None = None) -> list[tuple[int, int]]:
        """Return the first and last number of each run of versions that have a column (with this name)."""
        runs: list[tuple[int, int]] = []
        for number, version in enumerate(self._versions):
            if any(each.identity == identity and name in (None, to_lower(each.field.name)) for each in version.columns):
                goes_on = bool(runs) and runs[-1][1] == number - 1
                runs = [*runs[:-1], (runs[-1][0], number)] if goes_on else [*runs, (number, number)]
        return runs

    def _is_in(self, number: Column, runs: Sequence[tuple[int, int]]) -> Column | None:
        """Return whether a number is in one of the runs; ``None`` if they have all numbers."""
        if list(runs) == [(0, len(self._versions) - 1)]:
            return None
        return reduce(lambda one, other: one | other, (number.between(*run) for run in runs))

    def _value(self, image: Column, identity: str, since: Column, number: Column) -> Column:
        """Return a value of an image of version ``since`` in a later version: a column that was gone in between, and
        came back (Delta's RESTORE), is NULL until its value is there again.
        """
        from pyspark.sql import functions as F  # noqa: N812

        runs = self._numbers_with(identity)
        if len(runs) == 1:
            return image[identity]
        is_kept = reduce(lambda one, other: one | other, (since.between(*run) & number.between(*run) for run in runs))
        return F.when(is_kept, image[identity])

    def _differs(self, before: Column, since: Column, after: Column, number: Column) -> Column:
        """Return whether two images differ in a column that the version has. ``since``: the version of ``before``."""
        from pyspark.sql import functions as F  # noqa: N812

        result = F.lit(False)
        for identity, kind in self._kinds.items():
            old = self._value(before, identity, since, number)
            unequal = ~comparable(old, kind).eqNullSafe(comparable(after[identity], kind))
            inside = self._is_in(number, self._numbers_with(identity))
            result = result | (unequal if inside is None else unequal & inside)
        return result

    def _named(self, images: str, since: Column, number: Column) -> Column:
        """Return images of version ``since`` with the columns that a later version has."""
        from pyspark.sql import functions as F  # noqa: N812

        names: dict[str, str] = {}
        by_name: dict[str, list[str]] = {}
        for version in reversed(self._versions):
            for column in version.columns:
                name = to_lower(column.field.name)
                names.setdefault(name, column.field.name)
                identities = by_name.setdefault(name, [])
                if column.identity not in identities:
                    identities.append(column.identity)
        image, fields = F.col(images), []
        for name, identities in by_name.items():
            kind = common_type(self._kinds[identity] for identity in identities)
            value = F.lit(None).cast(kind)
            for identity in identities:
                own = converted(self._value(image, identity, since, number), self._kinds[identity], kind)
                inside = self._is_in(number, self._numbers_with(identity, name))
                value = own if inside is None else F.when(inside, own).otherwise(value)
            fields.append(value.alias(names[name]))
        return F.when(image.isNotNull(), F.struct(*fields))


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
