"""The total order of row changes, and the refusal of what it cannot order.

The order is (commit_ts, transaction, rank, seq, handle key), transactions and ranks being those of
``arrange.transactions``. It never depends on a row's place in a DataFrame, so partition counts and retries cannot
change a byte. Handle keys compare by value: numbers as numbers (integer, DECIMAL, FLOAT and DOUBLE columns given as
text too), text bytewise, moments by time; BIT, YEAR, ENUM, SET and moments that are given as text compare as that text. Two
changes of one key with one commit_ts need a ``seq``; where they have none (or the same), the history is ambiguous and
is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.arrange.duplicates import OrderCheck
from ticdc_emit.arrange.keys import key_columns, sortable
from ticdc_emit.arrange.transactions import (
    TRANSACTION,
    SplitOrder,
    numbered,
    ranks,
    split_updates,
)
from ticdc_emit.plan.tables import Plan, TablePlan
from ticdc_emit.schema.model import Column

__all__ = ["Ordered", "ordered", "sort_changes", "sort_keys", "sorted_places"]


class Ordered(Protocol):
    """What knows the columns that order a table's changes: a ``TableInfo``, or a ``TablePlan`` over its versions."""

    @property
    def order_columns(self) -> tuple[Column, ...]: ...


def ordered(batch: pa.RecordBatch, table: TablePlan, plan: Plan) -> pa.RecordBatch:
    """Return all changes of a table with updates of keys split, in total order, without an ambiguous one.

    Raises :class:`DuplicateChangeError`, and what :func:`~ticdc_emit.arrange.transactions.numbered` does.
    """
    batch = sort_changes(numbered(batch, f"{table.schema}.{table.name}"), table, plan.split_order)
    split = split_updates(batch, table, plan)
    batch = batch if split is batch else sort_changes(split, table, plan.split_order)
    OrderCheck(table).check(batch)
    return batch


def sort_changes(batch: pa.RecordBatch, table: Ordered, split_order: SplitOrder = "by-kind") -> pa.RecordBatch:
    """Return the batch, its transactions ``numbered``, in total order (as it is, if its commit_ts rise strictly)."""
    stamps = batch.column("commit_ts").to_numpy(zero_copy_only=False)
    if len(stamps) < 2 or bool((stamps[1:] > stamps[:-1]).all()):
        return batch
    columns = {"commit_ts": batch.column("commit_ts")}
    columns |= {name: batch.column(name) for name in TRANSACTION if name in batch.schema.names}
    columns["rank"] = pa.array(ranks(batch, split_order))
    if "seq" in batch.schema.names:
        columns["seq"] = batch.column("seq")
    return batch.take(pa.array(sorted_places(columns | sort_keys(batch, table))))


def sort_keys(batch: pa.RecordBatch, table: Ordered) -> dict[str, pa.Array]:
    """Return what orders changes of one transaction and rank: the key of each, column by column."""
    kinds = {column.name: column for column in table.order_columns}
    keys = key_columns(batch, table.order_columns).items()
    return {f"key{place}": sortable(kinds[name], key) for place, (name, key) in enumerate(keys)}


def sorted_places(columns: Mapping[str, pa.Array]) -> npt.NDArray[np.int64]:
    """Return the places of rows by the first of these columns, then the next; NULL is least."""
    keys = [(name, "ascending", "at_start") for name in columns]
    return np.asarray(pc.sort_indices(pa.table(dict(columns)), sort_keys=keys)).astype(np.int64)
