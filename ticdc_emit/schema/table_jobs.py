"""Jobs of tables and views.

In: a parsed statement. Out: the store changed, and the events recorded. Rule sources: pingcap/tidb
``pkg/ddl/executor.go`` (the effect of a statement, and its number of jobs) and TiCDC's ``entry/schema_storage`` (which
table infos an event carries).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TypeVar

from ticdc_emit.errors import DdlError
from ticdc_emit.schema import nodes, statements
from ticdc_emit.schema.alter import TableAlterer
from ticdc_emit.schema.events import GivenText, renamed_together
from ticdc_emit.schema.identifiers import quoted, to_lower
from ticdc_emit.schema.ids import IdSource
from ticdc_emit.schema.intervals import alter_spelled_out, create_spelled_out, has_interval
from ticdc_emit.schema.job_recorder import JobRecorder, canonical_text
from ticdc_emit.schema.model import Partition, TableInfo
from ticdc_emit.schema.partitions import find_partition
from ticdc_emit.schema.sql_mode import sql_mode_of
from ticdc_emit.schema.state import TableState
from ticdc_emit.schema.store import SchemaStore
from ticdc_emit.schema.stored_views import stored_select
from ticdc_emit.schema.tables import build_table, check_identifier, clone_table
from ticdc_emit.schema.views import build_view

__all__ = ["TableJobs"]

_S = TypeVar("_S", statements.CreateTable, statements.AlterTable)
_LOCAL = "TEMPORARY"


class TableJobs(JobRecorder):
    """A method for each statement. ``zone``: of TIMESTAMP defaults. ``renamed_schema``: a switch of the profile."""

    def __init__(self, store: SchemaStore, zone: dt.tzinfo, ids: IdSource, *, renamed_schema: str) -> None:
        super().__init__(store, ids)
        self._zone = zone
        self._renamed_schema = renamed_schema
        self._temporary: set[tuple[str, str]] = set()  # local statements, for which TiDB makes no job

    def create_table(self, statement: statements.CreateTable) -> None:
        database, name = self._resolve(statement.table)
        if statement.select is not None:
            raise DdlError(
                "CREATE TABLE ... AS SELECT is not understood",
                remedy="Declare the columns, and send the rows as inserts",
                position=statement.offset,
            )
        if statement.temporary == _LOCAL:
            build_table(statement, database.name, database.default, self._zone)
            self._temporary.add((database.name.lower(), name.lower()))
        elif self._is_free(database, name, if_not_exists=statement.if_not_exists):
            if has_interval(statement):
                whole = replace(statement, partitioning=None)
                bare = build_table(whole, database.name, database.default, self._zone)
                statement = self._runs(*create_spelled_out(statement, self._query, bare, self._quote))
            self._finish("create table", None, build_table(statement, database.name, database.default, self._zone))

    def create_tables(self, statement: statements.CreateTables) -> None:
        version = self._ids.version(self._commit_ts)
        schemas = set()
        for part, (table, text) in enumerate(zip(statement.tables, statement.texts, strict=True)):
            database, name = self._resolve(table.table)
            schemas.add(database.name)
            if table.select is not None or table.temporary or len(schemas) > 1:
                raise DdlError(
                    "several CREATE TABLE are one job only for plain tables of one database",
                    remedy="Give each statement its own commit_ts",
                    table=name,
                )
            self._is_free(database, name, if_not_exists=False)
            given = GivenText(
                canonical_text(table), True, self._current, batch=statement.texts, part=part, sql_mode=self._sql_mode
            )
            state = build_table(table, database.name, database.default, self._zone)
            self._finish("create tables", None, state, query=text, given=given, version=version)
        self._ids.next_id()  # the job's

    def create_like(self, statement: statements.CreateTableLike) -> None:
        database, name = self._resolve(statement.table)
        source = self._base_table(statement.like)
        if statement.temporary == _LOCAL:
            self._temporary.add((database.name.lower(), name.lower()))
        elif self._is_free(database, name, if_not_exists=statement.if_not_exists):
            self._finish("create table", None, clone_table(source, database.name, name))

    def create_view(self, statement: statements.CreateView) -> None:
        database, name = self._resolve(statement.table)
        existing = self._store.find(database.name, name)
        if existing is not None and not (statement.or_replace and existing.info.is_view):
            raise DdlError(
                f"table {database.name}.{name} exists",
                remedy="Drop it first, or write CREATE OR REPLACE VIEW for a view",
                table=f"{database.name}.{name}",
            )

        def read(table: nodes.TableName) -> TableInfo:
            return self._table(table).info

        info = build_view(statement, self._query, database.name, self._store.server_default, read)
        stored = stored_select(statement, self._query, self._schema, read)
        given = GivenText(self._canonical, database=self._schema, sql_mode=self._sql_mode, stored=stored)
        self._finish("create view", None, TableState(info, max_column_id=len(info.columns)), given=given)

    def drop_tables(self, statement: statements.DropTables) -> None:
        states: list[TableState] = []
        for name in statement.tables:
            if not statement.view and self._is_temporary(name, drop=True):
                continue
            state = self._store.find(name.schema or self._schema, name.name)
            if state is not None and state.info.is_view == statement.view and state not in states:
                states.append(state)
            elif not statement.if_exists and statement.temporary != _LOCAL:
                self._table(name)  # raises UnknownTableError if there is none
                raise DdlError(
                    f"{name.name!r} is not a {'view' if statement.view else 'table'}",
                    remedy=f"Use DROP {'TABLE' if statement.view else 'VIEW'}",
                    table=name.name,
                )
        kind = "view" if statement.view else "table"
        if statement.temporary == _LOCAL:
            return
        for state in states:
            info = state.info
            query = f"DROP {kind.upper()} {quoted(*self._true_name(info))}" if len(statement.tables) > 1 else None
            self._store.stage_drop(info)
            self._finish(f"drop {kind}", info, state, query=query, keep=False)
            if not statement.view:
                self._store.keep_dropped(self._ids.last_id, state)

    def _is_temporary(self, name: nodes.TableName, *, drop: bool = False) -> bool:
        """Return whether a name is that of a temporary table of the session; ``drop``: forget it."""
        key = ((name.schema or self._schema).lower(), name.name.lower())
        is_temporary = key in self._temporary
        if drop:
            self._temporary.discard(key)
        return is_temporary

    def truncate(self, statement: statements.TruncateTable) -> None:
        if self._is_temporary(statement.table):
            return
        state = self._base_table(statement.table)
        info = replace(state.info, id=0, partitions=tuple(Partition(0, p.name) for p in state.info.partitions))
        self._finish("truncate table", state.info, replace(state, info=info))
        self._store.keep_dropped(self._ids.last_id, state)

    def rename_tables(self, statement: statements.RenameTables) -> None:
        several = len(statement.pairs) > 1
        for number, (old, new) in enumerate(statement.pairs):
            self._rename(self._table(old), old, new, own_query=several, own_job=number == 0)
        if several:
            self._events = renamed_together(self._events)

    def _rename(
        self,
        state: TableState,
        written: nodes.TableName,
        new: nodes.TableName,
        *,
        own_query: bool = False,
        own_job: bool = True,
    ) -> None:
        """Rename a table, named ``written`` in the statement; each of several has a text of its own."""
        database, name = self._resolve(nodes.TableName(new.schema or self._schema, new.name))
        check_identifier(name, "table")
        before = state.info
        old = self._true_name(before)
        if old == (database.name, name):
            return
        self._store.stage_drop(before)
        self._is_free(database, name, if_not_exists=False)
        query = f"RENAME TABLE {quoted(*old)} TO {quoted(database.name, name)}" if own_query else None
        after = replace(state, info=replace(before, schema=database.name, name=name))
        # A job that renames one table has its database in lower case, and classic takes the name from the job; the
        # new architecture takes those of several from the statement.
        if self._renamed_schema == "lower-case":
            schema = None if own_query else to_lower(database.name)
        else:
            schema = new.schema if own_query and new.schema else None
        given = GivenText(
            self._canonical,
            own_query,
            self._current,
            renamed_from=old,
            renamed_as=(written.schema or old[0], written.name),
            sql_mode=self._sql_mode,
        )
        self._finish("rename table", before, after, query=query, schema=schema, job=own_job, given=given)

    def alter_table(self, statement: statements.AlterTable) -> None:
        state = self._base_table(statement.table)
        if has_interval(statement):
            statement = self._runs(*alter_spelled_out(statement, self._query, state, self._quote))
        specs = statement.specs
        if len(specs) == 1 and isinstance(specs[0], nodes.RenameTo):
            self._rename(state, statement.table, specs[0].table)
        elif len(specs) == 1 and isinstance(specs[0], nodes.ExchangePartition):
            self._exchange(state, specs[0])
        else:
            alterer = TableAlterer(self._store.database(state.info.schema).default, self._zone)
            before = state.info
            for step in alterer.alter(state, specs):
                before = self._finish(step.action, before, step.state).info

    def _runs(self, statement: _S, query: str) -> _S:
        """Replace the statement by the one that TiDB runs."""
        self._query, self._canonical = query, canonical_text(statement)
        return statement

    def _quote(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"' if sql_mode_of(self._sql_mode).ansi_quotes else quoted(name)

    def _exchange(self, state: TableState, spec: nodes.ExchangePartition) -> None:
        partition = find_partition(state, spec.partition)
        other = self._base_table(spec.table)
        if other.info.partitions or _shape(other.info) != _shape(state.info):
            raise DdlError(
                "tables have different definitions",
                remedy="Give both tables the same columns and indexes, and the other one no partitions",
                table=other.info.full_name,
            )
        partitions = tuple(replace(p, id=other.info.id) if p is partition else p for p in state.info.partitions)
        exchanged = replace(state, info=replace(state.info, partitions=partitions))
        done = self._finish("exchange partition", other.info, exchanged)
        # one job has one version, which TiDB writes to both tables
        after = replace(other.info, id=partition.id, version=done.info.version)
        self._store.stage(replace(other, info=after))
        self._events[-1] = replace(self._events[-1], others=(after,))


def _shape(info: TableInfo) -> list[tuple[str, int, int, int, str]]:
    return [(c.name.lower(), int(c.type), c.flen, int(c.flags), c.collate) for c in info.columns]
