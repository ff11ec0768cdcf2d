"""The change feed of a Delta or Iceberg table, read by the format's own reader.

In: the name or path of a table, and the versions to read. Out: a DataFrame in the form of a feed
(``change_feed.FORMS``). A format gives all rows of one read the same columns. Where the columns of the table changed,
Delta's feed is therefore read in parts, and the columns of Iceberg's get the names of each version. Rule sources:
Delta's ``CDCReader`` (the schema of a batch read), Iceberg's ``SparkChangelogTable`` and ``BaseIncrementalScan``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from ticdc_emit.config.secrets import hides_arguments, mask_text
from ticdc_emit.errors import ConfigError
from ticdc_emit.spark.change_feed import FORMS, NO_FEED, feed_refused
from ticdc_emit.spark.frames import union_of_reads
from ticdc_emit.spark.functions import F
from ticdc_emit.spark.row_changes import column_named, common_type, converted
from ticdc_emit.traffic.replay.table_versions import TableVersion, VersionedTable, is_path, version_id, versioned_table
from ticdc_emit.tso import tso_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField


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
        raise ConfigError(
            f"the table no longer has the versions before {versions[0].id}, so its feed lacks their rows",
            remedy="Send the rows of a version with snapshot_inserts, and begin at the next one with start=",
            option="start",
            table=mask_text(source.name),
        )
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
            raise ConfigError(
                f"the table has no version {bound}",
                remedy=f"Its versions are {ids[0]} to {ids[-1]}" if ids else "Write rows into the table first",
                option=option,
                table=mask_text(source.name),
            )
        if option == "start":
            first = places[0]
        else:
            last = places[-1]
    if first > last:
        raise ConfigError(
            "there is no version to read",
            remedy="Give an end= that is not before start=" if ids else "Write rows into the table first",
            option="end",
            table=mask_text(source.name),
        )
    return versions[first : last + 1]


def _refuse_columns_that_come_back(source: VersionedTable, versions: Sequence[TableVersion]) -> None:
    """Refuse versions in which a column is missing for a while: the feed has no rows for its values that come back."""
    last_seen: dict[str, int] = {}
    for place, version in enumerate(versions):
        for column in version.columns:
            if last_seen.get(column.identity, place) < place - 1:
                raise ConfigError(
                    f"version {version.id} brought the column {column.field.name} back, and its feed does not have the "
                    "values of old rows",
                    remedy=f"Begin at this version; else {NO_FEED}",
                    option="table",
                    table=mask_text(source.name),
                )
            last_seen[column.identity] = place


def _delta_feed(spark: SparkSession, source: VersionedTable, versions: Sequence[TableVersion]) -> DataFrame:
    bounds = {"startingVersion": versions[0].id, "endingVersion": versions[-1].id}
    reader = spark.read.format("delta").option("readChangeFeed", True).options(**bounds)
    with feed_refused():
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
    with feed_refused():
        feed = reader.load(f"{source.name}{'#' if is_path(source.name) else '.'}changes")
        feed.schema  # noqa: B018 - Spark Connect looks at a source no earlier
    commits_by_name: dict[str, dict[str, list[int]]] = {}
    for version in versions:
        for column in version.columns:
            if column.identity not in today:
                raise ConfigError(
                    f"version {version.id} has the column {column.field.name}, which was dropped since, and Iceberg "
                    "gives its feed the columns of today",
                    remedy=f"Begin after that version with start=; else {NO_FEED}",
                    option="table",
                    table=mask_text(source.name),
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
