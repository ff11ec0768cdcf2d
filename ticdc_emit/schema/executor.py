"""Runs one parsed DDL statement against the store: statement node in, :class:`DdlEvent` tuple out.

Rule source: pingcap/tidb ``pkg/ddl/executor.go`` (what a statement does, and how many jobs it is) and TiCDC's
``entry/schema_storage`` (which table infos an event carries).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from functools import singledispatchmethod
from typing import TypeVar

from ticdc_emit.errors import DdlError, SchemaError, UnprintableDdlError
from ticdc_emit.schema import nodes, statements
from ticdc_emit.schema.alter import TableAlterer
from ticdc_emit.schema.charsets import resolve
from ticdc_emit.schema.events import DdlEvent, GivenText
from ticdc_emit.schema.identifiers import quoted, to_lower
from ticdc_emit.schema.ids import AssignedIds, IdSource
from ticdc_emit.schema.intervals import alter_spelled_out, create_spelled_out, has_interval
from ticdc_emit.schema.model import Column, Partition, TableInfo
from ticdc_emit.schema.partitions import find_partition
from ticdc_emit.schema.sql_mode import sql_mode_of
from ticdc_emit.schema.state import TableState
from ticdc_emit.schema.store import Database, SchemaStore
from ticdc_emit.schema.tables import build_table, check_identifier, clone_table
from ticdc_emit.schema.views import build_view

__all__ = ["DdlExecutor"]

_S = TypeVar("_S", statements.CreateTable, statements.AlterTable)
# Jobs that leave TiDB's update_ts of the table as it was.
_KEEPS_UPDATE_TS = frozenset(
    {"rename table", "truncate table", "drop table", "drop view", "truncate partition", "exchange partition"}
)


class DdlExecutor:
    def __init__(self, store: SchemaStore, zone: dt.tzinfo, ids: IdSource, *, renamed_schema: str) -> None:
        self._store = store
        self._zone = zone
        self._ids = ids
        self._renamed_schema = renamed_schema
        self._query = ""
        self._sql_mode = ""
        self._canonical: str | UnprintableDdlError = ""
        self._schema = ""
        self._commit_ts = 0
        self._assigned: tuple[AssignedIds, ...] = ()
        self._events: list[DdlEvent] = []

    def execute(
        self,
        statement: statements.Statement,
        query: str,
        schema: str | None,
        commit_ts: int,
        assigned: tuple[AssignedIds, ...],
        sql_mode: str = "",
    ) -> tuple[DdlEvent, ...]:
        """Apply ``statement`` as a whole or not at all; ``schema`` is the current database if not None."""
        self._query, self._commit_ts, self._assigned, self._sql_mode = query, commit_ts, assigned, sql_mode
        self._canonical = _canonical(statement)
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
        for state in list(self._store.tables()):
            if state.info.schema.lower() == database.name.lower():
                self._store.stage_drop(state.info)
        self._store.drop_database(database.name)
        self._database_event("drop schema", database.name)

    def _database_event(self, action: str, name: str) -> None:
        self._ids.next_id()  # the job's
        given = GivenText(self._canonical, database=self._schema)
        self._events.append(DdlEvent(self._query, action, name, "", commit_ts=self._commit_ts, given=given))

    # -- tables and views ----------------------------------------------------------------------------------------

    def _resolve(self, name: nodes.TableName) -> tuple[Database, str]:
        schema = name.schema or self._schema
        if not schema:
            raise DdlError(f"no database selected for {name.name!r}", table=name.name)
        return self._store.database(schema), name.name

    def _true_name(self, info: TableInfo) -> tuple[str, str]:
        """Return (schema, name), the database as it was created: a table after RENAME may show it in lower case."""
        return self._store.database(info.schema).name, info.name

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
        if not self._is_free(database, name, if_not_exists=statement.if_not_exists):
            return
        if has_interval(statement):
            whole = replace(statement, partitioning=None)
            bare = build_table(whole, database.name, database.default, self._zone)
            statement = self._runs(*create_spelled_out(statement, self._query, bare, self._quote))
        state = build_table(statement, database.name, database.default, self._zone)
        if not statement.temporary:  # TiCDC does not replicate temporary tables
            self._finish("create table", None, state)

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
            given = GivenText(_canonical(table), True, self._schema, ("", ""), statement.texts, part, self._sql_mode)
            state = build_table(table, database.name, database.default, self._zone)
            self._finish("create tables", None, state, query=text, given=given, version=version)
        self._ids.next_id()  # the job's

    @_run.register
    def _create_like(self, statement: statements.CreateTableLike) -> None:
        database, name = self._resolve(statement.table)
        source = self._base_table(statement.like)
        if self._is_free(database, name, if_not_exists=statement.if_not_exists) and not statement.temporary:
            self._finish("create table", None, clone_table(source, database.name, name))

    @_run.register
    def _create_view(self, statement: statements.CreateView) -> None:
        database, name = self._resolve(statement.table)
        existing = self._store.find(database.name, name)
        if existing is not None and not (statement.or_replace and existing.info.is_view):
            raise DdlError(f"table {database.name}.{name} exists", table=f"{database.name}.{name}")
        info = build_view(
            statement, self._query, database.name, self._store.server_default, lambda table: self._table(table).info
        )
        self._finish("create view", None, TableState(info, max_column_id=len(info.columns)))

    @_run.register
    def _drop_tables(self, statement: statements.DropTables) -> None:
        found: list[TableState] = []
        for name in statement.tables:
            state = self._store.find(name.schema or self._schema, name.name)
            if state is not None and state.info.is_view == statement.view and state not in found:
                found.append(state)
            elif not statement.if_exists:
                self._table(name)  # raises UnknownTableError if there is none
                raise DdlError(f"{name.name!r} is no {'view' if statement.view else 'table'}", table=name.name)
        kind = "view" if statement.view else "table"
        if statement.temporary:
            return
        for state in found:
            info = state.info
            query = f"DROP {kind.upper()} {quoted(*self._true_name(info))}" if len(statement.tables) > 1 else None
            self._store.stage_drop(info)
            self._finish(f"drop {kind}", info, state, query=query, keep=False)

    @_run.register
    def _truncate(self, statement: statements.TruncateTable) -> None:
        state = self._base_table(statement.table)
        info = replace(state.info, id=0, partitions=tuple(Partition(0, p.name) for p in state.info.partitions))
        self._finish("truncate table", state.info, replace(state, info=info))

    @_run.register
    def _rename_tables(self, statement: statements.RenameTables) -> None:
        several = len(statement.pairs) > 1
        for number, (old, new) in enumerate(statement.pairs):
            self._rename(self._table(old), new, own_query=several, own_job=number == 0)

    def _rename(
        self, state: TableState, new: nodes.TableName, *, own_query: bool = False, own_job: bool = True
    ) -> None:
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
        # A job that renames one table names its database in lower case, and TiCDC takes the name from the job.
        schema = to_lower(database.name) if self._renamed_schema == "lower-case" and not own_query else None
        self._finish("rename table", before, after, query=query, schema=schema, job=own_job)

    @_run.register
    def _alter_table(self, statement: statements.AlterTable) -> None:
        state = self._base_table(statement.table)
        if has_interval(statement):
            statement = self._runs(*alter_spelled_out(statement, self._query, state, self._quote))
        specs = statement.specs
        if len(specs) == 1 and isinstance(specs[0], nodes.RenameTo):
            self._rename(state, specs[0].table)
        elif len(specs) == 1 and isinstance(specs[0], nodes.ExchangePartition):
            self._exchange(state, specs[0])
        else:
            alterer = TableAlterer(self._store.database(state.info.schema).default, self._zone)
            before = state.info
            for step in alterer.alter(state, specs):
                before = self._finish(step.action, before, step.state).info

    def _runs(self, statement: _S, query: str) -> _S:
        """Take the statement that TiDB runs in place of the one given."""
        self._query, self._canonical = query, _canonical(statement)
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
        # One job, one version: TiDB writes both tables with it.
        self._store.stage(replace(other, info=replace(other.info, id=partition.id, version=done.info.version)))

    # -- events --------------------------------------------------------------------------------------------------

    def _finish(
        self,
        action: str,
        before: TableInfo | None,
        state: TableState,
        *,
        query: str | None = None,
        schema: str | None = None,
        job: bool = True,
        keep: bool = True,
        given: GivenText | None = None,
        version: int | None = None,
    ) -> TableState:
        """Give ids and versions, stage the table unless it is gone, and record the event.

        ``schema``: how the table names its database from now on; by default as that was created. ``version``: that of a
        job with several tables, which draws its id itself.
        """
        number = len(self._events)
        assigned = self._assigned[number] if number < len(self._assigned) else AssignedIds()
        state = self._numbered(state, assigned, partitions_first=action == "alter table partition by")
        if job and version is None:
            self._ids.next_id()
        if assigned.version is not None:
            version = assigned.version
        elif version is None:
            version = self._ids.version(self._commit_ts)
        update_ts = assigned.update_ts
        if update_ts is None:
            update_ts = before.update_ts if before is not None and action in _KEEPS_UPDATE_TS else version
        schema = self._true_name(state.info)[0] if schema is None else schema
        state = replace(state, info=replace(state.info, schema=schema, version=version, update_ts=update_ts))
        if keep:
            self._store.stage(state)
        info = state.info
        renamed_from = self._true_name(before) if before is not None and action == "rename table" else ("", "")
        if given is None:
            given = GivenText(self._canonical, query is not None, self._schema, renamed_from, sql_mode=self._sql_mode)
        text = self._query if query is None else query
        self._events.append(DdlEvent(text, action, info.schema, info.name, info, before, self._commit_ts, given=given))
        return state

    def _numbered(self, state: TableState, assigned: AssignedIds, *, partitions_first: bool) -> TableState:
        info = state.info
        given = assigned.table_id
        if given is not None:
            self._ids.reserve(given - 1 if partitions_first or info.id else given)
        table_id = info.id
        if not table_id and not partitions_first:
            table_id = self._ids.next_id() if given is None else given
        partitions = tuple(
            replace(p, id=assigned.partition_ids.get(p.name, p.id) or self._ids.next_id()) for p in info.partitions
        )
        if not table_id:
            table_id = self._ids.next_id()
        columns = info.columns
        if assigned.column_ids:
            columns = tuple(_with_id(column, assigned) for column in columns)
            state = replace(state, max_column_id=max(state.max_column_id, *(column.id for column in columns)))
        if given is not None:
            table_id = given
            self._ids.reserve(given)
        return replace(state, info=replace(info, id=table_id, partitions=partitions, columns=columns))


def _canonical(statement: statements.Statement) -> str | UnprintableDdlError:
    try:
        return statement.restore()
    except UnprintableDdlError as error:
        return error
    except RecursionError:
        raise DdlError("DDL is nested too deeply") from None


def _with_id(column: Column, assigned: AssignedIds) -> Column:
    return replace(column, id=assigned.column_ids.get(column.name, column.id))


def _shape(info: TableInfo) -> list[tuple[str, int, int, int, str]]:
    return [(c.name.lower(), int(c.type), c.flen, int(c.flags), c.collate) for c in info.columns]
