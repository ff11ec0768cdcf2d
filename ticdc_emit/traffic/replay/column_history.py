"""The DDL of a table's history: what changed in the columns of its versions, in TiDB's SQL. A column keeps its identity
when it is renamed.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ticdc_emit.config.secrets import hides_arguments, mask_text
from ticdc_emit.errors import MissingColumnError, SchemaError, warn_caller
from ticdc_emit.hints import did_you_mean
from ticdc_emit.pipeline.state_store import FsspecStateStore
from ticdc_emit.schema.frames.any_frame import AssumedSchemaWarning, Keys, keys_of
from ticdc_emit.schema.frames.source_table import SourceColumn
from ticdc_emit.schema.frames.spark_types import spark_table, table_facts
from ticdc_emit.schema.model import schema_and_name
from ticdc_emit.spark.change_feed import rising
from ticdc_emit.spark.functions import T
from ticdc_emit.spark.row_changes import required_keys
from ticdc_emit.sql.words import quoted, to_lower
from ticdc_emit.traffic.replay.record import ColumnRecord
from ticdc_emit.traffic.replay.table_versions import (
    TableVersion,
    VersionedTable,
    is_path,
    table_refused,
    versioned_table,
    versions_between,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class TableDdl(NamedTuple):
    """A table's first ``create_table``, and ``ddl``: (commit_ts, statement) in order, for ``replay(..., ddl=...)``."""

    create_table: str
    ddl: tuple[tuple[int, str], ...]


@hides_arguments
def table_ddl(
    spark: SparkSession,
    table: str,
    name: str,
    keys: str | Iterable[str],
    *,
    start: dt.datetime | int | None = None,
    end: dt.datetime | int | None = None,
    format: str | None = None,
    state_uri: str | os.PathLike[str] | None = None,
) -> TableDdl:
    """Return the schema history of a Delta or Iceberg table in TiDB's SQL: its first CREATE TABLE, and an ALTER TABLE
    for each column that was dropped, renamed, changed or added since.

    ``name``: schema.name in TiDB. ``keys``: the columns that identify a row, by their names in the last version.
    ``start``, ``end``, ``format``: as in :func:`read_changes`. What came after the last snapshot of an Iceberg table is
    part of it if that snapshot is. ``state_uri``: of the changefeed that sends the table again and again. The
    statements are kept there: once it has begun a batch, a call goes on where the last one ended, and returns all of
    them, even if the table no longer has their versions.

    A column keeps its identity when it is renamed: Delta's column mapping and Iceberg's field ids. Statements have the
    last TSO before the rows of their version. An added column is nullable and has no default, because older rows are
    NULL there. Types are those of ``ticdc_emit.schema.frames``.

    Raises the errors of :func:`read_changes`, :class:`MissingColumnError` for keys that some version lacks, the family
    of :class:`~ticdc_emit.errors.SchemaError` for a type or a name that TiDB does not have, and with ``state_uri``
    :class:`ConfigError` for a state that does not fit the table, and :class:`~ticdc_emit.errors.StateError`.
    """
    source = versioned_table(spark, table, format)
    steps = _steps(source, start, end)
    if state_uri is None:
        return _described(source, steps, name, keys)[0]
    store = FsspecStateStore(os.fspath(state_uri))
    known = None if store.newest() is None else ColumnRecord.find(store, name)
    return continued_ddl(source, steps, name, keys, store, known)


def _steps(
    source: VersionedTable, start: dt.datetime | int | None = None, end: dt.datetime | int | None = None
) -> Sequence[TableVersion]:
    latest = source.versions[-1:]
    if latest and latest[0].id is None and len(source.versions) == 1 and start is None and end is None:
        return latest  # an Iceberg table without a snapshot
    chosen = versions_between(source, start, end)
    return [*chosen, *(latest if latest[0].id is None and chosen[-1] == source.versions[-2] else ())]


def _key_identities(source: VersionedTable, versions: Sequence[TableVersion], keys: Sequence[str]) -> list[str]:
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


def _described(
    source: VersionedTable, steps: Sequence[TableVersion], name: str, keys: str | Iterable[str]
) -> tuple[TableDdl, list[str]]:
    schema, short_name = schema_and_name(name, [])
    identities = _key_identities(source, steps, required_keys(keys, "a table needs keys"))
    texts, columns = list[str](), list[dict[str, SourceColumn]]()
    for version in steps:
        own = {column.identity: column.field for column in version.columns}
        key_names = [own[identity].name for identity in identities]
        table = spark_table(T.StructType(list(own.values())), (schema, short_name), key_names)
        texts.append(table.create_table())
        columns.append(dict(zip(own, table.columns, strict=True)))
    ddl: list[tuple[int, str]] = []
    for (earlier, before), (later, after) in pairwise(zip(steps, columns, strict=True)):
        if earlier.columns != later.columns:
            statements = list(alterations(before, after, quoted(schema, short_name)))
            first = later.commit_ts - len(statements)
            if first <= earlier.commit_ts:
                raise SchemaError(
                    f"version {later.id} changes {len(statements)} columns in one microsecond",
                    remedy="Begin at this version with start=",
                    table=mask_text(source.name),
                )
            ddl += [(first + nth, text) for nth, text in enumerate(statements)]
    return TableDdl(texts[0], tuple(ddl)), texts


