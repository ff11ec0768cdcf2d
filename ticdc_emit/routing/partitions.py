"""Which partition an event goes to: TiCDC's position-inertia hash.

The 32-bit hash, mod partitions, is the CRC-32 of schema and table joined, XOR the CRC-32 of each hashed column's name
and value text joined. Source: ``pkg/hash/position_inertia.go``, ``cdc/sink/dmlsink/mq/dispatcher/partition/`` and
``ColumnValueString`` of ``cdc/model/sink.go`` in pingcap/tiflow; semantics 4.6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Literal, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.buffers import null_mask
from ticdc_emit.columnar.times import without_fraction
from ticdc_emit.columnar.values import plain_text
from ticdc_emit.config.changefeed import DispatchRule
from ticdc_emit.config.switches import RoutingSwitches
from ticdc_emit.errors import DispatcherError
from ticdc_emit.hints import hold_names
from ticdc_emit.schema.model import Column, Index, TableInfo
from ticdc_emit.sql.types import MySQLType
from ticdc_emit.sql.words import to_lower

Hashes = npt.NDArray[np.uint32]


def table_hash(schema: str, table: str) -> int:
    """Return the hash of the ``table`` (and ``default``) dispatcher: CRC-32 (IEEE) of both names joined, as UTF-8."""
    return crc32((schema + table).encode())


def partitions_of(
    rule: PartitionRule,
    hashed: Hashed,
    seed: int | Hashes,
    image: Image,
    commit_ts: pa.Array,
    count: int,
    switches: RoutingSwitches,
) -> int | pa.Array:
    """Return the partition of each row of a table (``int32``), or one number if it is the same for all rows.

    ``hashed`` is the rule's for this version, ``seed`` the :func:`table_hash` of all rows or of each, ``image`` the
    rows after the change (before it for deletes), ``commit_ts`` their TSOs (``uint64``). Raises the errors of reading a
    value.
    """
    if count == 1:
        return 0
    if rule.kind == "ts":
        return pa.array((commit_ts.to_numpy() % np.uint64(count)).astype(np.int32))
    if not hashed and isinstance(seed, int):
        return seed % count
    hashes: Hashes = np.full(len(commit_ts), seed, np.uint32)
    for name, column in hashed:
        hashes ^= _column_hashes(name, column, image.values(column), switches)
    return pa.array((hashes % np.uint32(count)).astype(np.int32))


def _column_hashes(name: bytes, column: Column, values: pa.Array, switches: RoutingSwitches) -> Hashes:
    nulls = null_mask(values)
    places: npt.NDArray[np.int64] | None = None
    if pa.types.is_dictionary(values.type):
        places = values.indices.fill_null(0).to_numpy().astype(np.int64)
        values = values.dictionary
    texts = plain_text(column, values)
    if column.type is MySQLType.DURATION and not switches.hashed_fractions:
        texts = without_fraction(texts)
    texts = texts.cast(pa.binary())
    start = crc32(name)
    # fill_null: the value under a null has no text
    hashes = np.fromiter(
        map(crc32, texts.fill_null(b"").to_numpy(zero_copy_only=False).tolist(), repeat(start)), np.uint32, len(texts)
    )
    if places is not None:
        hashes = hashes[places] if len(hashes) else np.zeros(len(places), np.uint32)
    if nulls is not None:
        hashes[nulls] = 0 if switches.hashed_null is None else crc32(switches.hashed_null, start)
    return hashes


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

    def __post_init__(self) -> None:
        hold_names(self, "columns")

    @classmethod
    def of(cls, rule: DispatchRule) -> PartitionRule:
        """Return the rule of a dispatcher; an unknown one means ``table``, as in TiCDC, and loading it warned."""
        return cls(_KINDS.get(to_lower(rule.partition), "table"), rule.index, rule.columns)

    @property
    def by_value(self) -> bool:
        """Whether rows of one table with the same TSO may go to different partitions."""
        return self.kind in ("index-value", "columns")

    def hashed(self, table: TableInfo, switches: RoutingSwitches) -> Hashed:
        """Return what is hashed of a table's rows; nothing for ``table``, ``ts`` and a table without handle key.

        Raises :class:`~ticdc_emit.errors.DispatcherError` for a column or index that the table lacks, for a virtual
        column (in some releases), and where TiCDC crashes.
        """
        if not self.by_value:
            return ()
        if self.kind == "index-value" and not self.index:
            whole = [column for column in table.shown_handle_key if not column.is_virtual]  # which are NULL there
            key = table.handle_key if switches.hashed_columns == "selected" else whole
            return tuple((column.name.encode(), column) for column in key)
        wanted = self._listed(table, switches) if self.kind == "columns" else self._indexed(table, switches)
        in_row = switches.hashed_offsets == "row"
        pairs = []
        for given, column in wanted:
            if in_row and column.is_virtual:
                continue  # of an index; its value is NULL
            hashed_column = column if in_row else _at_table_offset(table, column)
            found = self.kind == "columns" and switches.hashed_names == "found"
            name = hashed_column.name if found else given
            if switches.hashed_columns == "all" or table.selected is None or hashed_column.name in table.selected:
                pairs.append((name.encode(), hashed_column))
        return tuple(pairs)

    def verify(self, table: TableInfo, switches: RoutingSwitches) -> None:
        """Refuse what TiCDC refuses of the tables that exist when a changefeed is made.

        Also an index that is not unique: updates of its columns are not split, so two changes of a row could go to
        different partitions. Raises :class:`~ticdc_emit.errors.DispatcherError`.
        """
        if self.kind == "columns":
            self._listed(table, switches, at_start=True)
        elif self.kind == "index-value" and self.index:
            index = self._find_index(table, switches)
            if index is None or not index.unique:
                cause = "not found" if index is None else "is not unique"
                raise _failed(f"index {cause} {_AT_START}, table: {table.full_name}, index: {self.index}", table)

    def _find_index(self, table: TableInfo, switches: RoutingSwitches) -> Index | None:
        key = _matching(switches)
        return next((index for index in table.indexes if key(index.name) == key(self.index)), None)

    def _indexed(self, table: TableInfo, switches: RoutingSwitches) -> list[tuple[str, Column]]:
        index = self._find_index(table, switches)
        if index is None:
            raise _failed(f"index not found {_AT_ROW}, table: {_shown(table, switches)}, index: {self.index}", table)
        return [(column.name, column) for column in map(table.column, index.columns)]

    def _listed(
        self, table: TableInfo, switches: RoutingSwitches, *, at_start: bool = False
    ) -> list[tuple[str, Column]]:
        key = _matching(switches)
        by_name = {key(column.name): column for column in table.columns}
        columns = []
        for name in self.columns:
            column = by_name.get(key(name))
            if column is None or (column.is_virtual and switches.virtual_dispatcher_columns == "refused"):
                raise self._refused(table, column, name, switches, at_start=at_start)
            columns.append((name, column))
        return columns

    def _refused(
        self, table: TableInfo, column: Column | None, name: str, switches: RoutingSwitches, *, at_start: bool
    ) -> DispatcherError:
        listed, name = f"columns: [{' '.join(self.columns)}]", to_lower(name)
        if switches.missing_columns == "list":
            place, shown = (_AT_START, table.full_name) if at_start else (_AT_ROW, _shown(table, switches))
            return _failed(f"columns not found {place}, table: {shown}, {listed}", table)
        listed = f"{_AT_ROW}, table: {_shown(table, switches)}, {listed}"
        if column is None:
            return _failed(f"columns not found {listed}, column: {name}", table)
        return _failed(f"found virtual generated columns {listed} column: {name}", table)


_AT_ROW = "when dispatch event"
_AT_START = "when verify the table"


def _matching(switches: RoutingSwitches) -> Callable[[str], str]:
    return to_lower if switches.dispatcher_names == "any-case" else str


def _shown(table: TableInfo, switches: RoutingSwitches) -> str:
    return table.source_name[1] if switches.failed_tables == "name" else table.full_name


def _at_table_offset(table: TableInfo, column: Column) -> Column:
    """Return the column whose value a row has at the table offset of ``column``."""
    offset = table.columns.index(column)
    if offset >= len(table.row_columns):
        raise _failed(
            f"column {column.name} stands at offset {offset} of the table, and a row has {len(table.row_columns)} "
            "values, for virtual columns have none: TiCDC crashes here",
            table,
            remedy="Name columns that stand before the virtual ones, or use the release next",
        )
    return table.row_columns[offset]


def _failed(
    cause: str, table: TableInfo, *, remedy: str = "Correct the dispatcher in the changefeed"
) -> DispatcherError:
    code = "CDC:ErrDispatcherFailed"
    return DispatcherError(f"[{code}]{cause}", remedy=remedy, table=table.full_name, code=code)
