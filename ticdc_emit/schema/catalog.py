"""The schema catalog: DDL statements in, versions of :class:`TableInfo` and :class:`DdlEvent` out.

The same history gives the same ids and versions. Rule source: pingcap/tidb ``pkg/ddl`` and, for what one statement
becomes on the wire, TiCDC (one event per renamed or dropped table).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from typing import Literal, NoReturn, TypeAlias

from ticdc_emit.errors import DdlError, SchemaError, UnknownTableError, UnprintableDdlError
from ticdc_emit.schema.defaults import time_zone_of
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.jobs import DdlExecutor
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.schema.store import AssignedIds, IdSource, SchemaStore, TableState
from ticdc_emit.sql.charsets import resolve
from ticdc_emit.sql.lexer import reading_mode, sql_mode_of
from ticdc_emit.sql.nodes.statements import CreateTable, CreateTables
from ticdc_emit.sql.script import ScriptStatement, parse_ddl, place_in, script_statements
from ticdc_emit.sql.words import quoted

_MOST_NAMED = 8
_SET_ZONE = re.compile(
    r"""(?<![^@]@)(?<!global[ .])\bTIME_ZONE`?\s*:?=\s*(?:(['"])(?P<zone>(?!SYSTEM\b).*?)\1)?""", re.IGNORECASE
)
RenamedSchema: TypeAlias = Literal["lower-case", "as-created"]


class Catalog:
    """Holds the versions of all tables. The database ``test`` exists from the start, as in TiDB."""

    def __init__(
        self,
        *,
        default_charset: str = "utf8mb4",
        default_collate: str = "utf8mb4_bin",
        time_zone: str = "UTC",
        ids: IdSource | None = None,
        renamed_schema: RenamedSchema = "lower-case",
        sql_mode: str = "",
    ) -> None:
        """``time_zone`` (a name or ``+08:00``): the session's, in which TIMESTAMP defaults are written; they are kept
        in UTC. ``sql_mode``: the session's; it affects how statements are read (``ANSI_QUOTES`` ...).
        ``renamed_schema``: the case of a table's database name after a RENAME of one table, until its next DDL. TiCDC
        classic writes it in lower case, the new architecture as it was created.
        """
        zone = _zone_of(time_zone)
        self._store = SchemaStore(resolve(default_charset, default_collate))
        sql_mode_of(sql_mode)
        self._sql_mode = reading_mode(sql_mode)
        self._executor = DdlExecutor(self._store, zone, ids or IdSource(), renamed_schema=renamed_schema)

    def __repr__(self) -> str:
        names = [info.full_name for info in self.tables()]
        more = f", … {len(names):,} in all" if len(names) > _MOST_NAMED else ""
        return f"<Catalog of {', '.join(names[:_MOST_NAMED]) or 'no table'}{more}>"

    def apply(
        self,
        query: str,
        *,
        schema: str | None = None,
        commit_ts: int = 0,
        ids: AssignedIds | Sequence[AssignedIds] | None = None,
        sql_mode: str | None = None,
        charset: str = "utf8mb4",
        batch: bool = False,
        of_job: bool = False,
    ) -> tuple[DdlEvent, ...]:
        """Apply one DDL statement wholly or not at all; return its events (none if TiDB does nothing, as for USE).

        Several CREATE TABLE in one text are one job, like those of BR and fast table creation; ``batch``: so is a
        single one. ``schema``: the current database, ``commit_ts``: a TSO, ``ids``: known ids of the events.
        ``sql_mode``: the session's, if not the catalog's; a strict one refuses defaults. ``charset``: the session's,
        which TiDB keeps for indexes. ``of_job``: as in ``parse_ddl``. Raises ``DdlError``, ``UnknownTableError``.
        """
        assigned = (ids,) if isinstance(ids, AssignedIds) else tuple(ids or ())
        try:
            mode = self._sql_mode if sql_mode is None else sql_mode
            statement = parse_ddl(query, mode, charset, of_job=of_job)
            if batch and isinstance(statement, CreateTable):
                statement = CreateTables((statement,), (query,))
            return self._executor.execute(statement, query, schema, commit_ts, assigned, mode)
        except SchemaError as error:
            _with_statement(error, query)
        except RecursionError:
            raise DdlError(
                "DDL is nested too deeply", remedy="Use fewer parentheses", statement=query, position=0
            ) from None

    def set_time_zone(self, name: str) -> None:
        """Read TIMESTAMP defaults of further statements in another time zone. Raises :class:`SchemaError`."""
        self._executor.zone = _zone_of(name)

    def ensure_database(self, name: str, *, commit_ts: int = 0) -> None:
        """Create the database called ``name`` unless it exists. An empty name does nothing."""
        if name and not self._store.has_database(name):
            self.apply(f"CREATE DATABASE {quoted(name)}", commit_ts=commit_ts)

    def adopt(self, info: TableInfo, *, commit_ts: int) -> bool:
        """Add a table from elsewhere, valid from ``commit_ts`` (TSO) on; ``False`` if its name has a later version."""
        self.ensure_database(info.schema, commit_ts=commit_ts)
        columns, indexes = (max((each.id for each in found), default=0) for found in (info.columns, info.indexes))
        return self._store.adopt(TableState(info, max_column_id=columns, max_index_id=indexes), commit_ts)

    def rename(self, target: Callable[[str, str], tuple[str, str]]) -> None:
        """Give databases (the name "") and tables the names that ``target`` returns; only current versions stay."""
        self._store.rename(target)

    def table(self, schema: str, name: str) -> TableInfo:
        """Return the current version of a table or view (names in any case). Raises ``UnknownTableError``."""
        return self._store.table(schema, name).info

    def state(self, schema: str, name: str) -> TableState:
        """Return :meth:`table` with what its rows must fit: foreign keys, AUTO_INCREMENT, partitions."""
        return self._store.table(schema, name)

    def states(self) -> tuple[TableState, ...]:
        """Return :meth:`state` of all tables and views."""
        return tuple(self._store.tables())

    def tables(self) -> tuple[TableInfo, ...]:
        """Return the current versions of all tables and views, in the order of their creation."""
        return tuple(state.info for state in self._store.tables())

    def databases(self) -> tuple[str, ...]:
        """Return the names of all databases, as they were created."""
        return self._store.databases()

    def at(self, schema: str, name: str, commit_ts: int) -> TableInfo:
        """Return the version that was valid at ``commit_ts``; ``UnknownTableError`` if the table did not exist."""
        return self._store.at(schema, name, commit_ts)

    def histories(self) -> dict[tuple[str, str], tuple[tuple[int, TableInfo | None], ...]]:
        """Return the versions of every table name by (schema, name): commit_ts of the DDL, schema (None: dropped)."""
        return self._store.histories()


def _zone_of(name: str) -> dt.tzinfo:
    try:
        return time_zone_of(name)
    except ValueError as error:
        remedy = "Use an IANA name such as UTC or Asia/Shanghai, or +08:00"
        raise SchemaError(str(error), remedy=remedy, time_zone=name) from None


def _with_statement(error: SchemaError, query: str) -> NoReturn:
    kind = type(error) if isinstance(error, UnknownTableError | UnprintableDdlError) else DdlError
    context = dict(error.context)
    if isinstance(query, str):
        context = {"statement": query, "position": _position_of(error, query), **context}
    raise kind(error.message, remedy=error.remedy, **context) from None


def _position_of(error: SchemaError, query: str) -> int:
    for key in ("column", "index", "partition", "table", "schema"):
        name = str(error.context.get(key, "")).rpartition(".")[2]
        if name and (found := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", query, re.IGNORECASE)):
            return found.start()
    return 0


def catalog_from_sql(
    text: str,
    *,
    schema: str = "test",
    time_zone: str = "UTC",
    commit_ts: int = 0,
    renamed_schema: RenamedSchema = "lower-case",
    sql_mode: str = "",
) -> Catalog:
    """Build a catalog from a script of DDL statements (comments, ``USE``, ``CREATE DATABASE`` ...).

    The script may be a file of mysqldump or Dumpling: all but DDL is skipped; ``SET time_zone`` holds for TIMESTAMP
    defaults. ``schema``: the current database at the start; databases of tables are created. ``renamed_schema``,
    ``sql_mode``: see :class:`Catalog`. Raises ``DdlError`` and ``UnknownTableError``, with a ``place``.
    """
    catalog = Catalog(time_zone=time_zone, renamed_schema=renamed_schema, sql_mode=sql_mode)
    catalog.ensure_database(schema, commit_ts=commit_ts)
    catalog.apply(f"USE {quoted(schema)}")
    for statement in script_statements(text, sql_mode):
        try:
            if statement.word == "SET" and (given := _SET_ZONE.search(statement.text)):
                catalog.set_time_zone(given["zone"] or time_zone)
            if statement.is_schema:
                _apply_anywhere(catalog, statement, commit_ts)
        except SchemaError as error:
            offset = statement.start + error.context.get("position", 0)
            context = {**error.context, "place": place_in(text, offset)}
            raise type(error)(error.message, remedy=error.remedy, **context) from None
    catalog.set_time_zone(time_zone)
    return catalog


def current_database(table: str | None, catalog: Catalog) -> str:
    """Return the database of DDL that names none: that of ``table``, else the one that all tables are in, else test."""
    if table is not None and "." in table:
        return table.partition(".")[0]
    databases = {info.schema for info in catalog.tables()} if table is None else set()
    return databases.pop() if len(databases) == 1 else "test"


def _apply_anywhere(catalog: Catalog, statement: ScriptStatement, commit_ts: int) -> None:
    try:
        catalog.apply(statement.text, commit_ts=commit_ts)
    except DdlError as error:
        unknown = error.context.get("schema", "")  # the database of a table
        if not unknown or statement.word != "CREATE" or unknown.lower() in map(str.lower, catalog.databases()):
            raise
        catalog.ensure_database(unknown, commit_ts=commit_ts)
        catalog.apply(statement.text, commit_ts=commit_ts)