def continued_ddl(
    source: VersionedTable,
    steps: Sequence[TableVersion],
    name: str,
    keys: str | Iterable[str],
    store: FsspecStateStore,
    known: ColumnRecord | None,
    begin_with: str = "versions",
) -> TableDdl:
    """Return what is known of a table with what came after the last known version or, if it is gone, the first one; and
    keep both. A table that has other keys now, or was rolled back, is described anew from where it began.
    """
    joint = None if known is None else place_of(known, steps)
    since = steps if known is None or joint is None else restamped(steps, known)[joint:]
    history, texts = _described(source, since, name, keys)
    begin = since[0].id
    if known is not None:
        is_later = joint is not None or since[0].commit_ts > known.commit_ts
        if is_later and texts[0] == known.last_create_table:
            history = TableDdl(known.create_table, (*known.ddl, *history.ddl))
        elif steps[0].id == known.first_version and steps[0].commit_ts <= known.commit_ts:
            since = steps
            history, texts = _described(source, since, name, keys)
        else:
            raise table_refused(
                source.name,
                f"the state knows the table up to version {known.version}, which does not fit the table's versions",
                "Give the keys and versions that you gave before. If columns changed in versions that the table no "
                "longer has, or it is another table, start anew with another state_uri and topic",
            )
        begin = known.first_version
        begin_with = known.begin_with
    # columns that changed after the last snapshot have no time of their own yet
    last = next((each for each in reversed(since) if each.id is not None), None)
    if last is not None:
        ddl, text = tuple(each for each in history.ddl if each[0] <= last.commit_ts), texts[since.index(last)]
        first, version = begin or 0, last.id or 0
        record = ColumnRecord(begin_with, first, history.create_table, ddl, version, last.commit_ts, text)
        if record != known:
            record.save(store, name)
    return history


def place_of(known: ColumnRecord, versions: Sequence[TableVersion]) -> int | None:
    """Return the place of the last version that is known; ``None`` if it is gone, or has a time of another table."""
    places = (
        nth for nth, each in enumerate(versions) if each.id == known.version and each.commit_ts <= known.commit_ts
    )
    return next(places, None)


def restamped(versions: Sequence[TableVersion], known: ColumnRecord) -> list[TableVersion]:
    """Return versions in order after the last one that is known, also where the clock of a writer went back."""
    place = place_of(known, versions)
    if place is None:
        return list(versions)
    stamps = rising([known.commit_ts, *(each.commit_ts for each in versions[place + 1 :])])
    later = [each._replace(commit_ts=stamp) for each, stamp in zip(versions[place:], stamps, strict=True)]
    return [*versions[:place], *later]


def schema_history(
    spark: SparkSession,
    tables: Mapping[str, VersionedTable],
    keys: Keys = (),
    *,
    start: dt.datetime | int | None = None,
    end: dt.datetime | int | None = None,
) -> tuple[str, list[tuple[int, str]]]:
    """Return the first CREATE TABLE of each table, and the DDL of all; warn once. ``keys``: default the catalog's."""
    texts: list[str] = []
    ddl: list[tuple[int, str]] = []
    for name, source in tables.items():
        own = keys_of(keys, name)
        if not own and not is_path(source.name):
            own = table_facts(spark, source.name).keys
        history, _ = _described(source, _steps(source, start, end), name, own)
        texts.append(history.create_table)
        ddl += history.ddl
    ddl.sort()
    text = ";\n".join(texts) + ";"
    statements = "".join(f"\n{statement};" for _, statement in ddl)
    names = ", ".join(mask_text(source.name) for source in tables.values())
    warn_caller(f"no schema was given, so it is that of {names}:\n{text}{statements}", AssumedSchemaWarning)
    return text, ddl


def alterations(old: Mapping[str, SourceColumn], new: Mapping[str, SourceColumn], table: str) -> Iterator[str]:
    """Yield the statements that turn the columns of one version, by their identities, into those of the next."""
    for identity, column in old.items():
        if identity not in new:
            yield f"ALTER TABLE {table} DROP COLUMN {quoted(column.name)}"
    yield from _renamings({old[each].name: new[each].name for each in old if each in new}, table)
    position = "FIRST"
    for nth, (identity, column) in enumerate(new.items()):
        known = old.get(identity)
        if known is None:
            added = replace(column, nullable=True, default=None, auto_increment=False).definition()
            is_last = nth == len(new) - 1
            yield f"ALTER TABLE {table} ADD COLUMN {added}{'' if is_last else f' {position}'}"
        elif replace(known, name=column.name, assumption="") != replace(column, assumption=""):
            changed = replace(column, auto_increment=known.auto_increment).definition()
            yield f"ALTER TABLE {table} MODIFY COLUMN {changed}"
        position = f"AFTER {quoted(column.name)}"


def _renamings(names: Mapping[str, str], table: str) -> Iterator[str]:
    left = {old: new for old, new in names.items() if old != new}
    while left:
        taken = {to_lower(name) for name in (*names, *names.values())}
        free = next((old for old, new in left.items() if to_lower(new) not in map(to_lower, left.keys() - {old})), None)
        if free is None:
            free = next(iter(left))
            way = next(name for nth in range(len(taken) + 1) if (name := f"renamed_{nth}") not in taken)
            yield f"ALTER TABLE {table} RENAME COLUMN {quoted(free)} TO {quoted(way)}"
            left[way] = left.pop(free)
        else:
            yield f"ALTER TABLE {table} RENAME COLUMN {quoted(free)} TO {quoted(left.pop(free))}"
