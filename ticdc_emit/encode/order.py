"""The total order of row changes: (commit_ts, seq, handle key), and the refusal of what it cannot order.

The order never depends on a row's place in a DataFrame, so partition counts and retries cannot change a byte. Handle
keys compare by value: numbers as numbers, text bytewise, moments by time. Two changes of one key with one commit_ts
need a ``seq``; where they have none (or the same), the history is ambiguous and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.encode.plan import TablePlan
from ticdc_emit.errors import DuplicateChangeError
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.types import INTEGER_TYPES

__all__ = ["OrderCheck", "Ordered", "key_columns", "sort_changes"]


class Ordered(Protocol):
    """What knows the columns that order a table's changes: a ``TableInfo``, or a ``TablePlan`` over its versions."""

    @property
    def order_columns(self) -> tuple[Column, ...]: ...


def key_columns(batch: pa.RecordBatch, columns: Iterable[Column]) -> dict[str, pa.Array]:
    """Return these columns of each change: from the after image, or the before image of a delete.

    A column that no image of the batch has is left out.
    """
    images = [batch.column(name) for name in ("after", "before") if name in batch.schema.names]
    keys = {}
    for column in columns:
        found = [values for image in images if (values := _field(image, column.name)) is not None]
        if len({values.type for values in found}) > 1:
            found = [values.cast(pa.string()) for values in found]
        if found:
            keys[column.name] = pc.coalesce(*found) if len(found) > 1 else found[0]
    return keys


def _field(image: pa.Array, name: str) -> pa.Array | None:
    if pa.types.is_map(image.type):
        return pc.map_lookup(image, pa.scalar(name), "first")
    if not pa.types.is_struct(image.type) or image.type.get_field_index(name) < 0:
        return None
    return pc.struct_field(image, name)


def sort_changes(batch: pa.RecordBatch, table: Ordered) -> pa.RecordBatch:
    """Return the batch in total order (as it is, if its commit_ts rise strictly already)."""
    stamps = batch.column("commit_ts").to_numpy(zero_copy_only=False)
    if len(stamps) < 2 or bool((stamps[1:] > stamps[:-1]).all()):
        return batch
    columns = {"commit_ts": batch.column("commit_ts")}
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
    """Sees the batches of one table in order and refuses two changes of one key with one commit_ts and no ``seq``.

    Tables without a handle key have no key that could be changed twice.
    """

    def __init__(self, table: TablePlan) -> None:
        self._table = table
        self._last: pa.RecordBatch | None = None

    def check(self, batch: pa.RecordBatch) -> None:
        """Raise :class:`DuplicateChangeError` for the first ambiguous pair, across batches too."""
        if batch.num_rows == 0:
            return
        if self._last is not None and self._last.column("commit_ts")[0].as_py() == batch.column("commit_ts")[0].as_py():
            self._check_within(pa.concat_batches([self._last, batch.slice(0, 1)]))
        self._check_within(batch)
        self._last = batch.slice(batch.num_rows - 1, 1)

    def _check_within(self, batch: pa.RecordBatch) -> None:
        stamps = batch.column("commit_ts").to_numpy(zero_copy_only=False)
        same = np.flatnonzero(stamps[1:] == stamps[:-1])
        if len(same) == 0:
            return
        left, right = batch.take(pa.array(same)), batch.take(pa.array(same + 1))
        for start, length, encoder in self._table.spans(left.column("commit_ts").cast(pa.uint64())):
            self._check_pairs(left.slice(start, length), right.slice(start, length), encoder.table)

    def _check_pairs(self, left: pa.RecordBatch, right: pa.RecordBatch, info: TableInfo) -> None:
        """Compare pairs of neighbours of equal commit_ts, all of one table version."""
        keys, others = key_columns(left, info.handle_key), key_columns(right, info.handle_key)
        if not keys:
            return
        unordered = pa.repeat(pa.scalar(True), left.num_rows)
        if "seq" in left.schema.names:
            unordered = pc.equal(left.column("seq"), right.column("seq")).fill_null(True)
        for name, key in keys.items():
            unordered = pc.and_(unordered, pc.equal(key, others[name]).fill_null(False))
        if not pc.any(unordered).as_py():
            return
        index = pc.index(unordered, pa.scalar(True)).as_py()
        raise DuplicateChangeError(
            "two changes of one key have the same commit_ts and nothing orders them",
            remedy="Give the changes a seq (their order inside the transaction)",
            table=info.full_name,
            row={name: key[index].as_py() for name, key in keys.items()},
            commit_ts=left.column("commit_ts")[index].as_py(),
        )
