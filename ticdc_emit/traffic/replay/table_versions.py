"""The versions that a Delta or Iceberg table keeps: their commit times, columns and rows.

In: the name or path of a table that Spark reads. Out: its :class:`TableVersion` s in order, and the rows of one. The
formats' logs are read as data, so this also works over Spark Connect. Rule sources: Delta's protocol ("Delta Log
Entries", "Column Mapping", "Change Metadata"), Iceberg's specification ("Table Metadata").
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from ticdc_emit.config.secrets import foreign_text, mask_text
from ticdc_emit.errors import ConfigError, shown
from ticdc_emit.hints import whole_number
from ticdc_emit.schema.frames import delta_log
from ticdc_emit.schema.frames.spark_types import name_parts
from ticdc_emit.spark.change_feed import rising
from ticdc_emit.spark.functions import F
from ticdc_emit.spark.row_changes import LOST_FILE
from ticdc_emit.sql.words import quoted
from ticdc_emit.traffic.replay.sources import format_of, read_source, unknown_format
from ticdc_emit.tso import tso_from_micros

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType


class TableColumn(NamedTuple):
    """A column of a version. ``identity``: it stays when the column is renamed, and no other column ever has it."""

    identity: str
    field: StructField


class TableVersion(NamedTuple):
    """A version. ``id``: Delta's version or Iceberg's snapshot id; ``None`` for columns that changed after the last
    one. ``commit_ts``: the TSO of its rows; it only rises, even if the clock of the table's writers went back.
    """

    id: int | None
    commit_ts: int
    columns: tuple[TableColumn, ...]


class VersionedTable(Protocol):
    """A table that keeps its versions. ``format``: ``delta`` or ``iceberg``."""

    @property
    def name(self) -> str:
        """Its name or path, as it was given."""

    @property
    def format(self) -> str: ...

    @property
    def versions(self) -> Sequence[TableVersion]:
        """All versions that the table keeps, in order."""

    def rows(self, version: int) -> DataFrame:
        """Return the rows of the version with this id."""

    def before(self, version: int) -> int | None:
        """Return the id of the version before, even if the table no longer has it; ``None`` before its first one."""


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
    """Return a table by its name in a catalog of Spark, or by its path.

    ``format``: ``delta`` or ``iceberg``; default: by the catalog, or by the files of a folder on this machine. Raises
    :class:`ConfigError` for another format and a table that cannot be read, and
    :class:`~ticdc_emit.errors.MissingDependencyError` where Spark lacks the format's package.
    """
    by_path = is_path(table)
    found = format or (format_of(table) if by_path else None) or _format_in_catalog(spark, table)
    if found not in _FORMATS:
        raise ConfigError(
            f"a table of the format {found} keeps no versions",
            remedy="Give a Delta or an Iceberg table, or its copies to from_snapshots",
            option="table",
            table=mask_text(table),
        )
    name = table if by_path else quoted(*name_parts(table))  # in quotes, no folder has it
    read_source(spark, name, format=found if by_path else None)  # its errors name missing packages
    return _FORMATS[found](spark, table)


def is_path(table: str) -> bool:
    """Return whether a table is given by its path, not by its name in a catalog."""
    return "/" in table and "`" not in table


def _format_in_catalog(spark: SparkSession, table: str) -> str:
    if is_path(table):
        raise unknown_format(table)
    with versions_refused(table):
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").where("col_name = 'Provider'").collect()
    return str(rows[0]["data_type"]).lower() if rows else "view"


_LOST = re.compile(
    rf"{LOST_FILE.pattern}|FILE_NOT_FOUND|VERSION_NOT_FOUND|VersionNotFound|TRUNCATED_TRANSACTION_LOG"
    r"|Cannot time travel|Cannot find (a )?snapshot"
)


@contextmanager
def versions_refused(table: str) -> Iterator[None]:
    """Turn the errors of Spark and the formats into :class:`ConfigError`, with their first line and a remedy."""
    from pyspark.errors import PySparkException

    try:
        yield
    except Exception as error:  # errors of the JVM have py4j's own type
        text = str(error)
        if not isinstance(error, PySparkException) and "java" not in text.lower():
            raise
        lines = text.strip().splitlines()
        lost = next((line for line in lines if _LOST.search(line)), None)
        if lost is None:
            cause = "the versions of the table cannot be read"
            remedy = "Check its name, and whether Spark may read its log"
        else:
            cause = "the table no longer has a version, or a file of it"
            remedy = (
                "Begin at a later version (start=). VACUUM and expire_snapshots remove old ones: let them keep the "
                "history that you replay"
            )
        raise ConfigError(
            f"{cause}: {foreign_text((lost or lines[0]).strip())}",
            remedy=remedy,
            option="table" if lost is None else "start",
            table=mask_text(table),
        ) from None


def tracked_columns(versions: Iterable[Sequence[TableColumn]], *, by_name: bool) -> list[tuple[TableColumn, ...]]:
    """Return the columns of each version with identities ``c0``, ``c1`` ... that hold for all versions.

    ``by_name``: whether a column whose identity is new continues the one with its name that is gone: a table that was
    replaced has new identities for the same columns.
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
    def _commits(self) -> list[tuple[int, int]]:
        """(version, microseconds) in order."""
        with versions_refused(self.name):
            history = self.spark.sql(f"DESCRIBE HISTORY {self._target}")
            rows = history.select("version", F.unix_micros("timestamp").alias("at")).collect()
        return sorted((row["version"], row["at"]) for row in rows)

    @cached_property
    def versions(self) -> list[TableVersion]:
        first = self._commits[0][0]
        with versions_refused(self.name):
            schemas = delta_log.committed_schemas(self.spark, self._folder)
            checkpoints = delta_log.checkpointed_schemas(self.spark, self._folder) if first > 0 else {}
        if first > 0:  # a version needs a checkpoint, or all commits before it
            first = max(first, min(checkpoints, default=0))
            schemas = checkpoints | schemas
        commits = [(version, at) for version, at in self._commits if version >= first]
        ids = [version for version, _ in commits]
        since = sorted(schemas)
        current = [max((each for each in since if each <= version), default=None) for version in ids]
        if not current or current[0] is None:
            raise ConfigError(
                "the log of the table does not hold the columns of its first version",
                remedy="Check that Spark may read the checkpoints in the table's _delta_log",
                option="table",
                table=mask_text(self.name),
            )
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
                of_schema[schema] = self._columns(schema, self._frame(each["snapshot-id"]).schema)
        stamps = [tso_from_micros(each["timestamp-ms"] * 1000) for each in self._snapshots]
        versions: list[int | None] = [each["snapshot-id"] for each in self._snapshots]
        if not ids or ids[-1] != last:
            of_schema[last] = self._columns(last, self._frame(None).schema)
            ids.append(last)
            stamps.append(tso_from_micros(self._metadata["last-updated-ms"] * 1000))
            versions.append(None)
        columns = tracked_columns((of_schema[each] for each in ids), by_name=False)
        return list(map(TableVersion, versions, rising(stamps), columns))

    def _columns(self, schema: int, kind: StructType) -> list[TableColumn]:
        fields = next(each["fields"] for each in self._metadata["schemas"] if each["schema-id"] == schema)
        return [TableColumn(str(one["id"]), field) for one, field in zip(fields, kind.fields, strict=True)]

    def _frame(self, snapshot: int | None) -> DataFrame:
        reader = self.spark.read.format("iceberg")
        with versions_refused(self.name):
            frame = (reader if snapshot is None else reader.option("versionAsOf", snapshot)).load(self.name)
            frame.schema  # noqa: B018 - Spark Connect looks at a source no earlier
        return frame

    def rows(self, version: int) -> DataFrame:
        return self._frame(version)

    def before(self, version: int) -> int | None:
        parents = {each["snapshot-id"]: each.get("parent-snapshot-id") for each in self._snapshots}
        parent: int | None = parents[version]
        return parent


_FORMATS: Mapping[str, Callable[[SparkSession, str], VersionedTable]] = {"delta": _DeltaTable, "iceberg": _IcebergTable}
