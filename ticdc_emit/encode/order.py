"""The total order of row changes, and the refusal of what it cannot order.

The order is (commit_ts, transaction, rank, seq, handle key), transactions and ranks being those of
``encode.transactions``. It never depends on a row's place in a DataFrame, so partition counts and retries cannot change
a byte. Handle keys compare by value: numbers as numbers, text bytewise, moments by time. Two changes of one key with
one commit_ts need a ``seq``; where they have none (or the same), the history is ambiguous and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.encode.attributes import SPLIT
from ticdc_emit.encode.images import image_column
from ticdc_emit.encode.plan import Plan, TablePlan
from ticdc_emit.encode.transactions import DELETED, TRANSACTION, SplitOrder, kind_ranks, ranks, split_updates
from ticdc_emit.errors import DuplicateChangeError
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.types import INTEGER_TYPES

__all__ = ["OrderCheck", "Ordered", "key_columns", "ordered", "sort_changes"]


class Ordered(Protocol):
    """What knows the columns that order a table's changes: a ``TableInfo``, or a ``TablePlan`` over its versions."""

    @property
    def order_columns(self) -> tuple[Column, ...]: ...


def key_columns(batch: pa.RecordBatch, columns: Iterable[Column]) -> dict[str, pa.Array]:
    """Return these columns of each change: from the after image, or the before image of a delete.

    A column that no image of the batch has is left out.
    """
    images = [batch.column(name) for name in ("after", "before") if name in batch.schema.names]
    after = None
    if len(images) == 2:
        after = pc.and_(images[0].is_valid(), pa.array(kind_ranks(batch) != DELETED))
    keys = {}
    for column in columns:
        found = [values for image in images if (values := image_column(image, column.name)) is not None]
        if len({values.type for values in found}) > 1:
            found = [values.cast(pa.string()) for values in found]
        if found:
            keys[column.name] = pc.if_else(after, *found) if len(found) > 1 else found[0]
    return keys


def ordered(batch: pa.RecordBatch, table: TablePlan, plan: Plan) -> pa.RecordBatch:
    """Return all changes of a table with updates of keys split, in total order, without an ambiguous one.

    Raises :class:`DuplicateChangeError`.
    """
    batch = sort_changes(batch, table, plan.split_order)
    split = split_updates(batch, table, plan)
    batch = batch if split is batch else sort_changes(split, table, plan.split_order)
    OrderCheck(table).check(batch)
    return batch


def sort_changes(batch: pa.RecordBatch, table: Ordered, split_order: SplitOrder = "by-kind") -> pa.RecordBatch:
    """Return the batch in total order (as it is, if its commit_ts rise strictly already)."""
    stamps = batch.column("commit_ts").to_numpy(zero_copy_only=False)
    if len(stamps) < 2 or bool((stamps[1:] > stamps[:-1]).all()):
        return batch
    columns = {"commit_ts": batch.column("commit_ts")}
    columns |= {name: batch.column(name) for name in TRANSACTION if name in batch.schema.names}
    columns["rank"] = pa.array(ranks(batch, split_order))
    if "seq" in batch.schema.names:
        columns["seq"] = batch.column("seq")
    kinds = {column.name: column for column in table.order_columns}
    for place, (name, key) in enumerate(key_columns(batch, table.order_columns).items()):
        columns[f"key{place}"] = _sortable(kinds[name], key)
    order = pc.sort_indices(pa.table(columns), sort_keys=[(name, "ascending", "at_start") for name in columns])
    return batch.take(order)


def _sortable(column: Column, key: pa.Array) -> pa.Array:
    """Return a key in a form that Arrow sorts; integers given as text compare by value."""
    if pa.types.is_dictionary(key.type):
        key = key.dictionary_decode()
    if pa.types.is_string(key.type) and column.type in INTEGER_TYPES:
        try:
            return key.cast(pa.decimal128(38, 0))
        except pa.ArrowInvalid:
            return key
    return key.cast(pa.string()) if pa.types.is_nested(key.type) else key


class OrderCheck:
    """Sees the batches of one table in order and refuses two changes of one key in one transaction without a ``seq``.

    The deleted half of one update and the inserted half of another may have one key. Tables without a handle key have
    no key that could be changed twice.
    """

    def __init__(self, table: TablePlan) -> None:
        self._table = table
        self._open: pa.Table | None = None  # what tells the rows of the last commit_ts apart

    def check(self, batch: pa.RecordBatch) -> None:
        """Raise :class:`DuplicateChangeError` for the first ambiguous change, across batches too."""
        if batch.num_rows == 0:
            return
        stamps = batch.column("commit_ts").to_numpy(zero_copy_only=False)
        same = np.append(stamps[1:] == stamps[:-1], False)
        same[1:] |= same[:-1]
        held = self._open
        if held is not None and held.column("commit_ts")[0].as_py() != int(stamps[0]):
            held = None
        last = len(stamps) - int((stamps[::-1] == stamps[-1]).argmin() or len(stamps))
        if held is not None:
            same |= stamps == stamps[0]
        if same.any():
            rows = batch.take(pa.array(np.flatnonzero(same)))
            for start, length, encoder in self._table.spans(rows.column("commit_ts").cast(pa.uint64(), safe=False)):
                told = _identities(rows.slice(start, length), encoder.table)
                if told is not None:
                    self._refuse_twice(told if held is None or start else pa.concat_tables([held, told]), encoder.table)
        whole = held if held is not None and last == 0 else None
        encoder = self._table.encoder_at(int(stamps[-1]))
        told = _identities(batch.slice(last), encoder.table)
        self._open = told if whole is None or told is None else pa.concat_tables([whole, told])

    def _refuse_twice(self, told: pa.Table, info: TableInfo) -> None:
        names = [name for name in told.column_names if name not in _NO_IDENTITY]
        counted = told.group_by(names).aggregate(
            [("kind", "count"), ("kind", "min"), ("kind", "max"), ("split", "max")]
        )
        kinds = (counted.column(f"kind_{what}").to_numpy() for what in ("count", "min", "max"))
        count, least, most = kinds
        halves = counted.column("split_max").to_numpy(zero_copy_only=False).astype(np.bool_)
        wrong = (count > 1) & ~((count == 2) & (least != most) & halves)
        if not wrong.any():
            return
        row = counted.slice(int(wrong.argmax()), 1).to_pylist()[0]
        raise DuplicateChangeError(
            "two changes of one key have the same commit_ts and nothing orders them",
            remedy="Give the changes a seq (their order inside the transaction)",
            table=info.full_name,
            row={column.name: row[f"key {column.name}"] for column in info.whole_handle_key},
            commit_ts=row["commit_ts"],
        )


_NO_IDENTITY = ("kind", "split")


def _identities(rows: pa.RecordBatch, info: TableInfo) -> pa.Table | None:
    """Return what tells changes of one table version apart, and their kinds; ``None`` without a handle key."""
    keys = key_columns(rows, info.whole_handle_key)
    if len(keys) < len(info.whole_handle_key) or not keys:
        return None
    columns = {"commit_ts": rows.column("commit_ts")}
    columns |= {name: rows.column(name) for name in (*TRANSACTION, "seq") if name in rows.schema.names}
    columns |= {
        f"key {name}": key.dictionary_decode() if pa.types.is_dictionary(key.type) else key
        for name, key in keys.items()
    }
    split = rows.column(SPLIT) if SPLIT in rows.schema.names else pa.repeat(pa.scalar(False), rows.num_rows)
    return pa.table({**columns, "kind": pa.array(kind_ranks(rows)), "split": split.fill_null(False).cast(pa.int8())})
