"""DDL as TiDB's jobs do it, with their ids and versions (pingcap/tidb: ``pkg/ddl``, ``updateVersionAndTableInfo``)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from ticdc_emit.errors import DdlError, SchemaError, UnprintableDdlError
from ticdc_emit.schema.alter import alter
from ticdc_emit.schema.defaults import check_default_in_mode
from ticdc_emit.schema.events import DdlEvent, GivenText, renamed_together
from ticdc_emit.schema.model import Partition, TableInfo
from ticdc_emit.schema.partitions import find_partition
from ticdc_emit.schema.ranges import alter_spelled_out, spelled_out
from ticdc_emit.schema.store import AssignedIds, Database, IdSource, SchemaStore, TableState
from ticdc_emit.schema.tables import build_table, check_identifier, clone_table
from ticdc_emit.schema.views import build_view, stored_select
from ticdc_emit.sql import nodes
from ticdc_emit.sql.charsets import resolve
from ticdc_emit.sql.lexer import sql_mode_of
from ticdc_emit.sql.nodes import statements
from ticdc_emit.sql.nodes.base import Node, TableName
from ticdc_emit.sql.nodes.statements import (
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
from ticdc_emit.sql.words import quoted, to_lower

# jobs that do not change TiDB's update_ts of the table
_KEEPS_UPDATE_TS = frozenset(
    {"rename table", "truncate table", "drop table", "drop view", "truncate partition", "exchange partition"}
)


class JobRecorder:
    def __init__(self, store: SchemaStore, ids: IdSource) -> None:
        self._store = store
        self._ids = ids
        self._query = ""
        self._sql_mode = ""
        self._canonical: str | UnprintableDdlError = ""
        self._schema = ""
        self._commit_ts = 0
        self._assigned: tuple[AssignedIds, ...] = ()
        self._names: set[tuple[str, str, str]] = set()  # kinds and names of what is not a table
        self._events: list[DdlEvent] = []

    @property
    def _current(self) -> str:
        return self._store.database(self._schema).name if self._store.has_database(self._schema) else self._schema

    def _true_name(self, info: TableInfo) -> tuple[str, str]:
        """Return (schema, name) with the database name as created: after RENAME a table may have it in lower case."""
        return self._store.database(info.schema).name, info.name

    def _resolve(self, name: TableName) -> tuple[Database, str]:
        schema = name.schema or self._schema
        if not schema:
            raise DdlError(
                f"no database selected for {name.name!r}",
                remedy="Write the name as database.table, or USE a database first",
                table=name.name,
            )
        return self._store.database(schema), name.name

    def _table(self, name: TableName) -> TableState:
        return self._store.table(name.schema or self._schema, name.name)

    def _base_table(self, name: TableName) -> TableState:
        state = self._table(name)
        if state.info.is_view:
            raise DdlError(
                f"{state.info.full_name} is a view, not a table", remedy="Name a table", table=state.info.full_name
            )
        return state

    def _is_free(self, database: Database, name: str, *, if_not_exists: bool) -> bool:
        if self._store.find(database.name, name) is None:
            return True
        if if_not_exists:
            return False
        raise DdlError(
            f"table {database.name}.{name} exists",
            remedy="Drop it first, or write IF NOT EXISTS",
            table=f"{database.name}.{name}",
        )

    def _database_event(self, action: str, name: str, table: str = "") -> None:
        self._ids.next_id()  # the job's
        given = GivenText(self._canonical, database=self._schema)
        self._events.append(DdlEvent(self._query, action, name, table, commit_ts=self._commit_ts, given=given))

    def _finish(
        self,
        action: str,
        before: TableInfo | None,
        state: TableState,
        *,
        query: str | None = None,
        schema: str | None = None,
        keep: bool = True,
        given: GivenText | None = None,
        version: int | None = None,
    ) -> TableState:
        """Give ids and versions, stage the table unless it is gone, and record the event. ``schema``: by default as
        created. ``version``: for a job with several tables, which draws its id itself.
        """
        number = len(self._events)
        assigned = self._assigned[number] if number < len(self._assigned) else AssignedIds()
        state = self._numbered(state, assigned, partitions_first=action == "alter table partition by")
        if version is None:
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
        if given is None:
            given = GivenText(self._canonical, query is not None, self._current, sql_mode=self._sql_mode)
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
            ids = assigned.column_ids
            columns = tuple(replace(column, id=ids.get(column.name, column.id)) for column in columns)
            state = replace(state, max_column_id=max(state.max_column_id, *(column.id for column in columns)))
        if given is not None:
            table_id = given
            self._ids.reserve(given)
        return replace(state, info=replace(info, id=table_id, partitions=partitions, columns=columns))


def canonical_text(statement: Node) -> str | UnprintableDdlError:
    """Return the text as TiDB prints it, or the error of printing it; ``DdlError`` if nested too deeply."""
    try:
        return statement.restore()
    except UnprintableDdlError as error:
        return error
    except RecursionError:
        raise DdlError("DDL is nested too deeply", remedy="Use fewer parentheses") from None


_S = TypeVar("_S", statements.CreateTable, statements.AlterTable)
_LOCAL = "TEMPORARY"  # a table of one session, for which TiDB makes no job


class TableJobs(JobRecorder):
    """A method for each statement. ``zone``: of TIMESTAMP defaults. ``renamed_schema``: a switch of the release."""

    def __init__(self, store: SchemaStore, zone: dt.tzinfo, ids: IdSource, *, renamed_schema: str) -> None:
        super().__init__(store, ids)
        self.zone = zone
        self._renamed_schema = renamed_schema

    def create_table(self, statement: statements.CreateTable) -> None:
        database, name = self._resolve(statement.table)
        if statement.select is not None:
            raise DdlError(
                "CREATE TABLE ... AS SELECT is not understood",
                remedy="Declare the columns, and send the rows as inserts",
                position=statement.offset,
            )
        _refuse_local(statement)
        if self._is_free(database, name, if_not_exists=statement.if_not_exists):
            by = statement.partitioning
            if by is not None and by.key.interval is not None:
                whole = replace(statement, partitioning=None)
                bare = build_table(whole, database.name, database.default, self.zone)
                by, query = spelled_out(by, self._query, bare, self._quote)
                statement = self._runs(replace(statement, partitioning=by), query)
            self._finish("create table", None, build_table(statement, database.name, database.default, self.zone))

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
            state = build_table(table, database.name, database.default, self.zone)
            self._finish("create tables", None, state, query=text, given=given, version=version)
        self._ids.next_id()  # the job's

    def create_like(self, statement: statements.CreateTableLike) -> None:
        database, name = self._resolve(statement.table)
        source = self._base_table(statement.like)
        _refuse_local(statement)
        if self._is_free(database, name, if_not_exists=statement.if_not_exists):
            self._finish("create table", None, clone_table(source, database.name, name, statement.temporary))

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
        if statement.temporary == _LOCAL:
            return
        for name in statement.tables:
            state = self._store.find(name.schema or self._schema, name.name)
            if state is not None and state.info.is_view == statement.view and state not in states:
                states.append(state)
            elif not statement.if_exists:
                self._table(name)  # raises UnknownTableError if there is none
                raise DdlError(
                    f"{name.name!r} is not a {'view' if statement.view else 'table'}",
                    remedy=f"Use DROP {'TABLE' if statement.view else 'VIEW'}",
                    table=name.name,
                )
        kind = "view" if statement.view else "table"
        for state in states:
            info = state.info
            query = f"DROP {kind.upper()} {quoted(*self._true_name(info))}" if len(statement.tables) > 1 else None
            self._store.stage_drop(info)
            self._finish(f"drop {kind}", info, state, query=query, keep=False)
            if not statement.view:
                self._store.keep_dropped(self._ids.last_id, state)

    def truncate(self, statement: statements.TruncateTable) -> None:
        state = self._base_table(statement.table)
        info = replace(state.info, id=0, partitions=tuple(Partition(0, p.name) for p in state.info.partitions))
        self._finish("truncate table", state.info, replace(state, info=info))
        self._store.keep_dropped(self._ids.last_id, state)

    def rename_tables(self, statement: statements.RenameTables) -> None:
        if len(statement.pairs) == 1:
            ((old, new),) = statement.pairs
            self._rename(self._table(old), old, new)
            return
        version = self._ids.version(self._commit_ts)
        for old, new in statement.pairs:
            self._rename(self._table(old), old, new, version)
        self._ids.next_id()  # the job's
        self._events = renamed_together(self._events)

    def _rename(
        self, state: TableState, written: nodes.TableName, new: nodes.TableName, version: int | None = None
    ) -> None:
        own_query = version is not None
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
        self._finish("rename table", before, after, query=query, schema=schema, given=given, version=version)

    def alter_table(self, statement: statements.AlterTable) -> None:
        state = self._base_table(statement.table)
        spelled, query = alter_spelled_out(statement, self._query, state, self._quote)
        if query != self._query:
            statement = self._runs(spelled, query)
        specs = statement.specs
        if len(specs) == 1 and isinstance(specs[0], nodes.RenameTo):
            self._rename(state, statement.table, specs[0].table)
        elif len(specs) == 1 and isinstance(specs[0], nodes.ExchangePartition):
            self._exchange(state, specs[0])
        else:
            before, database = state.info, self._store.database(state.info.schema)
            for step in alter(state, specs, database.default, self.zone):
                before = self._finish(step.action, before, step.state).info

    def _runs(self, statement: _S, query: str) -> _S:
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


def _refuse_local(statement: statements.CreateTable | statements.CreateTableLike) -> None:
    if statement.temporary == _LOCAL:
        raise DdlError("local temporary tables are not understood", remedy="Leave the table and its rows out")


def _shape(info: TableInfo) -> list[tuple[str, int, int, int, str]]:
    return [(c.name.lower(), int(c.type), c.flen, int(c.flags), c.collate) for c in info.columns]


class DatabaseJobs(JobRecorder):
    def use(self, statement: statements.UseDatabase) -> None:
        self._store.current = self._store.database(statement.name).name

    def create_database(self, statement: statements.CreateDatabase) -> None:
        check_identifier(statement.name, "database")
        if self._store.has_database(statement.name):
            if statement.if_not_exists:
                return
            raise DdlError(
                f"database {statement.name!r} exists",
                remedy="Write CREATE DATABASE IF NOT EXISTS, or drop the database first",
                schema=statement.name,
            )
        charset, collate = resolve(statement.charset, statement.collate, self._store.server_default)
        self._store.put_database(Database(statement.name, charset, collate))
        self._ids.next_id()
        self._database_event("create schema", statement.name)

    def alter_database(self, statement: statements.AlterDatabase) -> None:
        database = self._store.database(statement.name or self._schema)
        if statement.placement_only:
            self._database_event("modify schema default placement", database.name)
            return
        charset, collate = resolve(statement.charset, statement.collate)
        if database.default != (charset, collate):
            self._store.put_database(Database(database.name, charset, collate))
            self._database_event("modify schema charset and collate", database.name)

    def drop_database(self, statement: statements.DropDatabase) -> None:
        if not self._store.has_database(statement.name) and statement.if_exists:
            return
        database = self._store.database(statement.name)
        self._store.drop_database(database.name)
        self._database_event("drop schema", database.name)

    def recover(self, statement: Recover) -> None:
        name = statement.table
        if name is None:
            self._bring_back(self._store.dropped_table("", "", statement.number))
        else:
            self._bring_back(self._store.dropped_table(name.schema or self._schema, name.name))

    def flashback(self, statement: Flashback) -> None:
        if statement.timestamp is not None or statement.tso:
            self._database_event("flashback cluster", "")
            return
        if statement.what != "TABLE":
            raise DdlError("FLASHBACK DATABASE is not understood", remedy="Create the database and its tables anew")
        (named,) = statement.names
        dropped = self._store.dropped_table(named.schema or self._schema, named.name)
        self._bring_back(dropped, statement.new_name)

    def _bring_back(self, dropped: TableState, new_name: str = "") -> None:
        info = dropped.info
        name = new_name or info.name
        check_identifier(name, "table")
        if any(state.info.id == info.id for state in self._store.tables()):
            raise DdlError(
                f"table {info.full_name} is back already", remedy="Use the table that exists", table=info.full_name
            )
        self._is_free(self._store.database(info.schema), name, if_not_exists=False)
        self._finish("recover table", None, replace(dropped, info=replace(info, name=name)))


class OtherJobs(JobRecorder):
    """Jobs about what is not a table."""

    def sequence(self, statement: Sequence) -> None:
        self._one("sequence", statement, statement.name.schema or self._schema, statement.name.name)

    def drop_sequences(self, statement: DropSequences) -> None:
        for name in statement.names:
            self._drop("sequence", name.schema or self._schema, name.name, if_exists=statement.if_exists)

    def placement_policy(self, statement: PlacementPolicy) -> None:
        self._one("placement policy", statement, statement.name)

    def resource_group(self, statement: ResourceGroup) -> None:
        self._one("resource group", statement, statement.name)

    def repair(self, statement: RepairTable) -> None:
        self._database_event("repair table", statement.table.schema or self._schema, statement.table.name)

    def _one(
        self, kind: str, statement: Sequence | PlacementPolicy | ResourceGroup, schema: str, name: str = ""
    ) -> None:
        """Run CREATE, ALTER or DROP. ``schema``: or the name of an object outside databases."""
        verb, condition = statement.verb, statement.condition
        key = (kind, schema.lower(), name.lower())
        if verb == "DROP":
            self._drop(kind, schema, name, if_exists=bool(condition))
        elif not condition or (key in self._names) == (verb == "ALTER"):
            self._names.add(key)
            if verb == "CREATE" and kind != "placement policy":  # which have a counter of their own
                self._ids.next_id()
            self._database_event(f"{verb.lower()} {kind}", schema, name)

    def _drop(self, kind: str, schema: str, name: str, *, if_exists: bool) -> None:
        key = (kind, schema.lower(), name.lower())
        if key in self._names or not if_exists:
            self._names.discard(key)
            self._database_event(f"drop {kind}", schema, name)


class DdlExecutor(TableJobs, DatabaseJobs, OtherJobs):
    """``store``: the databases and tables, ``ids``: TiDB's counters; both are as before if a statement fails."""

    def execute(
        self,
        statement: statements.Statement | OtherStatement,
        query: str,
        schema: str | None,
        commit_ts: int,
        assigned: tuple[AssignedIds, ...],
        sql_mode: str = "",
    ) -> tuple[DdlEvent, ...]:
        """Apply ``statement`` wholly or not at all. ``schema``: the current database, ``None`` for that of the last
        USE. ``assigned``: ids that TiDB gave, for each job. Raises the family of :class:`SchemaError`.
        """
        self._query, self._commit_ts, self._assigned, self._sql_mode = query, commit_ts, assigned, sql_mode
        self._canonical = canonical_text(statement)
        self._schema = self._store.current if schema is None else schema
        self._events = []
        ids_before = self._ids.save()
        try:
            _JOBS[type(statement)](self, statement)
            if isinstance(statement, statements.CreateTable | statements.AlterTable):
                self._check_defaults()
        except (SchemaError, RecursionError):
            self._store.rollback()
            self._ids.restore(ids_before)
            raise
        self._store.commit(commit_ts)
        return tuple(self._events)

    def _check_defaults(self) -> None:
        for event in self._events:
            before = () if event.pre_table_info is None else event.pre_table_info.columns
            for column in () if event.table_info is None else event.table_info.columns:
                if column not in before:
                    check_default_in_mode(column, self._sql_mode)


