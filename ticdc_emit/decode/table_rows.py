"""The rows of one table: by handle key, or as a multiset if the table has none.

In: rows in canonical text. Out: ``rows``, by the texts of the handle key in table order; without one by the texts of
all columns in table order and the number of the row among equal ones (from 0).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from ticdc_emit.schema.model import TableInfo

__all__ = ["Change", "Row", "RowKey", "TableRows"]

Row: TypeAlias = "dict[str, str | None]"
RowKey: TypeAlias = "tuple[Any, ...]"


class Change(NamedTuple):
    """The last change of a row: its commit, the rank of its kind in the commit, its partition."""

    commit: int
    rank: int
    place: tuple[str, int]


class TableRows:
    """``info``: the version of the table that the rows have; ``since``: the commit_ts (TSO) of the DDL that made it.

    ``handle``: the names of the handle key's columns.
    """

    def __init__(self, info: TableInfo, since: int = 0) -> None:
        self.info = info
        self.since = since
        self.rows: dict[RowKey, Row] = {}
        self.handle = tuple(column.name for column in info.whole_handle_key)
        self.names = frozenset(column.name for column in info.columns)
        self._columns = tuple(column.name for column in info.row_columns)
        self._equal: dict[RowKey, int] = {}
        self._last: dict[RowKey, Change] = {}

    def key(self, row: Mapping[str, Any]) -> RowKey:
        """Return the handle key of a row; ``KeyError`` if the row does not show it."""
        return tuple([row[name] for name in self.handle])

    def last(self, key: RowKey) -> Change | None:
        """Return the last change of the row of a handle key, including deletes."""
        return self._last.get(key)

    def put(self, row: Row, key: RowKey, change: Change | None = None) -> None:
        """Add a row, or replace that of its handle key (``()`` in a table without)."""
        if not self.handle:
            texts = self._texts(row)
            number = self._equal.get(texts, 0)
            self._equal[texts] = number + 1
            place = (*texts, number)
            self.rows[place] = row
            return
        self.rows[key] = row
        if change is not None:
            self._last[key] = change

    def remove(self, row: Mapping[str, Any] | None, key: RowKey, change: Change | None = None) -> None:
        """Remove a row; one from before the beginning does not exist."""
        if not self.handle:
            texts = self._texts(row or {})
            number = self._equal.get(texts, 0)
            if number:
                self._equal[texts] = number - 1
                place = (*texts, number - 1)
                del self.rows[place]
            return
        self.rows.pop(key, None)
        if change is not None:
            self._last[key] = change

    def refilled(self, info: TableInfo, since: int, rows: Iterable[Row], *, same_keys: bool) -> TableRows:
        """Return the rows under another version. ``same_keys``: whether its handle keys are those of this one."""
        refilled_rows = TableRows(info, since)
        for row in rows:
            refilled_rows.put(row, tuple([row.get(name) for name in refilled_rows.handle]))
        if same_keys and refilled_rows.handle:
            refilled_rows._last = self._last
        return refilled_rows

    def _texts(self, row: Mapping[str, Any]) -> RowKey:
        return tuple([row.get(name) for name in self._columns])
