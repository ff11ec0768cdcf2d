"""Column selectors: which columns of a table appear in messages. The first whose matcher accepts the table applies.

Source: ``cdc/sink/dmlsink/mq/transformer/columnselector/column_selector.go`` of pingcap/tiflow, semantics 4.7.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.switches import RoutingSwitches
from ticdc_emit.errors import ColumnSelectorError
from ticdc_emit.routing.partitions import PartitionRule
from ticdc_emit.routing.table_filter import ColumnFilter, TableFilter
from ticdc_emit.schema.model import TableInfo


@dataclass(frozen=True)
class ColumnSelectors:
    """The selectors of a changefeed, in order."""

    selectors: tuple[tuple[TableFilter, ColumnFilter], ...] = ()
    switches: RoutingSwitches = RoutingSwitches()

    @classmethod
    def of(cls, changefeed: ChangefeedConfig) -> ColumnSelectors:
        """Read the selectors; :class:`~ticdc_emit.errors.ConfigError` for a wrong matcher or column pattern."""
        return cls(
            tuple(
                (
                    TableFilter.parse(selector.matcher, case_sensitive=changefeed.case_sensitive),
                    ColumnFilter.parse(selector.columns),
                )
                for selector in changefeed.column_selectors
            ),
            changefeed.release.routing,
        )

    def select(self, table: TableInfo) -> TableInfo:
        """Return the table with the remaining columns; the same object if all remain.

        Raises :class:`~ticdc_emit.errors.ColumnSelectorError` if no complete key remains, where the release checks
        that.
        """
        left = next(self._left(table), None)
        if left is None:
            return table
        if self.switches.selected_keys == "checked":
            _check_keys(table, left.intersection(column.name for column in table.row_columns))
        return table if len(left) == len(table.columns) else replace(table, selected=left)

    def verify(self, table: TableInfo, rule: PartitionRule) -> None:
        """Refuse what TiCDC refuses for the tables that exist when a changefeed is created. It checks every selector.

        ``rule``: of the table's rows. Raises :class:`~ticdc_emit.errors.ColumnSelectorError` also for a dropped column
        that the ``columns`` dispatcher hashes.
        """
        needed = rule.columns if rule.kind == "columns" else ()
        for left in self._left(table):
            for column in table.columns:
                if column.name in needed and column.name not in left:
                    raise _failed(
                        "the filtered out column is used in the column dispatcher, "
                        f"table: {table.full_name}, column: {column.name}",
                        table,
                    )
            _check_keys(table, left)

    def _left(self, table: TableInfo) -> Iterator[frozenset[str]]:
        for tables, columns in self.selectors:
            if tables.matches(table.schema, table.name):
                yield frozenset(column.name for column in table.columns if columns.matches(column.name))


def _check_keys(table: TableInfo, left: frozenset[str]) -> None:
    """The primary key or any unique index must remain. A table without either needs nothing."""
    uniques = (index.columns for index in table.indexes if index.unique)
    if not left.issuperset(table.tidb_primary_key) and not any(left.issuperset(columns) for columns in uniques):
        raise _failed(
            f"no primary key columns or unique key columns obtained after filter out, table: {table.full_name}", table
        )


def _failed(cause: str, table: TableInfo) -> ColumnSelectorError:
    code = "CDC:ErrColumnSelectorFailed"
    remedy = "Keep the primary key or a whole unique index, and the columns of dispatchers, in the column selector"
    return ColumnSelectorError(f"[{code}]{cause}", remedy=remedy, table=table.full_name, code=code)
