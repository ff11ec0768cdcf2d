"""One statement while it runs: the table that it names, and rows that it adds, changes and removes.

In: a statement's tables and complete rows. Out: steps of the transaction, or TiDB's error: a duplicate key, a foreign
key that does not hold. Generated columns get their values here. Rule source: pingcap/tidb ``pkg/executor/{insert,
replace,update,delete}.go``, ``pkg/table/tables/tables.go`` (``AddRecord``, ``UpdateRecord``).
"""

from __future__ import annotations

from collections.abc import Sequence

from ticdc_emit.columnar.assignment import STRICT, SqlRules
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.database.expressions import SessionValues, check_divisions, has_choices
from ticdc_emit.database.foreign_keys import RESTRICTS, ForeignKeys, has_children, referred_values
from ticdc_emit.database.partitions import check_partitions
from ticdc_emit.database.refusals import expression_errors, unsupported
from ticdc_emit.database.row_values import UniqueKey, canonical_texts, column_values
from ticdc_emit.database.tables import DUPLICATE, Database
from ticdc_emit.database.transaction import OpenTransaction, Stored, StoredTable
from ticdc_emit.errors import StatementError, UnknownTableError
from ticdc_emit.schema.defaults import time_zone_of
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.row_versions import Row
from ticdc_emit.sql import nodes
from ticdc_emit.sql.call_tree import parse_call_tree
from ticdc_emit.sql.evaluation.values import NotExactError, check_bytes
from ticdc_emit.sql.types import MySQLType, integer_range

UNKNOWN_TABLE, OF_GENERATED, OUT_OF_NUMBERS = 1146, 3105, 1467


class RunningStatement:
    """What a statement that changes rows works on.

    ``values``: what the session knows. ``rendering``: the database's in the session's time zone. ``rules``: what its
    SQL mode allows. ``keeps_zero``: AUTO_INCREMENT takes 0 as it is. ``seq``: the ``seq`` of the row changes.
    ``writes_unchanged``: an UPDATE also writes rows that it does not change.
    """

    def __init__(
        self,
        database: Database,
        transaction: OpenTransaction,
        values: SessionValues,
        *,
        rendering: Rendering | None = None,
        rules: SqlRules = STRICT,
        keeps_zero: bool = False,
        checks_foreign_keys: bool = True,
        seq: int | None = None,
        writes_unchanged: bool = False,
    ) -> None:
        self.database = database
        self.transaction = transaction
        self.values = values
        self.rules = rules
        self.keeps_zero = keeps_zero
        self.writes_unchanged = writes_unchanged
        self.rendering = rendering or database.rendering
        self._foreign_keys = ForeignKeys(database, is_on=checks_foreign_keys)
        self._seq = seq

    def table(self, name: nodes.TableName) -> StoredTable:
        """Return a table that the statement names; a :class:`StatementError` if it does not exist."""
        schema = name.schema or self.values.database
        try:
            catalog = self.database.catalog
            state = catalog.temporary(schema, name.name) or catalog.state(schema, name.name)
        except UnknownTableError as fault:
            raise StatementError(
                f"Table '{schema}.{name.name}' doesn't exist", remedy=fault.remedy, number=UNKNOWN_TABLE
            ) from None
        if state.info.is_view:
            raise unsupported(f"a change of the view {state.info.full_name}")
        with expression_errors():
            if state.temporary:
                return StoredTable(state, *self.database.temporary(state, self.transaction.temporary))
            keys = self.database.key_index(state.info)
        return StoredTable(state, self.database.rows(state.info), keys)

    def moment(self, column: Column) -> str:
        """Return CURRENT_TIMESTAMP as a column holds it: TIMESTAMP in the changefeed's time zone."""
        zone = time_zone_of(self.rendering.zone) if column.type is MySQLType.TIMESTAMP else None
        return self.values.moment(column.fraction_digits, zone)

    def completed(self, table: StoredTable, rows: list[Row]) -> list[Row]:
        """Return rows with the values of their stored generated columns, each of which has a partition.

        Virtual columns are computed for their errors.
        """
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
        """Return rows with what they are in each unique key."""
        with expression_errors():
            return list(map(Stored, rows, table.keys.identities(rows)))

    def write(self, table: StoredTable, old: Stored | None, new: Stored | None) -> None:
        """Add, remove or change a row, and do to the rows that refer to it what their foreign keys say.

        Raises :class:`StatementError` if another row has one of its new keys.
        """
        row = None if old is None else old.row
        if new is not None:
            kept = [None] * len(new.keys) if old is None else old.keys
            coming = [key if key != own else None for key, own in zip(new.keys, kept, strict=True)]
            for key, place in table.keys.conflicts(coming):
                raise _duplicate(table, key, new.row, table.rows[place])
            self._foreign_keys.check_child(table, new.row, row)
        self.transaction.write(table, old, new, self._seq)
        if row is not None:
            self._follow(table, row, None if new is None else new.row)

    def has_parents(self, table: StoredTable, row: Row) -> bool:
        """Return whether other rows have what a new one refers to."""
        try:
            self._foreign_keys.check_child(table, row, to_itself=False)
        except StatementError:
            return False
        return True

    def _follow(self, table: StoredTable, row: Row, after: Row | None) -> None:
        if table.state.temporary:
            return
        for state, key, children in self._foreign_keys.referring(table.info, row, after):
            word, action = ("DELETE", key.on_delete) if after is None else ("UPDATE", key.on_update)
            if action in RESTRICTS:
                raise has_children(table.info, state.info, key)
            if action not in ("CASCADE", "SET NULL") or state.info is table.info:
                raise unsupported(f"ON {word} {action} of the foreign key {key.name}", "Change its rows first")
            child = self.table(nodes.TableName(state.info.schema, state.info.name))
            values = referred_values(table.info, key, after if action == "CASCADE" else None)
            for each in self.stored(child, children):
                if action == "CASCADE" and after is None:
                    self.write(child, each, None)
                    continue
                for name, text in values.items():
                    if text is None and not child.info.column(name).nullable:
                        raise unsupported(f"SET NULL of the NOT NULL column {name}", "Change its rows first")
                self.write(child, each, *self.stored(child, self.completed(child, [each.row | values])))


def _duplicate(table: StoredTable, key: UniqueKey, row: Row, other: Row) -> StatementError:
    entry = "-".join(str(row.get(column.name, other.get(column.name))) for column in key.columns)
    return StatementError(
        f"Duplicate entry '{entry}' for key '{table.info.name}.{key.name}'",
        remedy="Use another key, or change or delete the row that has it",
        number=DUPLICATE,
        table=table.info.full_name,
    )
