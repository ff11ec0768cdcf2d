"""Ids and versions: assigned as in TiDB, or given by the caller.

TiDB draws the ids of databases, tables, partitions and jobs from one counter, so the same DDL gives the same ids as in
a fresh cluster. ``version`` (a TSO: when the DDL finished) and ``update_ts`` come from the DDL's commit_ts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ticdc_emit.errors import DdlError, UnknownTableError
from ticdc_emit.hints import did_you_mean
from ticdc_emit.schema.model import Column, Index, TableInfo
from ticdc_emit.sql.nodes.tables import PartitionDefinition, PartitionKey, PartitionMethod, PartitionValues

FIRST_USER_ID = 116
"""The first free id in a fresh TiDB after its system tables (as in the golden vectors)."""


@dataclass(frozen=True)
class AssignedIds:
    """Known ids of one DDL event's result, those of parts by name; others are assigned. The last two are TSOs."""

    table_id: int | None = None
    column_ids: Mapping[str, int] = field(default_factory=dict)
    partition_ids: Mapping[str, int] = field(default_factory=dict)
    version: int | None = None
    update_ts: int | None = None


class IdSource:
    """Deterministic ids: one counter for all of TiDB's ids, and one for versions without a commit_ts."""

    def __init__(self, first_id: int = FIRST_USER_ID) -> None:
        self._next_id = first_id
        self._last_version = 0

    def next_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    @property
    def last_id(self) -> int:
        """The last id drawn, which is the job's if the job draws its id last."""
        return self._next_id - 1

    def reserve(self, used: int) -> None:
        self._next_id = max(self._next_id, used + 1)

    def save(self) -> tuple[int, int]:
        return self._next_id, self._last_version

    def restore(self, saved: tuple[int, int]) -> None:
        self._next_id, self._last_version = saved

    def version(self, commit_ts: int) -> int:
        """Return a version above all previous ones: ``commit_ts`` if it is."""
        self._last_version = max(self._last_version + 1, commit_ts)
        return self._last_version


@dataclass(frozen=True)
class ForeignKey:
    """``parent``: schema and name of the other table, ``referred``: its columns. ``on_delete``, ``on_update``: what
    happens to rows when a row of the other table goes or changes; "" if the statement does not say.
    """

    name: str
    columns: tuple[str, ...]
    parent: tuple[str, str] = ("", "")
    referred: tuple[str, ...] = ()
    on_delete: str = ""
    on_update: str = ""


