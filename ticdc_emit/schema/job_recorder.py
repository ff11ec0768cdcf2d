"""Record the events of one statement's jobs, with ids and versions as in TiDB.

Rule source: pingcap/tidb ``pkg/ddl`` (``genGlobalIDs``, ``updateVersionAndTableInfo``).
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.errors import DdlError, UnprintableDdlError
from ticdc_emit.schema.events import DdlEvent, GivenText
from ticdc_emit.schema.ids import AssignedIds, IdSource
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.nodes import TableName
from ticdc_emit.schema.nodes.style import Node
from ticdc_emit.schema.state import TableState
from ticdc_emit.schema.store import Database, SchemaStore

__all__ = ["JobRecorder", "canonical_text"]

# jobs that do not change TiDB's update_ts of the table
_KEEPS_UPDATE_TS = frozenset(
    {"rename table", "truncate table", "drop table", "drop view", "truncate partition", "exchange partition"}
)


class JobRecorder:
    """The statement that runs, and the events of its jobs so far."""

    def __init__(self, store: SchemaStore, ids: IdSource) -> None:
        self._store = store
        self._ids = ids
        self._query = ""
        self._sql_mode = ""
        self._canonical: str | UnprintableDdlError = ""
        self._schema = ""
        self._commit_ts = 0
        self._assigned: tuple[AssignedIds, ...] = ()
        self._events: list[DdlEvent] = []

    @property
    def _current(self) -> str:
        """The current database, with its name as created."""
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

    def _database_event(self, action: str, name: str, table: str = "", *, others: tuple[TableInfo, ...] = ()) -> None:
        self._ids.next_id()  # the job's
        given = GivenText(self._canonical, database=self._schema)
        self._events.append(
            DdlEvent(self._query, action, name, table, commit_ts=self._commit_ts, given=given, others=others)
        )

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

        ``schema``: the table's database name from now on; by default as created. ``version``: for a job with several
        tables, which draws its id itself.
        """
        number = len(self._events)
        assigned = self._assigned[number] if number < len(self._assigned) else AssignedIds()
        state = self._numbered(state, assigned, partitions_first=action == "alter table partition by")
        if job and version is None:
            self._ids.next_id()
        if assigned.version is not None:
            version = assigned.version
        elif version is None:
            version = self._ids.version(self._commit_ts) if job else self._last_version()
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

    def _last_version(self) -> int:
        """Return the version that the job gave its previous table: all tables of a job have the same one."""
        last = self._events[-1].table_info
        assert last is not None
        return last.version

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


def canonical_text(statement: Node) -> str | UnprintableDdlError:
    """Return the text as TiDB prints it, or the error of printing it; ``DdlError`` if nested too deeply."""
    try:
        return statement.restore()
    except UnprintableDdlError as error:
        return error
    except RecursionError:
        raise DdlError("DDL is nested too deeply", remedy="Use fewer parentheses") from None


def _with_id(column: Column, assigned: AssignedIds) -> Column:
    return replace(column, id=assigned.column_ids.get(column.name, column.id))
