"""Transactions: updates that change a key are split in two, and what orders the rows of one transaction.

A row's transaction is its (commit_ts, ``physical_table_id``, ``start_ts``): the partitions of a table are separate
ones, as in TiCDC. Halves are marked in the column ``_split``; :func:`ranks` come before ``seq``. Rule sources:
semantics 4.1; ``cdc/model/sink.go`` (trySplitAndSortUpdateEvent) and
``cdc/processor/sourcemanager/sorter/pebble/encoding/key.go`` of pingcap/tiflow: deletes, updates, inserts, in key
order.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.arrow_input import only_op
from ticdc_emit.changes.attributes import PHYSICAL_TABLE_ID, SPLIT, START_TS
from ticdc_emit.changes.images import differing, image_column
from ticdc_emit.changes.model import Op
from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.columnar.integers import parse_integers
from ticdc_emit.columnar.value_errors import ValueRefused, bad_places, fault_at
from ticdc_emit.columnar.values import Rendering, accept, plain_text
from ticdc_emit.errors import InvalidValueError, RowError, UnsupportedTypeError
from ticdc_emit.pipeline.arrange.row_batch import POSITION
from ticdc_emit.pipeline.plan.table_plans import Plan, TablePlan
from ticdc_emit.schema.model import Column, TableInfo

TRANSACTION = (PHYSICAL_TABLE_ID, START_TS)
"""The optional columns that tell transactions of one table and commit_ts apart, in the order of their sort."""

SplitOrder: TypeAlias = Literal["by-kind", "inserts-last"]

_WHOLE = ""
DELETED, UPDATED, INSERTED = 0, 1, 2
"""What :func:`op_ranks` gives for a delete, an update and an insert."""

RANKS = {Op.DELETE: DELETED, Op.UPDATE: UPDATED, Op.INSERT: INSERTED}
_LAST, UNKNOWN = 3, -1
_NO_NUMBER = -(1 << 63)
_whole = partial(parse_integers, unsigned=False)


def with_whole_numbers(batch: pa.RecordBatch, table: str) -> pa.RecordBatch:
    """Return the batch with the columns of :data:`TRANSACTION` as ``int64``; ``table`` is for errors."""
    for place, name in enumerate(batch.schema.names):
        if name in TRANSACTION and batch.schema.field(place).type != pa.int64():
            batch = batch.set_column(place, name, _whole_numbers(batch, name, table))
    return batch


def _whole_numbers(batch: pa.RecordBatch, name: str, table: str) -> pa.Array:
    given = batch.column(name)
    kind = given.type
    if pa.types.is_dictionary(kind):
        given = given.dictionary_decode()
    try:
        if pa.types.is_boolean(given.type):
            raise TypeError
        return _whole(given)
    except TypeError:
        raise UnsupportedTypeError(
            f"{name} is {kind}, not a whole number of 64 bits",
            remedy=f"Give {name} as a long, or as the text of one",
            table=table,
            column=name,
        ) from None
    except ValueRefused as fault:
        raise _refused_numbers(batch, name, table, given, fault) from None


def _refused_numbers(batch: pa.RecordBatch, name: str, table: str, given: pa.Array, fault: ValueRefused) -> RowError:
    bad = bad_places(given, fault, _whole)
    knows_places = POSITION in batch.schema.names
    rows = batch.column(POSITION).take(pa.array(bad)).to_pylist() if knows_places else bad.tolist()

    def error(number: int) -> InvalidValueError:
        reason = fault_at(given, int(bad[number]), fault, _whole).reason
        return InvalidValueError(
            f"the {name} of a change is not a whole number of 64 bits: {reason}",
            remedy=f"Give {name} as a long, or as the text of one; null if it is unknown",
            table=table,
            column=name,
            row={"position": rows[number]},
        )

    return RowError.first(rows, error)


def split_updates(batch: pa.RecordBatch, table: TablePlan, plan: Plan) -> pa.RecordBatch:
    """Return the batch (in change form, commit_ts checked and ascending) with its updates split; then unsorted."""
    if not plan.splits or not {"before", "after"} <= set(batch.schema.names):
        return batch
    changed = np.zeros(batch.num_rows, np.bool_)
    for start, length, encoder in table.spans(batch.column("commit_ts").cast(pa.uint64(), safe=False)):
        of_version = key_updates(batch.slice(start, length), encoder.table, plan.rendering)
        if of_version is not None:
            changed[start : start + length] = of_version
    if not changed.any():
        return batch
    whole, split = np.flatnonzero(~changed), np.flatnonzero(changed)
    rows = batch.take(pa.array(np.concatenate([whole, split, split])))
    return _split_rows(rows, np.repeat([_WHOLE, "d", "i"], [len(whole), len(split), len(split)]))


def _split_rows(batch: pa.RecordBatch, marks: npt.NDArray[np.str_]) -> pa.RecordBatch:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    whole = marks == _WHOLE
    op = columns["op"]
    plain_op = op.dictionary_decode() if pa.types.is_dictionary(op.type) else op
    halves = pa.array(np.where(marks == "d", "d", "c").astype(object), plain_op.type)
    columns["op"] = pc.if_else(pa.array(whole), plain_op, halves)
    for image, other in (("after", "d"), ("before", "i")):
        values = columns[image]
        columns[image] = values.take(pa.array(np.arange(len(marks)), mask=marks == other))
    return pa.record_batch(columns | {SPLIT: pa.array(~whole)})


def key_updates(batch: pa.RecordBatch, info: TableInfo, how: Rendering) -> Mask | None:
    """Return which rows are updates that change a primary or unique key, ``None`` if none is.

    Without a before image an update stays whole; protocols that show the image refuse such a row.
    """
    if not info.splitting_columns or not {"before", "after"} <= set(batch.schema.names):
        return None
    updates: Mask = kind_ranks(batch) == UPDATED
    images = [batch.column(name) for name in ("before", "after")]
    for image in images:
        updates = updates & np.asarray(image.is_valid().to_numpy(zero_copy_only=False))
    places = np.flatnonzero(updates)
    if not len(places):
        return None
    index = pa.array(places)
    images = [image.take(index) for image in images]
    changed = np.zeros(len(places), np.bool_)
    for column in info.splitting_columns:
        old, new = (image_column(image, column.name) for image in images)
        if old is None or new is None:
            continue
        differs = differing(old, new)
        if differs is None:
            continue
        rows = np.flatnonzero(differs & ~changed)
        index = pa.array(rows)
        changed[rows] = values_differ(column, old.take(index), new.take(index), how)
    if not changed.any():
        return None
    key_changes = np.zeros(batch.num_rows, np.bool_)
    key_changes[places] = changed
    return key_changes


def values_differ(column: Column, old: pa.Array, new: pa.Array, how: Rendering) -> Mask:
    """Compare as TiCDC does, by text or by value. What is no value differs, and is refused later."""
    try:
        left, right = accept(column, old, how), accept(column, new, how)
    except (ValueRefused, TypeError):
        return np.ones(len(old), np.bool_)
    if pa.types.is_dictionary(left.type) or pa.types.is_dictionary(right.type):
        left, right = plain_text(column, left), plain_text(column, right)
    by_text = how.switches.compared_keys == "text"
    if by_text and (pa.types.is_string(left.type) or pa.types.is_binary(left.type)):
        null = pa.scalar("null").cast(left.type)
        left, right = left.fill_null(null), right.fill_null(null)
    mask = differing(left, right)
    return np.zeros(len(old), np.bool_) if mask is None else mask


def ranks(batch: pa.RecordBatch, split_order: SplitOrder) -> npt.NDArray[np.int8]:
    """Return what comes first in a transaction, before ``seq`` and key: deletes, updates, inserts, without ``seq``.

    Else 0; a transaction with a split update ranks by kind once its rows are together (``sort_key.rank_by_kind``).
    """
    kinds, count = kind_ranks(batch), batch.num_rows
    own = np.zeros(count, np.int8) if "seq" in batch.schema.names else kinds
    if split_order == "by-kind" or SPLIT not in batch.schema.names:
        return own
    split = np.asarray(batch.column(SPLIT).fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
    own = own if "seq" in batch.schema.names else np.where(split, UPDATED, own)
    return np.where(split & (kinds == INSERTED), _LAST, own).astype(np.int8)


def are_ranked_later(batch: pa.RecordBatch, split_order: SplitOrder) -> bool:
    """Return whether the ranks of rows depend on rows of their transactions that may be in other batches."""
    return "seq" in batch.schema.names and split_order == "by-kind"


def kind_ranks(batch: pa.RecordBatch) -> npt.NDArray[np.int8]:
    """Return the :func:`op_ranks` of a batch; what is not an operation is refused elsewhere."""
    return op_ranks(batch.column("op") if "op" in batch.schema.names else pa.nulls(batch.num_rows))


def op_ranks(ops: pa.Array) -> npt.NDArray[np.int8]:
    """Return 0 for a delete, 1 for an update, 2 for an insert, :data:`UNKNOWN` for what is not an operation."""
    if (only := only_op(ops)) is not None:
        return np.full(len(ops), RANKS[only], np.int8)
    encoded = ops if pa.types.is_dictionary(ops.type) else ops.dictionary_encode()
    parsed = [Op.parse(text) if isinstance(text, str) else None for text in encoded.dictionary.to_pylist()]
    table = np.array([UNKNOWN if op is None else RANKS[op] for op in parsed] + [UNKNOWN], np.int8)
    ranks_of_rows: npt.NDArray[np.int8] = table[np.asarray(encoded.indices.fill_null(len(parsed)))]
    return ranks_of_rows