@dataclass(frozen=True)
class TableState:
    """``max_…_id``: the greatest so far. ``auto_increment``: the least number that may come next."""

    info: TableInfo
    max_column_id: int = 0
    max_index_id: int = 0
    max_foreign_key_id: int = 0
    foreign_keys: tuple[ForeignKey, ...] = ()
    partitioning: PartitionKey | None = None
    partition_values: Mapping[str, PartitionValues] = field(default_factory=dict)
    """What each partition of RANGE and LIST holds, by its name; also of partitions that were dropped."""
    partition_columns: tuple[str, ...] = ()
    temporary: str = ""
    """GLOBAL TEMPORARY or TEMPORARY of a table whose rows never reach TiKV, "" for others."""
    ttl_column: str = ""
    auto_increment: int = 1
    auto_random: str = ""

    @property
    def partition_method(self) -> PartitionMethod:
        return "" if self.partitioning is None else self.partitioning.method

    def with_partition_values(self, definitions: Iterable[PartitionDefinition]) -> TableState:
        """Return the state with what more partitions hold."""
        values = {each.name: each.values for each in definitions if each.values is not None}
        return replace(self, partition_values={**self.partition_values, **values})

    def find_column(self, name: str) -> Column | None:
        """Return the column called ``name`` in any case, hidden ones included."""
        wanted = name.lower()
        return next((column for column in self.info.columns if column.name.lower() == wanted), None)

    def column(self, name: str) -> Column:
        """Return the visible column called ``name`` in any case; ``DdlError`` if there is none."""
        column = self.find_column(name)
        if column is None or column.hidden:
            raise DdlError(f"table {self.info.full_name} has no column {name!r}", remedy="Check its name", column=name)
        return column

    def find_index(self, name: str) -> Index | None:
        wanted = name.lower()
        return next((index for index in self.info.indexes if index.name.lower() == wanted), None)

    def index(self, name: str) -> Index:
        index = self.find_index(name)
        if index is None:
            raise DdlError(f"table {self.info.full_name} has no index {name!r}", remedy="Check its name", index=name)
        return index

    def with_columns(self, columns: tuple[Column, ...]) -> TableState:
        return replace(self, info=replace(self.info, columns=columns))

    def with_indexes(self, indexes: tuple[Index, ...]) -> TableState:
        return replace(self, info=replace(self.info, indexes=indexes))

    def append_columns(self, *columns: Column) -> TableState:
        added = tuple(replace(column, id=number) for number, column in enumerate(columns, self.max_column_id + 1))
        info = replace(self.info, columns=self.info.columns + added)
        return replace(self, info=info, max_column_id=self.max_column_id + len(added))

    def append_index(self, index: Index) -> TableState:
        number = self.max_index_id + 1
        state = replace(self, max_index_id=number)
        return state.with_indexes((*self.info.indexes, replace(index, id=number)))

    def replace_column(self, old_name: str, new: Column) -> TableState:
        wanted = old_name.lower()
        columns = tuple(new if column.name.lower() == wanted else column for column in self.info.columns)
        state = self.with_columns(columns)

        def renamed(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(new.name if name.lower() == wanted else name for name in names)

        state = state.with_indexes(tuple(replace(index, columns=renamed(index.columns)) for index in self.info.indexes))
        foreign_keys = tuple(replace(key, columns=renamed(key.columns)) for key in self.foreign_keys)
        ttl_column = new.name if self.ttl_column.lower() == wanted else self.ttl_column
        partition_columns = renamed(self.partition_columns)
        return replace(state, foreign_keys=foreign_keys, ttl_column=ttl_column, partition_columns=partition_columns)


TableKey = tuple[str, str]


@dataclass(frozen=True)
class Database:
    name: str
    charset: str
    collate: str

    @property
    def default(self) -> tuple[str, str]:
        return self.charset, self.collate


class SchemaStore:
    """Databases, tables and their versions; a statement stages its changes, and commits them or rolls them back."""

    def __init__(self, server_default: tuple[str, str]) -> None:
        self.server_default = server_default
        self.current = "test"
        self._databases = {"test": Database("test", *server_default)}
        self._tables: dict[TableKey, TableState] = {}
        self._history: dict[TableKey, list[tuple[int, TableInfo | None]]] = {}
        self._staged: dict[TableKey, TableState | None] = {}
        self._dropped: list[tuple[int, TableState]] = []
        """Tables before the DDL job that dropped or truncated them, with its id."""

    # -- databases -----------------------------------------------------------------------------------------------

    def database(self, name: str) -> Database:
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
        del self._databases[name.lower()]
        for state in self._tables.values():
            if state.info.schema.lower() == name.lower():
                self.stage_drop(state.info)
        self._dropped = [each for each in self._dropped if each[1].info.schema.lower() != name.lower()]

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
        self._dropped.append((job, state))

    def dropped_table(self, schema: str, name: str, job: int = 0) -> TableState:
        """Return the table of the last such job, or of a job id; ``DdlError`` if there is none."""
        for number, state in reversed(self._dropped):
            info = state.info
            named = (info.schema.lower(), info.name.lower()) == (schema.lower(), name.lower())
            if (number == job) if job else named:
                return state
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
        """Add a table, valid from ``commit_ts`` on; return ``False`` if its name has a newer version."""
        history = self._history.get((state.info.schema.lower(), state.info.name.lower()), [])
        if history and history[-1][0] >= commit_ts:
            return False
        self.stage(state)
        self.commit(commit_ts)
        return True

    def stage_drop(self, info: TableInfo) -> None:
        self._staged[info.schema.lower(), info.name.lower()] = None

    def commit(self, commit_ts: int) -> None:
        for key, state in self._staged.items():
            history = self._history.setdefault(key, [])
            if state is None:
                self._tables.pop(key, None)
            else:
                self._tables[key] = state
            history.append((max(commit_ts, history[-1][0] if history else 0), state.info if state else None))
        self._staged.clear()

    def rename(self, target: Callable[[str, str], TableKey]) -> None:
        """Give databases (the table "") and tables the names that ``target`` returns; earlier versions are gone."""
        states, histories = list(self._tables.values()), self._history
        for database in list(self._databases.values()):
            self.put_database(replace(database, name=target(database.name, "")[0] or database.name))
        self._tables, self._history = {}, {}
        for state in states:
            source = state.info.schema, state.info.name
            schema, name = target(*source)
            if not self.has_database(schema):
                self.put_database(replace(self.database(source[0]), name=schema))
            info = replace(state.info, schema=schema, name=name)
            self._tables[schema.lower(), name.lower()] = replace(state, info=info)
            since, _ = histories[source[0].lower(), source[1].lower()][-1]
            self._history[schema.lower(), name.lower()] = [(since, info)]
        self._dropped = []

    def rollback(self) -> None:
        self._staged.clear()

    def at(self, schema: str, name: str, commit_ts: int) -> TableInfo:
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
        found = {}
        for versions in self._history.values():
            known = [info for _, info in versions if info is not None]
            if known:
                found[known[-1].schema, known[-1].name] = tuple(versions)
        return found
