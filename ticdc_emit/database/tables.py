"""Tables whose rows are held in memory: row changes and DDL in, rows out.

In: a catalog, row changes in canonical text, statements with their commit_ts, in commit order. Out: rows by handle key.
A change that does not fit the rows before it is refused on request. SQL acts on the same rows (``session.py``). What a
statement makes of the rows that exist is in ``rows_after_ddl.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ticdc_emit.changes.model import Op
from ticdc_emit.database.rows_after_ddl import Row, rows_after_ddl
from ticdc_emit.errors import HistoryError, MissingColumnError, MissingImageError, SchemaError
from ticdc_emit.schema.catalog import Catalog, current_database
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo

Rows: TypeAlias = "dict[tuple[Any, ...], Row]"
"""Rows by the texts of the handle key, in table order; without one, by all texts and the number among equal rows."""

Tables: TypeAlias = "dict[tuple[str, str], Rows]"
"""Rows by (schema, table), including tables without rows."""

_Change: TypeAlias = Mapping[str, Any]
_LOSES_ROWS = frozenset({"drop partition", "truncate partition", "exchange partition"})
_FIRST_INSERT = "Insert the row first, or give begins_empty=False if it was there before the history"
_OTHER_KEY = "Use another key, or delete the row first"
_EMPTIES = frozenset({"create table", "truncate table"})


class Database:
    """Holds the rows of tables. ``tables``: the rows so far, ``catalog``: the tables' versions.

    ``checks``: an insert of a row that exists raises :class:`~ticdc_emit.errors.HistoryError`; so does an update or
    delete of one that does not exist, if all tables begin empty (``begins_empty``).
    """

    def __init__(self, catalog: Catalog, time_zone: str, *, checks: bool = False, begins_empty: bool = True) -> None:
        self._refuses_existing = checks
        self._refuses_missing = checks and begins_empty
        self.catalog = catalog
        self.tables: Tables = {(info.schema, info.name): {} for info in catalog.tables() if not info.is_view}
        self._zone = time_zone
        self._database = current_database(None, catalog)

    def commit(self, changes: Sequence[_Change]) -> None:
        """Take the changes of one transaction in one table."""
        info = self.catalog.table(changes[0]["schema"], changes[0]["table"])
        rows = self.tables[info.schema, info.name]
        steps = [(_image(change, "before", info), _image(change, "after", info)) for change in changes]
        moves = any(old and new and handle_of(info, old) != handle_of(info, new) for old, new in steps)
        if moves or any(change.get("seq") is None for change in changes):
            moments = [steps]
        else:
            in_order = sorted(zip((change["seq"] for change in changes), steps, strict=True), key=_first)
            moments = [[step] for _, step in in_order]
        for moment in moments:
            for old, _ in moment:
                if not remove_row(rows, info, old) and self._refuses_missing:
                    raise _misfit("updates or deletes a row that does not exist", _FIRST_INSERT, info, old, changes)
            for _, new in moment:
                if not add_row(rows, info, new) and self._refuses_existing:
                    raise _misfit("adds a row whose key exists", _OTHER_KEY, info, new, changes)

    def apply(self, commit_ts: int, query: str) -> None:
        """Take a statement that comes after everything so far; raises the family of :class:`SchemaError` if it cannot
        be applied.
        """
        for event in self.catalog.apply(query, schema=self._database, commit_ts=commit_ts):
            self._follow(event)

    def _follow(self, event: DdlEvent) -> None:
        info, before = event.table_info, event.pre_table_info
        if event.action == "drop schema":
            self.tables = {name: rows for name, rows in self.tables.items() if name[0] != event.schema}
        if info is None or info.is_view:
            return
        name = info.schema, info.name
        source = name if before is None else (before.schema, before.name)
        if event.action in _LOSES_ROWS:
            if self.tables[name] or self.tables[source]:
                raise SchemaError(
                    "a history does not record which rows are in a partition",
                    remedy="Give the rows that the statement removes as deletes, or leave the statement out",
                    table=info.full_name,
                    statement=event.query,
                )
            return
        rows = self.tables.pop(source, {})
        if event.action == "drop table":
            return
        self.tables[name] = {}
        if event.action not in _EMPTIES and before is not None:
            for row in rows_after_ddl(rows.values(), before, info, self._zone):
                add_row(self.tables[name], info, row)


def handle_of(info: TableInfo, row: Row) -> tuple[str | None, ...]:
    """Return the texts of a row's handle key, in table order; ``()`` for a table without one."""
    return tuple(row[column.name] for column in info.whole_handle_key)


def _first(entry: tuple[Any, ...]) -> Any:
    return entry[0]


def _image(change: _Change, which: str, info: TableInfo) -> Row | None:
    """Return an image that the change's operation must have, with only the columns of the table's version."""
    if Op.parse(change["op"]) is (Op.INSERT if which == "before" else Op.DELETE):
        return None
    image = change.get(which)
    if image is None:
        raise MissingImageError(
            f"the change has no {which} image",
            remedy=f"Give the row its {which} image",
            table=info.full_name,
            commit_ts=change["commit_ts"],
        )
    try:
        return {column.name: image[column.name] for column in info.row_columns}
    except KeyError as fault:
        raise MissingColumnError(
            f"the {which} image lacks a column",
            remedy="Give every column of the table's version at that time; None is NULL",
            table=info.full_name,
            column=fault.args[0],
            commit_ts=change["commit_ts"],
        ) from None


def add_row(rows: Rows, info: TableInfo, row: Row | None) -> bool:
    """Add a row, and return whether its key was free."""
    if row is None:
        return True
    key: tuple[Any, ...] = handle_of(info, row) or (*row.values(), _equal_rows(rows, row))
    is_free = key not in rows
    rows[key] = row
    return is_free


def remove_row(rows: Rows, info: TableInfo, row: Row | None) -> bool:
    """Remove a row, and return whether it existed."""
    if row is None:
        return True
    key: tuple[Any, ...] = handle_of(info, row)
    return rows.pop(key or (*row.values(), _equal_rows(rows, row) - 1), None) is not None


def _misfit(what: str, remedy: str, info: TableInfo, row: Row | None, changes: Sequence[_Change]) -> HistoryError:
    assert row is not None
    if len(changes) > 1:
        remedy += ". If two changes of one transaction build on each other, give them a seq"
    return HistoryError(
        f"a change of the history {what}",
        remedy=remedy,
        table=info.full_name,
        row={column.name: row[column.name] for column in info.whole_handle_key} or row,
        commit_ts=changes[0]["commit_ts"],
    )


def _equal_rows(rows: Rows, row: Row) -> int:
    count = 0
    while (*row.values(), count) in rows:
        count += 1
    return count
