"""Foreign keys: whether a changed row still refers to one that exists, and whether others refer to it.

In: rows as a statement adds, changes and removes them. Out: TiDB's error 1452 or nothing, and the rows that refer to
one; what becomes of these is in ``statement.py``. Rule source: pingcap/tidb ``pkg/executor/foreign_key.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ticdc_emit.database.row_values import key_part
from ticdc_emit.database.tables import Database
from ticdc_emit.database.transaction import StoredTable
from ticdc_emit.errors import StatementError, UnknownTableError
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.row_versions import Row
from ticdc_emit.schema.store import ForeignKey, TableState

NO_PARENT, HAS_CHILDREN = 1452, 1451
RESTRICTS = ("", "RESTRICT", "NO ACTION")
"""Actions of a foreign key with which a row that others refer to stays as it is."""


class ForeignKeys:
    """The foreign keys of a database. ``is_on``: the session's ``foreign_key_checks``."""

    def __init__(self, database: Database, *, is_on: bool) -> None:
        self._database = database
        self._is_on = is_on

    def check_child(self, table: StoredTable, row: Row, before: Row | None = None, *, to_itself: bool = True) -> None:
        """Check that what a new row, or a changed one, refers to exists. ``to_itself``: it may be the row itself."""
        if not self._is_on:
            return
        for key in table.state.foreign_keys:
            texts = [row[column] for column in key.columns]
            if None in texts or (before is not None and texts == [before[column] for column in key.columns]):
                continue
            if not self._has_parent(table.info, key, row, to_itself=to_itself):
                raise StatementError(
                    f"Cannot add or update a child row: {'.'.join(key.parent)} has no row for the key {key.name}",
                    remedy="Insert the row that it refers to first",
                    number=NO_PARENT,
                    table=table.info.full_name,
                )

    def _has_parent(self, info: TableInfo, key: ForeignKey, row: Row, *, to_itself: bool) -> bool:
        try:
            parent = self._database.catalog.table(*key.parent)
        except UnknownTableError:
            return False
        wanted = _parts(info, key.columns, row)
        if to_itself and parent is info and _parts(parent, key.referred, row) == wanted:
            return True
        rows = self._database.tables[parent.schema, parent.name].values()
        return any(_parts(parent, key.referred, other) == wanted for other in rows)

    def referring(
        self, info: TableInfo, row: Row, after: Row | None
    ) -> Iterator[tuple[TableState, ForeignKey, list[Row]]]:
        """Yield the tables with rows that refer to one that was removed, or to what was changed in it (``after``)."""
        if not self._is_on:
            return
        own = info.schema.lower(), info.name.lower()
        for state in self._database.catalog.states():
            for key in state.foreign_keys:
                if tuple(name.lower() for name in key.parent) != own:
                    continue
                gone = _parts(info, key.referred, row)
                if None in gone or (after is not None and gone == _parts(info, key.referred, after)):
                    continue
                rows = self._database.rows(state.info).values()
                children = [child for child in rows if _parts(state.info, key.columns, child) == gone]
                if children:
                    yield state, key, children


def has_children(info: TableInfo, child: TableInfo, key: ForeignKey) -> StatementError:
    """Return the error of a row that others refer to."""
    return StatementError(
        f"Cannot delete or update a parent row: rows of {child.full_name} refer to it ({key.name})",
        remedy="Change or delete these rows first",
        number=HAS_CHILDREN,
        table=info.full_name,
    )


def referred_values(parent: TableInfo, key: ForeignKey, row: Row | None) -> Row:
    """Return the columns of a foreign key with the values of the row that it refers to, NULL without one."""
    names = (_column(parent, name).name for name in key.referred)
    return {own: None if row is None else row[name] for own, name in zip(key.columns, names, strict=True)}


def _parts(info: TableInfo, names: Sequence[str], row: Row) -> list[object]:
    columns = [_column(info, name) for name in names]
    return [None if (text := row[column.name]) is None else key_part(column.kind)(text) for column in columns]


def _column(info: TableInfo, name: str) -> Column:
    return next(column for column in info.columns if column.name.lower() == name.lower())
