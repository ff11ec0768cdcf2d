"""The total order of row changes, as one binary value per change whose bytes compare as the order does.

The order is (commit_ts, table, transaction, rank, ``seq``, handle key). It never depends on a row's place in a
DataFrame, so that partition counts and retries cannot change a byte. A key has three sections:

=========  =====  ==================================================================================================
section    bytes  what it holds
=========  =====  ==================================================================================================
head       8      commit_ts, a TSO
\\          4      the table's place among the plan's tables (``Plan.places``)
\\          18     ``physical_table_id`` and ``start_ts``, which tell transactions apart; 9 bytes each, NULL is least
\\          1      the rank inside the transaction (``arrange.transactions.ranks``), at :data:`RANK_AT`
\\          9      ``seq``, NULL is least
cells      any    each column of the handle key, or of the whole row where a table has none: numbers and moments by
\\                 value (those given as text too, where they are numbers), text bytewise, NULL is least
kind       1      delete 0, update 1, insert 2; :data:`HALF` for one half of a split update; :data:`NAMELESS` for a
\\                 change that no key tells from another
=========  =====  ==================================================================================================

The head has one width and every cell ends itself, so two keys differ first where their changes do. BIT, YEAR, ENUM, SET
and moments that are given as text compare as that text. :mod:`~ticdc_emit.arrange.order_cells` writes the cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.arrange.keys import key_columns, sortable
from ticdc_emit.arrange.order_cells import Bytes, big_endian, cells_of, number_cells, value_of
from ticdc_emit.arrange.transactions import kind_ranks
from ticdc_emit.changes.attributes import PHYSICAL_TABLE_ID, SPLIT, START_TS
from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.columnar.buffers import from_bytes, null_mask, text_buffers
from ticdc_emit.columnar.sorting import order_of_pairs
from ticdc_emit.plan.table_plan import TablePlan
from ticdc_emit.schema.model import TableInfo

__all__ = [
    "HALF",
    "HEAD_BYTES",
    "KIND_MASK",
    "NAMELESS",
    "RANK_AT",
    "TRANSACTION_BYTES",
    "commit_stamps",
    "key_values",
    "kinds_of",
    "order_keys",
    "order_keys_of",
    "order_of",
    "stamps_and_tables",
    "with_ranks",
]

TRANSACTION_BYTES = 30
"""The first bytes of a key: two changes of one transaction have the same ones."""

RANK_AT = TRANSACTION_BYTES
HEAD_BYTES = 40
_TABLE_BYTES = 12  # commit_ts and table
KIND_MASK, HALF, NAMELESS = 0x03, 0x04, 0x08

_LONGEST_TEXT = 1024  # of a change without a key; handle keys are compared whole


def order_keys(batch: pa.RecordBatch, table: TablePlan, place: int, rank: npt.NDArray[np.int8]) -> pa.Array:
    """Return the order key of each change of one table, ``binary``.

    ``batch``: in change form, with a checked commit_ts and ``numbered`` transactions. ``place``: the table's.
    ``rank``: of each change inside its transaction.
    """
    stamps = np.asarray(batch.column("commit_ts").cast(pa.uint64(), safe=False))
    head, kind = _heads_and_kinds(batch, stamps, np.uint32(place), rank)
    keys = [
        _joined(head[start : start + length], batch.slice(start, length), encoder.table, kind[start : start + length])
        for start, length, encoder in table.spans(pa.array(stamps))
    ]
    if len(keys) == 1:
        return keys[0]
    return pa.concat_arrays(keys) if keys else pa.array([], pa.binary())


def order_keys_of(
    batch: pa.RecordBatch, info: TableInfo, places: npt.NDArray[np.uint32], rank: npt.NDArray[np.int8]
) -> pa.Array:
    """Return the order key of each change of tables whose keys are as those of ``info``; ``places``: of each row's."""
    stamps = np.asarray(batch.column("commit_ts").cast(pa.uint64(), safe=False))
    head, kind = _heads_and_kinds(batch, stamps, places, rank)
    return _joined(head, batch, info, kind)


