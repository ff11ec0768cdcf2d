"""The catalog's state of a table besides its :class:`TableInfo`: the counters for ids of new columns and indexes.

TiDB never reuses the id of a dropped column or index (``MaxColumnID``, ``MaxIndexID``), so they outlive the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.model import Column, Index, TableInfo
from ticdc_emit.schema.nodes import PartitionMethod

__all__ = ["ForeignKey", "Ranges", "TableState"]


@dataclass(frozen=True)
class ForeignKey:
    """A foreign key's name, and the columns of the table that it constrains."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Ranges:
    """The bounds of RANGE partitions by name, as TiDB shows them; "" for one that is not a constant.

    ``floor`` is the least value, ``fsp`` the digits of a DATETIME, -1 for a DATE.
    """

    is_integer: bool
    floor: str
    fsp: int = -1
    bounds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableState:
    """``max_…_id``: the greatest id given so far. ``ttl_column``: "" without TTL."""

    info: TableInfo
    max_column_id: int = 0
    max_index_id: int = 0
    max_foreign_key_id: int = 0
    foreign_keys: tuple[ForeignKey, ...] = ()
    partition_method: PartitionMethod = ""
    partition_columns: tuple[str, ...] = ()
    ttl_column: str = ""
    ranges: Ranges | None = None
    """``None`` if the table is not partitioned by RANGE of one integer, DATE or DATETIME."""

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
        """Return the index called ``name`` in any case; ``DdlError`` if there is none."""
        index = self.find_index(name)
        if index is None:
            raise DdlError(f"table {self.info.full_name} has no index {name!r}", remedy="Check its name", index=name)
        return index

    def with_columns(self, columns: tuple[Column, ...]) -> TableState:
        return replace(self, info=replace(self.info, columns=columns))

    def with_indexes(self, indexes: tuple[Index, ...]) -> TableState:
        return replace(self, info=replace(self.info, indexes=indexes))

    def append_columns(self, *columns: Column) -> TableState:
        """Add columns at the end, with the next ids."""
        added = tuple(replace(column, id=number) for number, column in enumerate(columns, self.max_column_id + 1))
        info = replace(self.info, columns=self.info.columns + added)
        return replace(self, info=info, max_column_id=self.max_column_id + len(added))

    def append_index(self, index: Index) -> TableState:
        """Add an index at the end, with the next id."""
        number = self.max_index_id + 1
        state = replace(self, max_index_id=number)
        return state.with_indexes((*self.info.indexes, replace(index, id=number)))

    def replace_column(self, old_name: str, new: Column) -> TableState:
        """Replace a column by ``new``, also in indexes and foreign keys."""
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
