"""One statement while it runs: the table that it names, and rows that it adds, changes and removes.

Generated columns get their values here. Rule source: pingcap/tidb ``pkg/executor/{insert,replace,update,delete}.go``,
``pkg/table/tables/tables.go`` (``AddRecord``, ``UpdateRecord``), ``pkg/executor/foreign_key.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ticdc_emit.columnar.assignment import SqlRules
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.database.expressions import SessionValues, check_divisions, expression_errors, has_choices, unsupported
from ticdc_emit.database.partitions import check_partitions
from ticdc_emit.database.row_values import canonical_texts, column_values, key_part
from ticdc_emit.database.tables import DUPLICATE, Database
from ticdc_emit.database.transaction import OpenTransaction, Stored, StoredTable
from ticdc_emit.errors import StatementError, UnknownTableError
from ticdc_emit.schema.defaults import time_zone_of
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.row_versions import Row
from ticdc_emit.schema.store import ForeignKey, TableState
from ticdc_emit.sql import nodes
from ticdc_emit.sql.call_tree import parse_call_tree
from ticdc_emit.sql.evaluation.values import NotExactError, check_bytes
from ticdc_emit.sql.types import MySQLType, integer_range

UNKNOWN_TABLE, OUT_OF_NUMBERS, NO_PARENT, HAS_CHILDREN = 1146, 1467, 1452, 1451
_RESTRICTS = ("", "RESTRICT", "NO ACTION")
"""Actions of a foreign key with which a row that others refer to stays as it is."""


@dataclass
class RunningStatement:
    """``rendering``: in the session's time zone. ``rules``: what its SQL mode allows. ``keeps_zero``: AUTO_INCREMENT
    takes 0 as it is. ``seq``: of the row changes. ``writes_unchanged``: an UPDATE writes rows that it does not change.
    """

    database: Database
    transaction: OpenTransaction
    values: SessionValues
    rendering: Rendering
    rules: SqlRules
    keeps_zero: bool
    checks_foreign_keys: bool
    seq: int | None
    writes_unchanged: bool

    def table(self, name: nodes.TableName) -> StoredTable:
        """Return a table that the statement names; a :class:`StatementError` if it does not exist."""
        schema = name.schema or self.values.database
        try:
            state = self.database.catalog.state(schema, name.name)
        except UnknownTableError as fault:
            raise StatementError(
                f"Table '{schema}.{name.name}' doesn't exist", remedy=fault.remedy, number=UNKNOWN_TABLE
            ) from None
        if state.info.is_view:
            raise unsupported(f"a change of the view {state.info.full_name}")
        if state.temporary:
            raise unsupported(
                f"a change of the temporary table {state.info.full_name}", "Leave it out: it is never sent"
            )
        with expression_errors():
            keys = self.database.key_index(state.info)
        return StoredTable(state, self.database.rows(state.info), keys)

    def moment(self, column: Column) -> str:
        """Return CURRENT_TIMESTAMP as a column holds it: TIMESTAMP in the changefeed's time zone."""
        zone = time_zone_of(self.rendering.zone) if column.type is MySQLType.TIMESTAMP else None
        return self.values.moment(column.fraction_digits, zone)

    def completed(self, table: StoredTable, rows: list[Row]) -> list[Row]:
        """Return rows that have a partition, with stored generated columns; virtual ones are computed for errors."""
        self.transaction.written += sum(len(text) for row in rows for text in row.values() if text is not None)
        with expression_errors():
            check_bytes("rows of a transaction", self.transaction.written)
        rows = self._computed(table, rows)
        check_partitions(table.state, rows, self.rendering)
        return rows

    def _computed(self, table: StoredTable, rows: list[Row]) -> list[Row]:
        generated = [column for column in table.info.columns if column.generated and not column.hidden]
        if not generated or not rows:
            return rows
        filled = [{column.name: row.get(column.name) for column in table.info.row_columns} for row in rows]
        values = column_values(table.info, filled, self.rendering, computed=True)
        for column in generated:
            with expression_errors(column.name):
                try:
                    if self.values.divisions_fail:
                        tree = parse_call_tree(column.generated_expr)
                        check_divisions(tree, values.resolve, chooses=has_choices(tree))
                    texts = canonical_texts(column, values.accepted(column))
                except NotExactError:
                    if not column.is_virtual:
                        raise
                    continue  # rows have no such column
            if not column.is_virtual:
                for row, text in zip(filled, texts, strict=True):
                    row[column.name] = text
        return filled

    def check_numbers(self, column: Column, texts: Sequence[str | None]) -> None:
        """Refuse numbers of AUTO_INCREMENT that the column cannot hold."""
        low, high = integer_range(column.type, unsigned=column.unsigned)
        if any(text is not None and not low <= int(text) <= high for text in texts):
            raise StatementError(
                "Failed to read auto-increment value from storage engine",
                remedy="Give the column a wider type",
                number=OUT_OF_NUMBERS,
            )

    def stored(self, table: StoredTable, rows: Sequence[Row]) -> list[Stored]:
        with expression_errors():
            return list(map(Stored, rows, table.keys.identities(rows)))

    def write(self, table: StoredTable, old: Stored | None, new: Stored | None) -> None:
        """Add, remove or change a row, and do to the rows that refer to it what their foreign keys say."""
        row = None if old is None else old.row
        if new is not None:
            kept = [None] * len(new.keys) if old is None else old.keys
            coming = [key if key != own else None for key, own in zip(new.keys, kept, strict=True)]
            for key, place in table.keys.conflicts(coming):
                entry = "-".join(str((table.rows[place] | new.row).get(column.name)) for column in key.columns)
                raise StatementError(
                    f"Duplicate entry '{entry}' for key '{table.info.name}.{key.name}'",
                    remedy="Use another key, or change or delete the row that has it",
                    number=DUPLICATE,
                    table=table.info.full_name,
                )
            orphaned = self.without_parent(table, new.row, row)
            if orphaned is not None:
                raise StatementError(
                    f"Cannot add or update a child row: {'.'.join(orphaned.parent)} has no row"
                    f" for the key {orphaned.name}",
                    remedy="Insert the row that it refers to first",
                    number=NO_PARENT,
                    table=table.info.full_name,
                )
        self.transaction.write(table, old, new, self.seq)
        if row is not None:
            self._follow(table, row, None if new is None else new.row)

    # -- foreign keys ----------------------------------------------------------------------------------------

    def _follow(self, table: StoredTable, row: Row, after: Row | None) -> None:
        for state, key, children in self._referring(table.info, row, after):
            word, action = ("DELETE", key.on_delete) if after is None else ("UPDATE", key.on_update)
            if action in _RESTRICTS:
                raise StatementError(
                    f"Cannot delete or update a parent row: rows of {state.info.full_name} refer to it ({key.name})",
                    remedy="Change or delete these rows first",
                    number=HAS_CHILDREN,
                    table=table.info.full_name,
                )
            if action not in ("CASCADE", "SET NULL") or state.info is table.info:
                raise unsupported(f"ON {word} {action} of the foreign key {key.name}", "Change its rows first")
            child = self.table(nodes.TableName(state.info.schema, state.info.name))
            values: Row = dict.fromkeys(key.columns)
            if action == "CASCADE" and after is not None:
                values = {
                    own: after[_column_of(table.info, its).name]
                    for own, its in zip(key.columns, key.referred, strict=True)
                }
            for each in self.stored(child, children):
                if action == "CASCADE" and after is None:
                    self.write(child, each, None)
                    continue
                for name, text in values.items():
                    if text is None and not child.info.column(name).nullable:
                        raise unsupported(f"SET NULL of the NOT NULL column {name}", "Change its rows first")
                self.write(child, each, *self.stored(child, self.completed(child, [each.row | values])))

    def without_parent(
        self, table: StoredTable, row: Row, before: Row | None = None, *, to_itself: bool = True
    ) -> ForeignKey | None:
        """Return a foreign key of a new row, or a changed one, that has no row. ``to_itself``: it may be the row."""
        for key in table.state.foreign_keys if self.checks_foreign_keys else ():
            texts = [row[column] for column in key.columns]
            is_set = None not in texts and (before is None or texts != [before[column] for column in key.columns])
            if is_set and not self._has_parent(table.info, key, row, to_itself=to_itself):
                return key
        return None

    def _has_parent(self, info: TableInfo, key: ForeignKey, row: Row, *, to_itself: bool) -> bool:
        try:
            parent = self.database.catalog.table(*key.parent)
        except UnknownTableError:
            return False
        wanted = _key_texts(info, key.columns, row)
        if to_itself and parent is info and _key_texts(parent, key.referred, row) == wanted:
            return True
        rows = self.database.tables[parent.schema, parent.name].values()
        return any(_key_texts(parent, key.referred, other) == wanted for other in rows)

    def _referring(
        self, info: TableInfo, row: Row, after: Row | None
    ) -> Iterator[tuple[TableState, ForeignKey, list[Row]]]:
        """Yield the tables with rows that refer to one that was removed, or to what was changed in it (``after``)."""
        own = info.schema.lower(), info.name.lower()
        for state in self.database.catalog.states() if self.checks_foreign_keys else ():
            for key in state.foreign_keys:
                if tuple(name.lower() for name in key.parent) != own:
                    continue
                gone = _key_texts(info, key.referred, row)
                if None in gone or (after is not None and gone == _key_texts(info, key.referred, after)):
                    continue
                rows = self.database.rows(state.info).values()
                children = [child for child in rows if _key_texts(state.info, key.columns, child) == gone]
                if children:
                    yield state, key, children


def _key_texts(info: TableInfo, names: Sequence[str], row: Row) -> list[object]:
    columns = [_column_of(info, name) for name in names]
    return [None if (text := row[column.name]) is None else key_part(column.kind)(text) for column in columns]


def _column_of(info: TableInfo, name: str) -> Column:
    return next(column for column in info.columns if column.name.lower() == name.lower())
