"""The DDL of a table's history: what changed in the columns of its versions, in TiDB's SQL.

In: a Delta or Iceberg table, and which of its versions. Out: the CREATE TABLE of the first one, and (commit_ts,
statement) of each column that was dropped, renamed, changed or added later. A column is known by its identity, which it
keeps when it is renamed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ticdc_emit.config.secrets import Secret, hides_arguments, mask_text
from ticdc_emit.errors import ConfigError, SchemaError, warn_caller
from ticdc_emit.schema.model import schema_and_name
from ticdc_emit.source_schemas.frames import AssumedSchemaWarning, Keys, keys_of
from ticdc_emit.source_schemas.source_table import SourceColumn, SourceTable
from ticdc_emit.source_schemas.spark_types import spark_table, table_facts
from ticdc_emit.spark.row_changes import required_keys
from ticdc_emit.sql.words import quoted, to_lower
from ticdc_emit.traffic.replay.record import ColumnRecord
from ticdc_emit.traffic.replay.table_history import chosen_versions, key_identities
from ticdc_emit.traffic.replay.table_versions import TableVersion, VersionedTable, is_path, versioned_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class TableDdl(NamedTuple):
    """The schema history of a table. ``create_table``: of the first version. ``ddl``: (commit_ts, statement) in order,
    for ``replay(..., ddl=...)``.
    """

    create_table: str
    ddl: tuple[tuple[int, str], ...]


@hides_arguments
def table_ddl(
    spark: SparkSession,
    table: str,
    name: str,
    keys: str | Iterable[str],
    *,
    versions: int | Iterable[int] | None = None,
    timestamps: dt.datetime | int | Iterable[dt.datetime | int] | None = None,
    format: str | None = None,
    state_uri: str | None = None,
) -> TableDdl:
    """Return the schema history of a Delta or Iceberg table in TiDB's SQL: its first CREATE TABLE, and an ALTER TABLE
    for each column that was dropped, renamed, changed or added since.

    ``name``: schema.name in TiDB. ``keys``, ``versions``, ``timestamps``, ``format``: as in :func:`from_versions`;
    columns are compared between the versions that these choose. What came after the last snapshot of an Iceberg table
    is part of it if that snapshot is chosen.

    ``state_uri``: of the changefeed that sends the table again and again. What is returned is kept there, so a later
    call returns it whole, even if the table no longer has the versions of old statements.

    A column keeps its identity when it is renamed: Delta's column mapping and Iceberg's field ids. Statements have the
    last TSO before the rows of their version. An added column is nullable and has no default, because older rows are
    NULL there. Types are those of ``ticdc_emit.source_schemas``.

    Raises the errors of :func:`from_versions`, the family of :class:`~ticdc_emit.errors.SchemaError` for a type or
    a name that TiDB does not have, and with ``state_uri`` :class:`ConfigError` where columns changed in versions that
    were gone before a call, and :class:`~ticdc_emit.errors.StateError` for a folder that cannot be used.
    """
    source = versioned_table(spark, table, format)
    state = None if state_uri is None else Secret(state_uri)
    return ddl_of_versions(source, name, keys, versions=versions, timestamps=timestamps, state_uri=state)


def ddl_of_versions(
    source: VersionedTable,
    name: str,
    keys: str | Iterable[str],
    *,
    versions: int | Iterable[int] | None = None,
    timestamps: dt.datetime | int | Iterable[dt.datetime | int] | None = None,
    with_later_columns: bool = True,
    state_uri: Secret[str] | None = None,
    anew: bool = False,
) -> TableDdl:
    """Return what :func:`table_ddl` returns for a table that was looked up before.

    ``with_later_columns``: whether what came after the last snapshot of an Iceberg table is part of it. Once the next
    snapshot is there, the same statements have its time. ``anew``: whether what the state knows is forgotten.
    """
    names = required_keys(keys, "a table needs keys")
    schema, short_name = schema_and_name(name, [])
    latest = source.versions[-1:]
    if latest and latest[0].id is None and len(source.versions) == 1 and versions is None and timestamps is None:
        steps: Sequence[TableVersion] = latest  # an Iceberg table without a snapshot
    else:
        chosen = chosen_versions(source, versions, timestamps)
        is_last = with_later_columns and latest[0].id is None and chosen.positions[-1] == len(source.versions) - 2
        steps = [*chosen.versions, *(latest if is_last else ())]
    identities = key_identities(source, steps, names)
    tables = [_table_of(version, (schema, short_name), identities) for version in steps]
    ddl: list[tuple[int, str]] = []
    for (earlier, before), (later, after) in pairwise(zip(steps, tables, strict=True)):
        if earlier.columns != later.columns:
            statements = list(alterations(before, after, quoted(schema, short_name)))
            first = later.commit_ts - len(statements)
            if first <= earlier.commit_ts:
                raise SchemaError(
                    f"version {later.id} changes {len(statements)} columns in one microsecond",
                    remedy="Choose versions= without the one before it",
                    table=mask_text(source.name),
                )
            ddl += [(first + nth, text) for nth, text in enumerate(statements)]
    found = TableDdl(tables[0].table.create_table(), tuple(ddl))
    if state_uri is None:
        return found
    texts = [each.table.create_table() for each in tables]
    known = None if anew else ColumnRecord.find(state_uri, name)
    history = found if known is None else _continued(known, source, steps, texts, found)
    if steps[0].id is None:
        return history
    nth = len(steps) - 1 if steps[-1].id is not None else len(steps) - 2  # later columns have no time of their own yet
    version, commit_ts, _ = steps[nth]
    first = steps[0].id if known is None or history is found else known.first_version
    ddl_until = tuple(each for each in history.ddl if each[0] <= commit_ts)
    record = ColumnRecord(first, history.create_table, ddl_until, version or 0, commit_ts, texts[nth])
    if record != known:
        record.save(state_uri, name)
    return history


def _continued(
    known: ColumnRecord, source: VersionedTable, steps: Sequence[TableVersion], texts: Sequence[str], found: TableDdl
) -> TableDdl:
    """Return what is known of a table with what was found after that. ``texts``: the CREATE TABLE of each step.

    The two are joined at the last version that was known or, if the table no longer has it, at the first one that it
    has. A table that was rolled back, or has other keys now, is described anew.
    """
    joint = next((nth for nth, each in enumerate(steps) if each[:2] == (known.version, known.commit_ts)), None)
    first = steps[0]
    if joint is None and first.commit_ts <= known.commit_ts:
        return found
    place = joint or 0
    if texts[place] == known.last_create_table:
        since = steps[place].commit_ts
        return TableDdl(known.create_table, (*known.ddl, *(each for each in found.ddl if each[0] > since)))
    if joint is not None:
        return found
    raise ConfigError(
        f"the columns of the table changed between version {known.version} and {first.id}, and it no longer has the "
        "versions between them",
        remedy="Start anew with another state_uri and topic, and keep versions for longer than the pause of calls",
        option="table",
        table=mask_text(source.name),
    )


def schema_history(
    spark: SparkSession,
    tables: Mapping[str, VersionedTable],
    keys: Keys = (),
    *,
    versions: Mapping[str, Iterable[int]] | None = None,
) -> tuple[str, list[tuple[int, str]]]:
    """Return the first CREATE TABLE of each table by its ``schema.name`` in TiDB, and the DDL of all in order, for a
    replay that was given no schema; warn once, with the statements.

    ``keys``: default: those that the catalog of ``spark`` knows. ``versions``: those of each table; default: all.
    Raises the errors of :func:`table_ddl`.
    """
    texts: list[str] = []
    ddl: list[tuple[int, str]] = []
    for name, source in tables.items():
        own = keys_of(keys, name)
        if not own and not is_path(source.name):
            own = table_facts(spark, source.name).keys
        history = ddl_of_versions(source, name, own, versions=(versions or {}).get(name))
        texts.append(history.create_table)
        ddl += history.ddl
    ddl.sort()
    text = ";\n".join(texts) + ";"
    statements = "".join(f"\n{statement};" for _, statement in ddl)
    names = ", ".join(mask_text(source.name) for source in tables.values())
    warn_caller(f"no schema was given, so it is that of {names}:\n{text}{statements}", AssumedSchemaWarning)
    return text, ddl


class TrackedTable(NamedTuple):
    """A table whose columns are known by their identities, in order."""

    table: SourceTable
    columns: Mapping[str, SourceColumn]


def _table_of(version: TableVersion, name: tuple[str, str], keys: Sequence[str]) -> TrackedTable:
    from pyspark.sql.types import StructType

    own = {column.identity: column.field for column in version.columns}
    table = spark_table(StructType(list(own.values())), name, [own[identity].name for identity in keys])
    return TrackedTable(table, dict(zip(own, table.columns, strict=True)))


def alterations(before: TrackedTable, after: TrackedTable, table: str) -> Iterator[str]:
    """Yield the statements that turn the columns of one version into those of the next."""
    old, new = before.columns, after.columns
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
    """Yield the statements that rename columns; names that are exchanged go through a name that no column has."""
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
