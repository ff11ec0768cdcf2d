"""Sorted rows, and the order of several such parts together: places of rows, while the rows stay where they are.

In: batches with order keys, each in order. Out: numpy arrays. Keys are compared by commit_ts and table, two numbers;
whole keys only where rows of different parts have both in common, for the rows of one part are in order already.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.arrange.order_key import stamps_and_tables
from ticdc_emit.arrange.sorted_runs import ORDER_KEY
from ticdc_emit.columnar.sorting import order_of_pairs

__all__ = ["Places", "SortedRows", "merged_order"]

Places = npt.NDArray[np.int64]


class SortedRows(NamedTuple):
    """Rows in order, with the commit_ts of each and its table's place."""

    rows: pa.RecordBatch
    stamps: npt.NDArray[np.uint64]
    tables: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, rows: pa.RecordBatch) -> SortedRows:
        """Return rows that have the column ``ORDER_KEY`` and are in its order."""
        return cls(rows, *stamps_and_tables(rows.column(ORDER_KEY)))

    def slice(self, start: int, stop: int) -> SortedRows:
        """Return the rows from ``start`` to before ``stop``."""
        return SortedRows(self.rows.slice(start, stop - start), self.stamps[start:stop], self.tables[start:stop])

    def count_below(self, bound: bytes) -> int:
        """Count the rows with keys below ``bound``, a key or the first bytes of one, commit_ts among them."""
        stamp = np.uint64(int.from_bytes(bound[:8], "big"))
        first = int(np.searchsorted(self.stamps, stamp))
        last = first + int(np.searchsorted(self.stamps[first:], stamp, side="right"))
        return bisect_left(range(last), bound, lo=first, key=self.key)

    def key(self, row: int) -> bytes:
        """Return the order key of a row."""
        return bytes(self.rows.column(ORDER_KEY)[row].as_py())


def merged_order(parts: Sequence[SortedRows]) -> Places | None:
    """Return the order of all rows, by their places in the parts one after the other; ``None`` where that is it.

    Rows of one part stay in their order.
    """
    if all(one.key(-1) <= other.key(0) for one, other in pairwise(parts)):
        return None
    stamps, tables = (np.concatenate([part[field] for part in parts]) for field in (1, 2))
    order = order_of_pairs(stamps, tables)
    stamps, tables = stamps[order], tables[order]
    same = (stamps[1:] == stamps[:-1]) & (tables[1:] == tables[:-1])
    if same.any():
        _settle(order, same, parts)
    return order


def _settle(order: Places, same: npt.NDArray[np.bool_], parts: Sequence[SortedRows]) -> None:
    """Bring rows into order that have commit_ts and table in common. ``same``: each row but the first, with the one
    before it.
    """
    numbers = np.repeat(np.arange(len(parts)), [len(part.stamps) for part in parts])[order]
    mixed = np.flatnonzero(same & (numbers[1:] != numbers[:-1]))
    if all(parts[numbers[row]].key(-1) <= parts[numbers[row + 1]].key(0) for row in mixed):
        return  # as where a block of rows ends within a transaction, and the next one goes on with it
    groups = np.append(0, np.cumsum(~same))
    is_mixed = np.zeros(groups[-1] + 1, np.bool_)
    is_mixed[groups[mixed]] = True
    # groups are in order among each other, so that sorting the rows of all of them moves none to another
    tied = np.flatnonzero(is_mixed[groups])
    rows = order[tied]
    keys = pa.concat_arrays([part.rows.column(ORDER_KEY) for part in parts]).take(pa.array(rows))
    order[tied] = rows[np.asarray(pc.array_sort_indices(keys))]