def _heads_and_kinds(
    batch: pa.RecordBatch,
    stamps: npt.NDArray[np.uint64],
    places: np.uint32 | npt.NDArray[np.uint32],
    rank: npt.NDArray[np.int8],
) -> tuple[Bytes, Bytes]:
    """Return the head of each key, and the byte of its kind."""
    count = batch.num_rows
    head = np.zeros((count, HEAD_BYTES), np.uint8)
    head[:, 0:8] = big_endian(stamps)
    head[:, 8:12] = np.asarray(places).astype(">u4").reshape(-1, 1).view(np.uint8)
    names = batch.schema.names
    for name, start in ((PHYSICAL_TABLE_ID, 12), (START_TS, 21), ("seq", 31)):
        if name in names:
            head[:, start : start + 9] = number_cells(batch.column(name))
    head[:, RANK_AT] = rank
    kinds = kind_ranks(batch)
    kind = np.where(kinds < 0, 0, kinds).astype(np.uint8)
    if SPLIT in names:
        halves = np.asarray(batch.column(SPLIT).fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
        kind |= halves.astype(np.uint8) * np.uint8(HALF)
    return head, kind


def order_of(keys: pa.Array) -> pa.Array | None:
    """Return the places of keys in their order, ``None`` where they are in it.

    Few keys have a commit_ts and a table in common, so that most are in order by these numbers.
    """
    if len(keys) < 2:
        return None
    if int(text_buffers(keys).lengths.min()) < _TABLE_BYTES:
        return None if _are_in_order(keys) else pc.array_sort_indices(keys)
    stamps, tables = stamps_and_tables(keys)
    equal, later = _steps(stamps, tables)
    if later.all() or ((equal | later).all() and _are_in_order(keys)):
        return None
    order = order_of_pairs(stamps, tables)
    equal, _ = _steps(stamps[order], tables[order])
    tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    if len(tied):
        rows = order[tied]
        order[tied] = rows[np.asarray(pc.array_sort_indices(keys.take(pa.array(rows))))]
    return pa.array(order)


def _are_in_order(keys: pa.Array) -> bool:
    return bool(pc.all(pc.less_equal(keys.slice(0, len(keys) - 1), keys.slice(1))).as_py())


def _steps(stamps: npt.NDArray[np.uint64], tables: npt.NDArray[np.uint32]) -> tuple[Mask, Mask]:
    """Return for each pair but the first whether it is equal to the one before it, and whether it is greater."""
    same = stamps[1:] == stamps[:-1]
    return same & (tables[1:] == tables[:-1]), (stamps[1:] > stamps[:-1]) | (same & (tables[1:] > tables[:-1]))


def commit_stamps(keys: pa.Array) -> npt.NDArray[np.uint64]:
    """Return the commit_ts of each key."""
    return _heads(keys, 8).view(">u8").ravel().astype(np.uint64)


def stamps_and_tables(keys: pa.Array) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]:
    """Return the commit_ts of each key, and its table's place."""
    heads = _heads(keys, _TABLE_BYTES)
    return heads[:, :8].view(">u8").ravel().astype(np.uint64), heads[:, 8:].view(">u4").ravel().astype(np.uint32)


def kinds_of(keys: pa.Array) -> Bytes:
    """Return the last byte of each key."""
    buffers = text_buffers(keys)
    return buffers.data[buffers.offsets[1:] - 1]


def with_ranks(keys: pa.Array, rows: npt.NDArray[np.int64]) -> pa.Array:
    """Return the keys in which these rows rank by their kind: those of a transaction with a split update."""
    buffers = text_buffers(keys)
    data = buffers.data.copy()
    data[buffers.offsets[rows] + RANK_AT] = data[buffers.offsets[rows + 1] - 1] & np.uint8(KIND_MASK)
    return from_bytes(buffers.offsets, data, binary=True)


def key_values(key: bytes, table: TableInfo) -> dict[str, Any]:
    """Return the handle key's values in an order key of this table version, by column: for errors."""
    values, rest = {}, key[HEAD_BYTES:]
    for column in table.whole_handle_key:
        values[column.name], rest = value_of(rest, column)
    return values


def _heads(keys: pa.Array, width: int) -> Bytes:
    """Return the first bytes of each key, one row per key."""
    buffers = text_buffers(keys)
    size, rest = divmod(len(buffers.data), max(len(keys), 1))
    if size >= width and not rest and (buffers.lengths == size).all():
        return buffers.data.reshape(len(keys), size)[:, :width]
    heads: Bytes = buffers.data[buffers.offsets[:-1, None] + np.arange(width)]
    return heads


def _joined(head: Bytes, batch: pa.RecordBatch, info: TableInfo, kind: Bytes) -> pa.Array:
    """Put the sections of the keys of one table version together."""
    columns = key_columns(batch, info.order_columns)
    nameless = np.full(len(head), not info.whole_handle_key or len(columns) < len(info.order_columns))
    parts: list[pa.Array | list[Bytes]] = [[head]]
    for column in info.order_columns:
        if column.name not in columns:
            continue
        values = sortable(column, columns[column.name])
        nulls = null_mask(values)
        if nulls is not None:
            nameless |= nulls
        cell = cells_of(values, nulls, limit=None if info.whole_handle_key else _LONGEST_TEXT)
        if isinstance(cell, pa.Array):
            parts += [cell, []]
        else:
            parts[-1].append(cell)  # neighbours of fixed width become one matrix
    kind = kind | nameless.astype(np.uint8) * np.uint8(NAMELESS)
    parts[-1].append(kind[:, None])
    arrays = [part if isinstance(part, pa.Array) else _as_binary(np.hstack(part)) for part in parts if len(part)]
    return arrays[0] if len(arrays) == 1 else pc.binary_join_element_wise(*arrays, b"")


def _as_binary(matrix: Bytes) -> pa.Array:
    rows, width = matrix.shape
    return from_bytes(np.arange(rows + 1, dtype=np.int32) * np.int32(width), matrix.ravel(), binary=True)
