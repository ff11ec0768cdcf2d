"""Databases, tables and their history by name.

Names keep their case and are found in any case (``lower_case_table_names=2``). Changes are staged and take effect
together, so a statement that fails has no effect.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from ticdc_emit.errors import DdlError, UnknownTableError
from ticdc_emit.hints import did_you_mean
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.schema.state import TableState

__all__ = ["Database", "DroppedTable", "SchemaStore"]

TableKey = tuple[str, str]


@dataclass(frozen=True)
class Database:
    """A database, with the charset and collation of its new tables."""

    name: str
    charset: str
    collate: str

    @property
    def default(self) -> tuple[str, str]:
        return self.charset, self.collate


@dataclass(frozen=True)
class DroppedTable:
    """A table before the DDL job that dropped or truncated it."""

    job: int
    state: TableState


class SchemaStore:
    """Databases, tables and their versions; a statement stages its changes, and commits them or rolls them back.

    ``server_default``: charset and collation of new databases. ``current``: the database of names without one.
    """

    def __init__(self, server_default: tuple[str, str]) -> None:
        self.server_default = server_default
        self.current = "test"
        self._databases = {"test": Database("test", *server_default)}
        self._tables: dict[TableKey, TableState] = {}
        self._history: dict[TableKey, list[tuple[int, TableInfo | None]]] = {}
        self._staged: dict[TableKey, TableState | None] = {}
        self._dropped: list[DroppedTable] = []
        self._dropped_databases: dict[str, tuple[Database, tuple[TableState, ...]]] = {}

    # -- databases -----------------------------------------------------------------------------------------------

    def database(self, name: str) -> Database:
        """Return a database; ``DdlError`` if it does not exist."""
        database = self._databases.get(name.lower())
        if database is None:
            raise DdlError(
                f"unknown database {name!r}", remedy="Create it first (CREATE DATABASE), or check its name", schema=name
            )
        return database

    def databases(self) -> tuple[str, ...]:
        return tuple(database.name for database in self._databases.values())

    def has_database(self, name: str) -> bool:
        return name.lower() in self._databases

    def put_database(self, database: Database) -> None:
        self._databases[database.name.lower()] = database

    def drop_database(self, name: str) -> None:
        """Drop a database and stage the drop of its tables; both can come back."""
        database = self._databases.pop(name.lower())
        tables = tuple(state for state in self._tables.values() if state.info.schema.lower() == name.lower())
        for state in tables:
            self.stage_drop(state.info)
        self._dropped = [each for each in self._dropped if each.state.info.schema.lower() != name.lower()]
        self._dropped_databases[name.lower()] = database, tables

    def dropped_database(self, name: str) -> tuple[Database, tuple[TableState, ...]]:
        """Return a dropped database and its tables; ``DdlError`` if there is none."""
        dropped = self._dropped_databases.get(name.lower())
        if dropped is None:
            raise DdlError(f"no database {name!r} was dropped", remedy="Check its name", schema=name)
        return dropped

    # -- tables --------------------------------------------------------------------------------------------------

    def find(self, schema: str, name: str) -> TableState | None:
        key = (schema.lower(), name.lower())
        return self._staged[key] if key in self._staged else self._tables.get(key)

    def table(self, schema: str, name: str) -> TableState:
        """Return a table's current state; ``UnknownTableError`` if there is none."""
        state = self.find(schema, name)
        if state is None:
            known = (f"{each.info.schema}.{each.info.name}" for each in self._tables.values())
            hint = did_you_mean(f"{schema}.{name}", known)
            raise UnknownTableError(
                f"table {schema}.{name} does not exist",
                remedy=f"{hint}If it is another table, apply its CREATE TABLE first"
                if hint
                else "Apply its CREATE TABLE first",
                table=f"{schema}.{name}",
            )
        return state

    def tables(self) -> Iterator[TableState]:
        return iter(self._tables.values())

    def keep_dropped(self, job: int, state: TableState) -> None:
        """Remember a table that a job drops or truncates."""
        self._dropped.append(DroppedTable(job, state))

    def dropped_table(self, schema: str, name: str, job: int = 0) -> TableState:
        """Return the table of the last such job, or of a job id; ``DdlError`` if there is none."""
        for each in reversed(self._dropped):
            info = each.state.info
            named = (info.schema.lower(), info.name.lower()) == (schema.lower(), name.lower())
            if (each.job == job) if job else named:
                return each.state
        what = f"DDL job {job}" if job else f"{schema}.{name}"
        raise DdlError(
            f"there is no dropped or truncated table of {what}",
            remedy="Check the name, or the job's number; the statement that dropped it must come before",
            table=f"{schema}.{name}" if name else None,
        )

    def stage(self, state: TableState) -> None:
        """Stage a table's new state: visible to :meth:`find` at once, permanent with :meth:`commit`."""
        self._staged[state.info.schema.lower(), state.info.name.lower()] = state

    def adopt(self, state: TableState, commit_ts: int) -> bool:
        """Add a table without its statements, valid from ``commit_ts`` on; return ``False`` if its name has a newer
        version.
        """
        history = self._history.get((state.info.schema.lower(), state.info.name.lower()), [])
        if history and history[-1][0] >= commit_ts:
            return False
        self.stage(state)
        self.commit(commit_ts)
        return True

    def stage_drop(self, info: TableInfo) -> None:
        self._staged[info.schema.lower(), info.name.lower()] = None

    def commit(self, commit_ts: int) -> None:
        """Make the staged changes permanent, valid from ``commit_ts`` on."""
        for key, state in self._staged.items():
            history = self._history.setdefault(key, [])
            if state is None:
                self._tables.pop(key, None)
            else:
                self._tables[key] = state
            history.append((max(commit_ts, history[-1][0] if history else 0), state.info if state else None))
        self._staged.clear()

    def rollback(self) -> None:
        self._staged.clear()

    def at(self, schema: str, name: str, commit_ts: int) -> TableInfo:
        """Return the version of a table that was valid at ``commit_ts``; ``UnknownTableError`` if there was none."""
        history = self._history.get((schema.lower(), name.lower()), [])
        position = bisect_right(history, commit_ts, key=lambda entry: entry[0])
        info = history[position - 1][1] if position else None
        if info is None:
            raise UnknownTableError(
                f"table {schema}.{name} does not exist at commit_ts {commit_ts}",
                remedy="Check its name, and that its CREATE TABLE has an earlier commit_ts",
                commit_ts=commit_ts,
            )
        return info

    def histories(self) -> dict[tuple[str, str], tuple[tuple[int, TableInfo | None], ...]]:
        """Return the versions of every table name, oldest first, under the last spelling of the name."""
        found = {}
        for versions in self._history.values():
            known = [info for _, info in versions if info is not None]
            if known:
                found[known[-1].schema, known[-1].name] = tuple(versions)
        return found
