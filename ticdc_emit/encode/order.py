"""The total order of row changes: (commit_ts, seq, handle key), and the refusal of what it cannot order.

The order never depends on a row's place in a DataFrame, so partition counts and retries cannot change a byte. Handle
keys compare by value: numbers as numbers, text bytewise, moments by time. Two changes of one key with one commit_ts
need a ``seq``; where they have none (or the same), the history is ambiguous and is refused.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.errors import DuplicateChangeError
from ticdc_emit.schema.model import TableInfo

__all__ = ["OrderCheck", "key_columns", "sort_changes"]


def key_columns(batch: pa.RecordBatch, info: TableInfo) -> list[pa.Array]:
    """Return the handle key of each change, column by column: from the after image, or the before image of a delete."""
    images = [batch.column(name) for name in ("after", "before") if name in batch.schema.names]
    keys: list[pa.Array] = []
    for column in info.handle_key:
        found = [values for image in images if (values := _field(image, column.name)) is not None]
        if found:
            keys.append(pc.coalesce(*found) if len(found) > 1 else found[0])
    return keys


def _field(image: pa.Array, name: str) -> pa.Array | None:
    if pa.types.is_map(image.type):
        return pc.map_lookup(image, pa.scalar(name), "first")
    if not pa.types.is_struct(image.type) or image.type.get_field_index(name) < 0:
        return None
    return pc.struct_field(image, name)


def sort_changes(batch: pa.RecordBatch, info: TableInfo) -> pa.RecordBatch:
    """Return the batch in total order (nothing is copied if it is sorted by commit_ts strictly already)."""
    stamps = batch.column("commit_ts").to_numpy(zero_copy_only=False)
    if len(stamps) < 2 or bool((stamps[1:] > stamps[:-1]).all()):
        return batch
    columns = {"commit_ts": batch.column("commit_ts")}
    if "seq" in batch.schema.names:
        columns["seq"] = batch.column("seq")
    columns |= {f"key{place}": _sortable(key) for place, key in enumerate(key_columns(batch, info))}
    keys = [(name, "ascending", "at_start") for name in columns]
    order = pc.sort_indices(pa.table(columns), sort_keys=keys)
    return batch.take(order)


def _sortable(key: pa.Array) -> pa.Array:
    return key.dictionary_decode() if pa.types.is_dictionary(key.type) else key


class OrderCheck:
    """Sees the batches of one table in order and refuses two changes of one key with one commit_ts and no ``seq``."""

    def __init__(self, info: TableInfo) -> None:
        self._info = info
        self._last: pa.RecordBatch | None = None

    def check(self, batch: pa.RecordBatch) -> None:
        """Raise :class:`DuplicateChangeError` for the first ambiguous pair, across batches too."""
        if batch.num_rows == 0 or not self._info.handle_key:
            return
        if self._last is not None and self._last.column("commit_ts")[0].as_py() == batch.column("commit_ts")[0].as_py():
            joined = pa.Table.from_batches([self._last, batch.slice(0, 1)]).combine_chunks().to_batches()[0]
            self._check_within(joined)
        self._check_within(batch)
        self._last = batch.slice(batch.num_rows - 1, 1)

    def _check_within(self, batch: pa.RecordBatch) -> None:
        stamps = batch.column("commit_ts").to_numpy(zero_copy_only=False)
        same = np.flatnonzero(stamps[1:] == stamps[:-1])
        if len(same) == 0:
            return
        left, right = batch.take(pa.array(same)), batch.take(pa.array(same + 1))
        if "seq" in batch.schema.names:
            unordered = pc.equal(left.column("seq"), right.column("seq")).fill_null(True)
        else:
            unordered = pa.repeat(pa.scalar(True), len(same))
        for one, other in zip(key_columns(left, self._info), key_columns(right, self._info), strict=True):
            unordered = pc.and_(unordered, pc.equal(one, other).fill_null(False))
        if not pc.any(unordered).as_py():
            return
        index = pc.index(unordered, pa.scalar(True)).as_py()
        keys = key_columns(left, self._info)
        raise DuplicateChangeError(
            "two changes of one key have the same commit_ts and nothing orders them",
            remedy="Give the changes a seq (their order inside the transaction)",
            table=self._info.full_name,
            row={column.name: key[index].as_py() for column, key in zip(self._info.handle_key, keys, strict=True)},
            commit_ts=int(stamps[same[index]]),
        )
