"""Jobs of databases, and of what RECOVER and FLASHBACK bring back.

In: a parsed statement. Out: the store changed, and the events recorded. Rule source: pingcap/tidb
``pkg/ddl/executor.go``.
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.errors import DdlError
from ticdc_emit.schema import statements
from ticdc_emit.schema.charsets import resolve
from ticdc_emit.schema.job_recorder import JobRecorder
from ticdc_emit.schema.other_statements import Flashback, Recover
from ticdc_emit.schema.state import TableState
from ticdc_emit.schema.store import Database
from ticdc_emit.schema.tables import check_identifier

__all__ = ["DatabaseJobs"]


class DatabaseJobs(JobRecorder):
    """A method for each statement."""

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
        (named,) = statement.names
        if statement.what == "TABLE":
            dropped = self._store.dropped_table(named.schema or self._schema, named.name)
            self._bring_back(dropped, statement.new_name)
            return
        database, tables = self._store.dropped_database(named.name)
        name = statement.new_name or database.name
        check_identifier(name, "database")
        if self._store.has_database(name):
            raise DdlError(
                f"database {name!r} exists", remedy="Write FLASHBACK DATABASE ... TO another name", schema=name
            )
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
            raise DdlError(
                f"table {info.full_name} is back already", remedy="Use the table that exists", table=info.full_name
            )
        self._is_free(self._store.database(info.schema), name, if_not_exists=False)
        self._finish("recover table", None, replace(dropped, info=replace(info, name=name)))
