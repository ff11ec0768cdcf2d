"""The versions that a Delta or Iceberg table keeps, and its change feed, read by the format's own reader.

The formats' logs are read as data, so this also works over Spark Connect. A format gives all rows of one read the same
columns. Where the columns of the table changed, Delta's feed is therefore read in parts, and the columns of Iceberg's
get the names of each version. Rule sources: Delta's protocol ("Delta Log Entries", "Column Mapping", "Change Metadata")
and ``CDCReader`` (the schema of a batch read), Iceberg's specification ("Table Metadata"), ``SparkChangelogTable`` and
``BaseIncrementalScan``.
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from ticdc_emit.config.secrets import foreign_text, hides_arguments, mask_text
from ticdc_emit.errors import ConfigError, shown
from ticdc_emit.hints import whole_number
from ticdc_emit.schema.frames import delta_log
from ticdc_emit.schema.frames.spark_types import name_parts
from ticdc_emit.spark.change_feed import FORMS, rising
from ticdc_emit.spark.frames import union_of_reads
from ticdc_emit.spark.functions import F
from ticdc_emit.spark.row_changes import NO_FEED, column_named, common_type, converted, refusing_rows
from ticdc_emit.sql.words import quoted
from ticdc_emit.traffic.replay.sources import format_of, is_of_spark, read_source, unknown_format
from ticdc_emit.tso import tso_from_micros, tso_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType


class TableColumn(NamedTuple):
    """A column of a version. ``identity``: it stays when the column is renamed, and no other column ever has it."""

    identity: str
    field: StructField


class TableVersion(NamedTuple):
    """``id``: Delta's version or Iceberg's snapshot id; ``None`` for columns that changed after the last one.
    ``commit_ts``: the TSO of its rows; it only rises, even if the clock of the table's writers went back.
    """

    id: int | None
    commit_ts: int
    columns: tuple[TableColumn, ...]


def table_refused(table: str, cause: str, remedy: str, option: str = "table") -> ConfigError:
    """Return the error of a table, whose name may be a path with a secret."""
    return ConfigError(cause, remedy=remedy, option=option, table=mask_text(table))


def version_id(given: Any, option: str) -> int:
    """Return Delta's version or Iceberg's snapshot id, which may be text; :class:`ConfigError` for anything else."""
    number = whole_number(given)
    if number is None:
        raise ConfigError(
            f"{shown(given)} is not a version",
            remedy="Give Delta's number of a version or Iceberg's snapshot id",
            option=option,
        )
    return number


def versioned_table(spark: SparkSession, table: str, format: str | None = None) -> VersionedTable:
    """Return a table by its name in a catalog of Spark, or by its path; the format by the catalog or the files of a
    folder here. Raises :class:`ConfigError`, :class:`~ticdc_emit.errors.MissingDependencyError`.
    """
    by_path = is_path(table)
    found = format or (format_of(table) if by_path else None) or _format_in_catalog(spark, table)
    if found not in _FORMATS:
        remedy = "Give a Delta or an Iceberg table, or its copies to from_snapshots"
        raise table_refused(table, f"a table of the format {found} keeps no versions", remedy)
    name = table if by_path else quoted(*name_parts(table))  # in quotes, no folder has it
    read_source(spark, name, format=found if by_path else None)  # its errors name missing packages
    return _FORMATS[found](spark, table)


def is_path(table: str) -> bool:
    return "/" in table and "`" not in table


def _format_in_catalog(spark: SparkSession, table: str) -> str:
    if is_path(table):
        raise unknown_format(table)
    with versions_refused(table):
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").where("col_name = 'Provider'").collect()
    return str(rows[0]["data_type"]).lower() if rows else "view"


@contextmanager
def versions_refused(table: str) -> Iterator[None]:
    """Turn the errors of Spark and the formats into :class:`ConfigError`, with their first line and a remedy."""
    try:
        with refusing_rows():
            yield
    except Exception as error:
        if not is_of_spark(error):
            raise
        first = foreign_text(str(error).strip().splitlines()[0].strip())
        remedy = "Check its name, and whether Spark may read its log"
        raise table_refused(table, f"the versions of the table cannot be read: {first}", remedy) from None


def tracked_columns(versions: Iterable[Sequence[TableColumn]], *, by_name: bool) -> list[tuple[TableColumn, ...]]:
    """Return the columns of each version with identities ``c0``, ``c1`` ... that hold for all versions. ``by_name``: a
    new identity may continue the name of one that is gone: a replaced table has new ones for all columns.
    """
    result: list[tuple[TableColumn, ...]] = []
    tokens: dict[str, str] = {}
    count = 0
    for columns in versions:
        known = {column.identity: tokens[column.identity] for column in columns if column.identity in tokens}
        gone = {
            column.field.name: column.identity
            for column in (result[-1] if result else ())
            if column.identity not in known.values()
        }
        for column in columns:
            if column.identity in known:
                continue
            token = gone.pop(column.field.name, None) if by_name else None
            if token is None:
                token, count = f"c{count}", count + 1
            known[column.identity] = token
        tokens = {**tokens, **known}
        result.append(tuple(TableColumn(known[column.identity], column.field) for column in columns))
    return result


@dataclass(frozen=True)
class _DeltaTable:
    spark: SparkSession
    name: str
    format: ClassVar[str] = "delta"

    @property
    def _target(self) -> str:
        return f"delta.{quoted(self.name)}" if is_path(self.name) else self.name

    @cached_property
    def _folder(self) -> str:
        with versions_refused(self.name):
            return delta_log.location(self.spark, self._target)

    @cached_property
    def versions(self) -> list[TableVersion]:
        with versions_refused(self.name):
            history = self.spark.sql(f"DESCRIBE HISTORY {self._target}")
            rows = history.select("version", F.unix_micros("timestamp").alias("at")).collect()
            every = sorted((row["version"], row["at"]) for row in rows)
            first = every[0][0]
            schemas = delta_log.committed_schemas(self.spark, self._folder)
            checkpoints = delta_log.checkpointed_schemas(self.spark, self._folder) if first > 0 else {}
        if first > 0:  # a version needs a checkpoint, or all commits before it
            first = max(first, min(checkpoints, default=0))
            schemas = checkpoints | schemas
        commits = [(version, at) for version, at in every if version >= first]
        ids = [version for version, _ in commits]
        since = sorted(schemas)
        current = [max((each for each in since if each <= version), default=None) for version in ids]
        if not current or current[0] is None:
            cause = "the log of the table does not hold the columns of its first version"
            remedy = "Check that Spark may read the checkpoints in the table's _delta_log"
            raise table_refused(self.name, cause, remedy)
        mapped = "delta.columnMapping.physicalName"
        columns = tracked_columns(
            ([TableColumn(one.metadata.get(mapped, one.name), one) for one in schemas[each].fields] for each in since),
            by_name=True,
        )
        of_schema = dict(zip(since, columns, strict=True))
        stamps = rising(tso_from_micros(at) for _, at in commits)
        return [
            TableVersion(version, stamp, of_schema[each])
            for version, stamp, each in zip(ids, stamps, current, strict=True)
            if each is not None
        ]

    def rows(self, version: int) -> DataFrame:
        reader = self.spark.read.format("delta").option("versionAsOf", version)
        with versions_refused(self.name):
            return reader.load(self._folder)

    def before(self, version: int) -> int | None:
        return version - 1 if version else None


@dataclass(frozen=True)
class _IcebergTable:
    spark: SparkSession
    name: str
    format: ClassVar[str] = "iceberg"

    def _metadata_table(self, table: str) -> DataFrame:
        mark = "#" if is_path(self.name) else "."
        return self.spark.read.format("iceberg").load(f"{self.name}{mark}{table}")

    @cached_property
    def _metadata(self) -> dict[str, Any]:
        with versions_refused(self.name):
            file = self._metadata_table("metadata_log_entries").select("file").collect()[-1][0]
            row = self.spark.read.format("binaryFile").load(file).select("content").first()
        assert row is not None
        content = bytes(row[0])
        result = json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
        assert isinstance(result, dict)
        return result

    @cached_property
    def _snapshots(self) -> list[dict[str, Any]]:
        """The snapshots that led to the current one, in order. A table that was rolled back has others, too."""
        by_id = {each["snapshot-id"]: each for each in self._metadata.get("snapshots", ())}
        result: list[dict[str, Any]] = []
        current = by_id.get(self._metadata.get("current-snapshot-id"))
        while current is not None:
            result.append(current)
            current = by_id.get(current.get("parent-snapshot-id"))
        return result[::-1]

    @cached_property
    def versions(self) -> list[TableVersion]:
        last = self._metadata["current-schema-id"]
        ids = [each.get("schema-id", last) for each in self._snapshots]
        of_schema: dict[int, list[TableColumn]] = {}
        for each, schema in zip(self._snapshots, ids, strict=True):
            if schema not in of_schema:
                of_schema[schema] = self._columns(schema, self.rows(each["snapshot-id"]).schema)
        stamps = [tso_from_micros(each["timestamp-ms"] * 1000) for each in self._snapshots]
        versions: list[int | None] = [each["snapshot-id"] for each in self._snapshots]
        if not ids or ids[-1] != last:
            of_schema[last] = self._columns(last, self.rows(None).schema)
            ids.append(last)
            stamps.append(tso_from_micros(self._metadata["last-updated-ms"] * 1000))
            versions.append(None)
        columns = tracked_columns((of_schema[each] for each in ids), by_name=False)
        return list(map(TableVersion, versions, rising(stamps), columns))

    def _columns(self, schema: int, kind: StructType) -> list[TableColumn]:
        fields = next(each["fields"] for each in self._metadata["schemas"] if each["schema-id"] == schema)
        return [TableColumn(str(one["id"]), field) for one, field in zip(fields, kind.fields, strict=True)]

    def rows(self, version: int | None) -> DataFrame:
        reader = self.spark.read.format("iceberg")
        with versions_refused(self.name):
            frame = (reader if version is None else reader.option("versionAsOf", version)).load(self.name)
            frame.schema  # noqa: B018 - Spark Connect looks at a source no earlier
        return frame

    def before(self, version: int) -> int | None:
        parents = {each["snapshot-id"]: each.get("parent-snapshot-id") for each in self._snapshots}
        parent: int | None = parents[version]
        return parent


VersionedTable: TypeAlias = _DeltaTable | _IcebergTable
"""``format``: ``delta`` or ``iceberg``; ``name``: as it was given; ``versions``: all that it keeps, in order; ``rows``:
those of the version with an id; ``before``: the id of the version before that, also if the table no longer has it."""

_FORMATS: Mapping[str, Callable[[SparkSession, str], VersionedTable]] = {"delta": _DeltaTable, "iceberg": _IcebergTable}


@hides_arguments
def read_changes(
    spark: SparkSession,
    table: str,
    *,
    start: dt.datetime | int | None = None,
    end: dt.datetime | int | None = None,
    format: str | None = None,
) -> DataFrame:
    """Return the change feed of a Delta table with ``delta.enableChangeDataFeed``, or of an Iceberg table with
    copy-on-write, for :func:`from_changes`.

    ``table``: its name in a catalog of Spark, or its path. ``start``, ``end``: the first and the last version, as
    Delta's number, Iceberg's snapshot id, or an aware datetime (the first version from then on, the last version until
    then). Default: all versions. ``format``: ``delta`` or ``iceberg``, for a path that is not on this machine.

    A column that was renamed is two columns here, each NULL where the table had the other one. A column whose type
    changed has one that holds the values of both. Iceberg's rows have the TSO of their commit in ``_commit_timestamp``.

    Raises :class:`ConfigError` for a table that cannot be read, for versions that it does not have, without ``start``
    for a table that no longer has its first version, and for a feed that cannot tell the history: a column of Delta
    came back with its old values (``RESTORE``), a column of Iceberg was dropped. :func:`from_changes` raises it where
    the table kept no feed, has delete files, or no longer has the files of a version.
    """
    return feed_of_versions(spark, versioned_table(spark, table, format), start=start, end=end)


def feed_of_versions(
    spark: SparkSession,
    source: VersionedTable,
    *,
    start: dt.datetime | int | None = None,
    end: dt.datetime | int | None = None,
) -> DataFrame:
    """Return what :func:`read_changes` returns for a table that was looked up before."""
    versions = versions_between(source, start, end)
    if start is None and source.before(_id(versions[0])) is not None:
        cause = f"the table no longer has the versions before {versions[0].id}, so its feed lacks their rows"
        remedy = "Send the rows of a version with snapshot_inserts, and begin at the next one with start="
        raise table_refused(source.name, cause, remedy, "start")
    if source.format == "iceberg":
        return _iceberg_feed(spark, source, versions)
    _refuse_columns_that_come_back(source, versions)
    parts = [_delta_feed(spark, source, list(part)) for _, part in groupby(versions, attrgetter("columns"))]
    return union_of_reads(_with_common_types(parts))


def versions_between(
    source: VersionedTable, start: dt.datetime | int | None, end: dt.datetime | int | None
) -> list[TableVersion]:
    """Return the versions from ``start`` to ``end``, as in :func:`read_changes`, which tells the errors."""
    versions = [version for version in source.versions if version.id is not None]
    ids = [version.id for version in versions]
    first, last = 0, len(versions) - 1
    for option, bound in (("start", start), ("end", end)):
        if bound is None:
            continue
        if isinstance(bound, dt.datetime):
            ts = tso_of(bound, option)
            places = [
                place
                for place, version in enumerate(versions)
                if (version.commit_ts >= ts if option == "start" else version.commit_ts <= ts)
            ]
        else:
            wanted = version_id(bound, option)
            places = [ids.index(wanted)] if wanted in ids else []
        if not places:
            remedy = f"Its versions are {ids[0]} to {ids[-1]}" if ids else "Write rows into the table first"
            raise table_refused(source.name, f"the table has no version {bound}", remedy, option)
        if option == "start":
            first = places[0]
        else:
            last = places[-1]
    if first > last:
        remedy = "Give an end= that is not before start=" if ids else "Write rows into the table first"
        raise table_refused(source.name, "there is no version to read", remedy, "end")
    return versions[first : last + 1]


def _refuse_columns_that_come_back(source: VersionedTable, versions: Sequence[TableVersion]) -> None:
    """Refuse versions in which a column is missing for a while: the feed has no rows for its values that come back."""
    last_seen: dict[str, int] = {}
    for place, version in enumerate(versions):
        for column in version.columns:
            if last_seen.get(column.identity, place) < place - 1:
                raise table_refused(
                    source.name,
                    f"version {version.id} brought the column {column.field.name} back, and its feed does not have the "
                    "values of old rows",
                    f"Begin at this version; else {NO_FEED}",
                )
            last_seen[column.identity] = place


def _delta_feed(spark: SparkSession, source: VersionedTable, versions: Sequence[TableVersion]) -> DataFrame:
    bounds = {"startingVersion": versions[0].id, "endingVersion": versions[-1].id}
    reader = spark.read.format("delta").option("readChangeFeed", True).options(**bounds)
    with refusing_rows():
        return reader.load(source.name) if is_path(source.name) else reader.table(source.name)


def _with_common_types(parts: Sequence[DataFrame]) -> list[DataFrame]:
    kinds: dict[str, list[DataType]] = {}
    for part in parts:
        for field in part.schema:
            kinds.setdefault(field.name, []).append(field.dataType)
    types = {name: common_type(own) for name, own in kinds.items()}

    def column(field: StructField) -> Column:
        return converted(column_named(field.name), field.dataType, types[field.name]).alias(field.name)

    return [
        part
        if all(field.dataType == types[field.name] for field in part.schema)
        else part.select(*map(column, part.schema))
        for part in parts
    ]


def _id(version: TableVersion) -> int:
    assert version.id is not None
    return version.id


def _iceberg_feed(spark: SparkSession, source: VersionedTable, versions: Sequence[TableVersion]) -> DataFrame:
    today = {column.identity: column.field.name for column in source.versions[-1].columns}
    bounds = {"end-snapshot-id": versions[-1].id, "start-snapshot-id": source.before(_id(versions[0]))}
    reader = spark.read.format("iceberg").options(**{name: id for name, id in bounds.items() if id is not None})
    with refusing_rows():
        feed = reader.load(f"{source.name}{'#' if is_path(source.name) else '.'}changes")
        feed.schema  # noqa: B018 - Spark Connect looks at a source no earlier
    commits_by_name: dict[str, dict[str, list[int]]] = {}
    for version in versions:
        for column in version.columns:
            if column.identity not in today:
                raise table_refused(
                    source.name,
                    f"version {version.id} has the column {column.field.name}, which was dropped since, and Iceberg "
                    "gives its feed the columns of today",
                    f"Begin after that version with start=; else {NO_FEED}",
                )
            commits_by_name.setdefault(column.field.name, {}).setdefault(column.identity, []).append(_id(version))
    form = FORMS["Iceberg's changelog view"]

    def value(name: str, commits: dict[str, list[int]]) -> Column:
        kinds = {identity: feed.schema[today[identity]].dataType for identity in commits}
        kind = common_type(kinds.values())
        result = F.lit(None).cast(kind)
        for identity, ids in commits.items():
            own = converted(column_named(today[identity]), kinds[identity], kind)
            result = own if len(ids) == len(versions) else F.when(F.col(form.commit).isin(ids), own).otherwise(result)
        return result.alias(name)

    stamps = spark.createDataFrame(
        [(_id(version), version.commit_ts) for version in versions], f"{form.commit} long, {form.time} long"
    )
    # Iceberg 1.11 reads the three columns wrongly unless all are read, and refuses filters on them; one text of all,
    # which Spark cannot look into, avoids both
    packed = F.split(F.concat_ws(",", form.operation, form.order, form.commit), ",")
    own_columns = {
        form.operation: packed[0],
        form.order: packed[1].cast("int"),
        form.commit: F.coalesce(packed[2].cast("long"), F.lit(-1)),
    }
    return (
        feed.withColumns(own_columns)
        .join(F.broadcast(stamps), form.commit)
        .select(*(value(name, commits) for name, commits in commits_by_name.items()), *form.columns)
    )