_JOBS: dict[type, Callable[[DdlExecutor, Any], None]] = {
    statements.UseDatabase: DdlExecutor.use,
    statements.CreateDatabase: DdlExecutor.create_database,
    statements.AlterDatabase: DdlExecutor.alter_database,
    statements.DropDatabase: DdlExecutor.drop_database,
    Recover: DdlExecutor.recover,
    Flashback: DdlExecutor.flashback,
    statements.CreateTable: DdlExecutor.create_table,
    statements.CreateTables: DdlExecutor.create_tables,
    statements.CreateTableLike: DdlExecutor.create_like,
    statements.CreateView: DdlExecutor.create_view,
    statements.DropTables: DdlExecutor.drop_tables,
    statements.TruncateTable: DdlExecutor.truncate,
    statements.RenameTables: DdlExecutor.rename_tables,
    statements.AlterTable: DdlExecutor.alter_table,
    statements.CreateIndex: DdlExecutor.alter_table,
    statements.DropIndexOn: DdlExecutor.alter_table,
    Sequence: DdlExecutor.sequence,
    DropSequences: DdlExecutor.drop_sequences,
    PlacementPolicy: DdlExecutor.placement_policy,
    ResourceGroup: DdlExecutor.resource_group,
    RepairTable: DdlExecutor.repair,
    LockTables: lambda executor, statement: None,  # no job by default
}
