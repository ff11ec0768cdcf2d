"""Run one parsed DDL statement against the store; return its :class:`DdlEvent` tuple.

Rule source: pingcap/tidb ``pkg/ddl/executor.go`` (the effect of a statement, and its number of jobs) and TiCDC's
``entry/schema_storage`` (which table infos an event carries).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from functools import singledispatchmethod
from typing import TypeVar

from ticdc_emit.errors import DdlError, SchemaError
from ticdc_emit.schema import nodes, statements
from ticdc_emit.schema.alter import TableAlterer
from ticdc_emit.schema.charsets import resolve
from ticdc_emit.schema.events import DdlEvent, GivenText
from ticdc_emit.schema.identifiers import quoted, to_lower
from ticdc_emit.schema.ids import AssignedIds, IdSource
from ticdc_emit.schema.intervals import alter_spelled_out, create_spelled_out, has_interval
from ticdc_emit.schema.job_recorder import JobRecorder, canonical_text
from ticdc_emit.schema.model import Partition, TableInfo
from ticdc_emit.schema.other_jobs import OtherObjects
from ticdc_emit.schema.other_statements import (
    DropSequences,
    Flashback,
    LockTables,
    OtherStatement,
    PlacementPolicy,
    Recover,
    RepairTable,
    ResourceGroup,
    Sequence,
)
from ticdc_emit.schema.partitions import find_partition
from ticdc_emit.schema.sql_mode import sql_mode_of
from ticdc_emit.schema.state import TableState
from ticdc_emit.schema.store import Database, SchemaStore
from ticdc_emit.schema.stored_views import stored_select
from ticdc_emit.schema.tables import build_table, check_identifier, clone_table
from ticdc_emit.schema.views import build_view

__all__ = ["DdlExecutor"]

_S = TypeVar("_S", statements.CreateTable, statements.AlterTable)
_LOCAL = "TEMPORARY"


class DdlExecutor(JobRecorder):
    def __init__(self, store: SchemaStore, zone: dt.tzinfo, ids: IdSource, *, renamed_schema: str) -> None:
        super().__init__(store, ids)
        self._zone = zone
        self._renamed_schema = renamed_schema
        self._others = OtherObjects()
        self._temporary: set[tuple[str, str]] = set()  # local statements, for which TiDB makes no job

    def execute(
        self,
        statement: statements.Statement | OtherStatement,
        query: str,
        schema: str | None,
        commit_ts: int,
        assigned: tuple[AssignedIds, ...],
        sql_mode: str = "",
    ) -> tuple[DdlEvent, ...]:
        """Apply ``statement`` completely or not at all; ``schema`` is the current database if not None."""
        self._query, self._commit_ts, self._assigned, self._sql_mode = query, commit_ts, assigned, sql_mode
        self._canonical = canonical_text(statement)
        self._schema = self._store.current if schema is None else schema
        self._events = []
        ids_before = self._ids.save()
        try:
            self._run(statement)
        except SchemaError:
            self._store.rollback()
            self._ids.restore(ids_before)
            raise
        self._store.commit(commit_ts)
        return tuple(self._events)

    @singledispatchmethod
    def _run(self, statement: object) -> None:
        raise DdlError(f"{type(statement).__name__} is not understood")

    # -- databases -----------------------------------------------------------------------------------------------

    @_run.register
    def _use(self, statement: statements.UseDatabase) -> None:
        self._store.current = self._store.database(statement.name).name

    @_run.register
    def _create_database(self, statement: statements.CreateDatabase) -> None:
        check_identifier(statement.name, "database")
        if self._store.has_database(statement.name):
            if statement.if_not_exists:
                return
            raise DdlError(f"database {statement.name!r} exists", schema=statement.name)
        charset, collate = resolve(statement.charset, statement.collate, self._store.server_default)
        self._store.put_database(Database(statement.name, charset, collate))
        self._ids.next_id()
        self._database_event("create schema", statement.name)

    @_run.register
    def _alter_database(self, statement: statements.AlterDatabase) -> None:
        database = self._store.database(statement.name or self._schema)
        if statement.placement_only:
            self._database_event("modify schema default placement", database.name)
            return
        charset, collate = resolve(statement.charset, statement.collate)
        if database.default != (charset, collate):
            self._store.put_database(Database(database.name, charset, collate))
            self._database_event("modify schema charset and collate", database.name)

    @_run.register
    def _drop_database(self, statement: statements.DropDatabase) -> None:
        if not self._store.has_database(statement.name) and statement.if_exists:
            return
        database = self._store.database(statement.name)
        self._store.drop_database(database.name)
        self._database_event("drop schema", database.name)

    # -- what comes back, and what is no table -------------------------------------------------------------------

    @_run.register
    def _recover(self, statement: Recover) -> None:
        name = statement.table
        if name is None:
            self._bring_back(self._store.dropped_table("", "", statement.number))
        else:
            self._bring_back(self._store.dropped_table(name.schema or self._schema, name.name))

    @_run.register
    def _flashback(self, statement: Flashback) -> None:
        if statement.timestamp is not None or statement.tso:
            self._database_event("flashback cluster", "")
            return
        (named,) = statement.names
        if statement.what == "TABLE":
            dropped = self._store.dropped_table(named.schema or self._schema, named.name)
            self._bring_back(dropped, statement.new_name)
            return
        database, tables = self._store.dropped_database(named.name)
        name = statement.new_name or database.name
        check_identifier(name, "database")
        if self._store.has_database(name):
            raise DdlError(f"database {name!r} exists", schema=name)
        self._store.put_database(replace(database, name=name))
        version = self._ids.version(self._commit_ts)
        back = [replace(state, info=replace(state.info, schema=name, version=version)) for state in tables]
        for state in back:
            self._store.stage(state)
        self._database_event("flashback schema", name, others=tuple(state.info for state in back))

    def _bring_back(self, dropped: TableState, new_name: str = "") -> None:
        info = dropped.info
        name = new_name or info.name
        check_identifier(name, "table")
        if any(state.info.id == info.id for state in self._store.tables()):
            raise DdlError(f"table {info.full_name} is back already", table=info.full_name)
        self._is_free(self._store.database(info.schema), name, if_not_exists=False)
        self._finish("recover table", None, replace(dropped, info=replace(info, name=name)))

    @_run.register(DropSequences)
    @_run.register(LockTables)
    @_run.register(PlacementPolicy)
    @_run.register(RepairTable)
    @_run.register(ResourceGroup)
    @_run.register(Sequence)
    def _other(self, statement: OtherStatement) -> None:
        for job in self._others.run(statement, self._schema):
            for _ in range(job.ids):
                self._ids.next_id()
            self._database_event(job.action, job.schema, job.table)

    # -- tables and views ----------------------------------------------------------------------------------------

    def _resolve(self, name: nodes.TableName) -> tuple[Database, str]:
        schema = name.schema or self._schema
        if not schema:
            raise DdlError(f"no database selected for {name.name!r}", table=name.name)
        return self._store.database(schema), name.name

    def _table(self, name: nodes.TableName) -> TableState:
        return self._store.table(name.schema or self._schema, name.name)

    def _base_table(self, name: nodes.TableName) -> TableState:
        state = self._table(name)
        if state.info.is_view:
            raise DdlError(f"{state.info.full_name} is a view, not a table", table=state.info.full_name)
        return state

    def _is_free(self, database: Database, name: str, *, if_not_exists: bool) -> bool:
        if self._store.find(database.name, name) is None:
            return True
        if if_not_exists:
            return False
        raise DdlError(f"table {database.name}.{name} exists", table=f"{database.name}.{name}")

    @_run.register
    def _create_table(self, statement: statements.CreateTable) -> None:
        database, name = self._resolve(statement.table)
        if statement.select is not None:
            raise DdlError("CREATE TABLE ... AS SELECT is not understood", position=statement.offset)
        if statement.temporary == _LOCAL:
            build_table(statement, database.name, database.default, self._zone)
            self._temporary.add((database.name.lower(), name.lower()))
        elif self._is_free(database, name, if_not_exists=statement.if_not_exists):
            if has_interval(statement):
                whole = replace(statement, partitioning=None)
                bare = build_table(whole, database.name, database.default, self._zone)
                statement = self._runs(*create_spelled_out(statement, self._query, bare, self._quote))
            self._finish("create table", None, build_table(statement, database.name, database.default, self._zone))

    @_run.register
    def _create_tables(self, statement: statements.CreateTables) -> None:
        version = self._ids.version(self._commit_ts)
        schemas = set()
        for part, (table, text) in enumerate(zip(statement.tables, statement.texts, strict=True)):
            database, name = self._resolve(table.table)
            schemas.add(database.name)
            if table.select is not None or table.temporary or len(schemas) > 1:
                raise DdlError("several CREATE TABLE are one job only for plain tables of one database", table=name)
            self._is_free(database, name, if_not_exists=False)
            given = GivenText(
                canonical_text(table), True, self._current, batch=statement.texts, part=part, sql_mode=self._sql_mode
            )
            state = build_table(table, database.name, database.default, self._zone)
            self._finish("create tables", None, state, query=text, given=given, version=version)
        self._ids.next_id()  # the job's

    @_run.register
    def _create_like(self, statement: statements.CreateTableLike) -> None:
        database, name = self._resolve(statement.table)
        source = self._base_table(statement.like)
        if statement.temporary == _LOCAL:
            self._temporary.add((database.name.lower(), name.lower()))
        elif self._is_free(database, name, if_not_exists=statement.if_not_exists):
            self._finish("create table", None, clone_table(source, database.name, name))

    @_run.register
    def _create_view(self, statement: statements.CreateView) -> None:
        database, name = self._resolve(statement.table)
        existing = self._store.find(database.name, name)
        if existing is not None and not (statement.or_replace and existing.info.is_view):
            raise DdlError(f"table {database.name}.{name} exists", table=f"{database.name}.{name}")

        def read(table: nodes.TableName) -> TableInfo:
            return self._table(table).info

        info = build_view(statement, self._query, database.name, self._store.server_default, read)
        stored = stored_select(statement, self._query, self._schema, read)
        given = GivenText(self._canonical, database=self._schema, sql_mode=self._sql_mode, stored=stored)
        self._finish("create view", None, TableState(info, max_column_id=len(info.columns)), given=given)

    @_run.register
    def _drop_tables(self, statement: statements.DropTables) -> None:
        found: list[TableState] = []
        for name in statement.tables:
            if not statement.view and self._is_temporary(name, drop=True):
                continue
            state = self._store.find(name.schema or self._schema, name.name)
            if state is not None and state.info.is_view == statement.view and state not in found:
                found.append(state)
            elif not statement.if_exists and statement.temporary != _LOCAL:
                self._table(name)  # raises UnknownTableError if there is none
                raise DdlError(f"{name.name!r} is not a {'view' if statement.view else 'table'}", table=name.name)
        kind = "view" if statement.view else "table"
        if statement.temporary == _LOCAL:
            return
        for state in found:
            info = state.info
            query = f"DROP {kind.upper()} {quoted(*self._true_name(info))}" if len(statement.tables) > 1 else None
            self._store.stage_drop(info)
            self._finish(f"drop {kind}", info, state, query=query, keep=False)
            if not statement.view:
                self._store.keep_dropped(self._ids.last_id, state)

    def _is_temporary(self, name: nodes.TableName, *, drop: bool = False) -> bool:
        """Whether a name is that of a temporary table of the session; ``drop``: forget it."""
        key = ((name.schema or self._schema).lower(), name.name.lower())
        is_temporary = key in self._temporary
        if drop:
            self._temporary.discard(key)
        return is_temporary

    @_run.register
    def _truncate(self, statement: statements.TruncateTable) -> None:
        if self._is_temporary(statement.table):
            return
        state = self._base_table(statement.table)
        info = replace(state.info, id=0, partitions=tuple(Partition(0, p.name) for p in state.info.partitions))
        self._finish("truncate table", state.info, replace(state, info=info))
        self._store.keep_dropped(self._ids.last_id, state)

    @_run.register
    def _rename_tables(self, statement: statements.RenameTables) -> None:
        several = len(statement.pairs) > 1
        for number, (old, new) in enumerate(statement.pairs):
            self._rename(self._table(old), old, new, own_query=several, own_job=number == 0)
        if several:
            given = [(event, event.given) for event in self._events if event.given is not None]
            renames = tuple((each.renamed_as, (event.schema, event.table)) for event, each in given)
            self._events = [replace(event, given=replace(each, renames=renames)) for event, each in given]

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

    @_run.register
    def _alter_table(self, statement: statements.AlterTable) -> None:
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
            raise DdlError("tables have different definitions", table=other.info.full_name)
        partitions = tuple(replace(p, id=other.info.id) if p is partition else p for p in state.info.partitions)
        exchanged = replace(state, info=replace(state.info, partitions=partitions))
        done = self._finish("exchange partition", other.info, exchanged)
        # one job has one version, which TiDB writes to both tables
        after = replace(other.info, id=partition.id, version=done.info.version)
        self._store.stage(replace(other, info=after))
        self._events[-1] = replace(self._events[-1], others=(after,))


def _shape(info: TableInfo) -> list[tuple[str, int, int, int, str]]:
    return [(c.name.lower(), int(c.type), c.flen, int(c.flags), c.collate) for c in info.columns]
