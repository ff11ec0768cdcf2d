"""Partition rules: which values of a row decide its partition.

In: a dispatcher of the changefeed, then one version of a table.  Out: the pairs (name, column) that enter the hash of a
row, or TiCDC's refusal.

TiCDC of the ``classic`` profile finds the columns of a named index, or of ``columns``, by their offset in the table,
but reads that offset in a row, which has no virtual columns. After a virtual column it thus hashes another column's
value, or crashes at the end of the row. The first is reproduced, the second is an error.  ``next`` reads the column's
own place, where a virtual column is NULL, and hashes nothing of a NULL.  The switches are those of
:class:`~ticdc_emit.config.switches.RoutingSwitches`.

Source: ``cdc/sink/dmlsink/mq/dispatcher/{event_router.go,partition/}`` and ``cdc/model/schema_storage.go`` of
pingcap/tiflow; ``downstreamadapter/sink/eventrouter/partition/`` of pingcap/ticdc; semantics 1.6 and 4.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ticdc_emit.config.options import DispatchRule
from ticdc_emit.config.switches import RoutingSwitches
from ticdc_emit.errors import DispatcherError
from ticdc_emit.schema.model import Column, Index, TableInfo
from ticdc_emit.sql.words import to_lower

__all__ = ["Hashed", "Kind", "PartitionRule"]

Kind: TypeAlias = Literal["table", "ts", "index-value", "columns"]

Hashed: TypeAlias = tuple[tuple[bytes, Column], ...]
"""One input of a row's hash: a name, and the column whose value is hashed after it."""

_KINDS: dict[str, Kind] = {
    "": "table",
    "default": "table",
    "table": "table",
    "ts": "ts",
    "index-value": "index-value",
    "rowid": "index-value",
    "columns": "columns",
}


@dataclass(frozen=True)
class PartitionRule:
    """How rows are spread over a topic's partitions. ``index``: the index of ``index-value``, "" for the handle key."""

    kind: Kind = "table"
    index: str = ""
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, rule: DispatchRule) -> PartitionRule:
        """Return the rule of a dispatcher. An unknown one means ``table``, as in TiCDC; loading the configuration warns
        about it.
        """
        return cls(_KINDS.get(to_lower(rule.partition), "table"), rule.index, rule.columns)

    @property
    def by_value(self) -> bool:
        """Whether rows of one table with the same TSO may go to different partitions."""
        return self.kind in ("index-value", "columns")

    def hashed(self, table: TableInfo, switches: RoutingSwitches) -> Hashed:
        """Return what is hashed of a table's rows; nothing for ``table``, ``ts`` and a table without handle key.

        Raises :class:`~ticdc_emit.errors.DispatcherError` (CDC:ErrDispatcherFailed) for a column or index that the
        table lacks, for a virtual one among ``columns``, and where TiCDC crashes (see above).
        """
        if not self.by_value:
            return ()
        if self.kind == "index-value" and not self.index:
            whole = [column for column in table.shown_handle_key if not column.is_virtual]  # which are NULL there
            key = table.handle_key if switches.hashed_columns == "selected" else whole
            return tuple((column.name.encode(), column) for column in key)
        wanted = self._listed(table) if self.kind == "columns" else self._indexed(table)
        in_row = switches.hashed_offsets == "row"
        pairs = []
        for column in wanted:
            if in_row and column.is_virtual:
                continue  # of an index; its value is NULL
            hashed_column = column if in_row else _at_table_offset(table, column)
            # "index" hashes the index's column names, "columns" those of the values that were found
            name = hashed_column.name if self.kind == "columns" else column.name
            if switches.hashed_columns == "all" or table.selected is None or hashed_column.name in table.selected:
                pairs.append((name.encode(), hashed_column))
        return tuple(pairs)

    def verify(self, table: TableInfo) -> None:
        """Refuse what TiCDC refuses of the tables that exist when a changefeed is made.

        Raises :class:`~ticdc_emit.errors.DispatcherError`: as :meth:`hashed` does, and for an index that is not unique.
        Updates of its columns are not split, so two changes of a row could go to different partitions.
        """
        if self.kind == "columns":
            self._listed(table)
        elif self.kind == "index-value" and self.index:
            index = self._find_index(table)
            if index is None or not index.unique:
                cause = "not found" if index is None else "is not unique"
                raise _failed(
                    f"index {cause} when verify the table, table: {table.full_name}, index: {self.index}", table
                )

    def _find_index(self, table: TableInfo) -> Index | None:
        return next((index for index in table.indexes if to_lower(index.name) == to_lower(self.index)), None)

    def _indexed(self, table: TableInfo) -> list[Column]:
        index = self._find_index(table)
        if index is None:
            raise _failed(f"index not found when dispatch event, table: {table.name}, index: {self.index}", table)
        return [table.column(name) for name in index.columns]

    def _listed(self, table: TableInfo) -> list[Column]:
        by_name = {to_lower(column.name): column for column in table.columns}
        listed, columns = f"table: {table.name}, columns: [{' '.join(self.columns)}]", []
        for name in map(to_lower, self.columns):
            column = by_name.get(name)
            if column is None:
                raise _failed(f"columns not found when dispatch event, {listed}, column: {name}", table)
            if column.is_virtual:
                raise _failed(f"found virtual generated columns when dispatch event, {listed} column: {name}", table)
            columns.append(column)
        return columns


def _at_table_offset(table: TableInfo, column: Column) -> Column:
    """Return the column whose value a row has at the table offset of ``column``."""
    offset = table.columns.index(column)
    if offset >= len(table.row_columns):
        raise _failed(
            f"column {column.name} stands at offset {offset} of the table, and a row has {len(table.row_columns)} "
            "values, for virtual columns have none: TiCDC crashes here",
            table,
            remedy="Name columns that stand before the virtual ones, or use the profile next",
        )
    return table.row_columns[offset]


def _failed(
    cause: str, table: TableInfo, *, remedy: str = "Correct the dispatcher in the changefeed"
) -> DispatcherError:
    code = "CDC:ErrDispatcherFailed"
    return DispatcherError(f"[{code}]{cause}", remedy=remedy, table=table.full_name, code=code)
