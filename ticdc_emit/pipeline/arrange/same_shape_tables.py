"""Rows of many tables, sorted at once where their tables' keys are of one shape.

In: a block of rows in change form, and which of its rows are of which table. Out: rows in total order with their order
keys, as slices of what was made for all tables whose keys are columns of the same names and kinds. That is what most
tables of a changefeed have in common, and few of a block's tables have rows enough to be worth calls of their own.
Those of them that have one shape in all columns (``changes.model.encoding_shape``) stay together, as a ``TableGroup``
of ``pipeline.arrange.row_batch``. What needs a table by itself is left to the caller: an update of a key, several
versions, filters, rows that are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import order_of_codes, order_of_pairs
from ticdc_emit.errors import RowError
from ticdc_emit.pipeline.arrange.row_batch import BATCH_BYTES, Block, RowBatch, TableGroup, encoder_of
from ticdc_emit.pipeline.arrange.sort_key import order_keys_of
from ticdc_emit.pipeline.arrange.transactions import early_ranks, key_updates, with_whole_numbers
from ticdc_emit.pipeline.plan.table_plans import Plan, TablePlan

_Places: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TableRows:
    """A table, and the places of its rows in a block."""

    table: TablePlan
    places: _Places


def by_key_shape(tables: Sequence[TableRows], plan: Plan) -> list[list[TableRows]]:
    """Return the tables in groups of one shape of keys. A table unlike all others is a group of one."""
    if plan.ignored_start_ts:
        return [[each] for each in tables]
    groups: dict[object, list[TableRows]] = {}
    for place, each in enumerate(tables):
        groups.setdefault(each.table.key_shape or place, []).append(each)
    return list(groups.values())


def sort_together(
    form: pa.RecordBatch, tables: Sequence[TableRows], plan: Plan
) -> tuple[list[RowBatch], list[TableRows]]:
    """Return the rows of a group of tables in order, and the tables that the caller must sort one by one."""
    codes = np.repeat(np.arange(len(tables)), [len(each.places) for each in tables])
    places = np.concatenate([each.places for each in tables])
    batch = form if len(places) == form.num_rows else form.take(pa.array(places))
    if batch is form:  # no row is moved before its place is known
        codes[places] = codes.copy()
    try:
        batch = with_whole_numbers(batch, "")
    except RowError:
        return [], list(tables)
    stamps = np.asarray(batch.column("commit_ts"))
    since = np.array([each.table.since[0] for each in tables], np.uint64)
    if (stamps <= since[codes]).any():  # a table that does not exist yet
        return [], list(tables)
    info = encoder_of(tables[0].table).table
    alone = np.zeros(len(tables), np.bool_)
    changed = key_updates(batch, info, plan.rendering) if plan.splits else None
    if changed is not None:
        alone[codes[changed]] = True
        if alone.all():
            return [], list(tables)
    numbers = np.array([plan.places[each.table.schema, each.table.name] for each in tables], np.uint32)[codes]
    keys = order_keys_of(batch, info, numbers, early_ranks(batch, plan.transactions.split_order))
    families = _table_groups([each.table for each in tables], alone)
    family_of = np.empty(len(tables), np.int64)
    for number, members in enumerate(families):
        family_of[members] = number
    order = _order(family_of[codes], stamps, numbers, keys)
    index = pa.array(order)
    size = form.nbytes
    block, keys, codes = Block(batch.take(index), ""), keys.take(index), codes[order]
    starts = np.searchsorted(family_of[codes], np.arange(len(families) + 1)).tolist()
    groups = []
    for members, start, end in zip(families, starts, starts[1:], strict=False):
        if not alone[members[0]]:
            own = tuple(tables[member].table for member in members)
            who: TablePlan | TableGroup = own[0]
            if len(own) > 1:
                who = TableGroup(own, np.searchsorted(members, codes[start:end]).astype(np.int32))
            length = end - start
            about = None if size > BATCH_BYTES else size * length // form.num_rows
            groups.append(RowBatch(block, start, length, who, keys.slice(start, length), about))
    return groups, [each for each, by_itself in zip(tables, alone, strict=True) if by_itself]


def _table_groups(tables: Sequence[TablePlan], alone: npt.NDArray[np.bool_]) -> list[list[int]]:
    families: dict[object, list[int]] = {}
    for place, (table, by_itself) in enumerate(zip(tables, alone, strict=True)):
        families.setdefault(place if by_itself else (table.encoding_shape, table.spreading), []).append(place)
    return list(families.values())


def _order(
    families: _Places, stamps: npt.NDArray[np.uint64], numbers: npt.NDArray[np.uint32], keys: pa.Array
) -> _Places:
    order = order_of_pairs(stamps, numbers)
    order = order[order_of_codes(families[order])]
    families, stamps, numbers = families[order], stamps[order], numbers[order]
    equal = (stamps[1:] == stamps[:-1]) & (numbers[1:] == numbers[:-1])
    tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    if len(tied):
        rows = order[tied]
        by_key = np.asarray(pc.array_sort_indices(keys.take(pa.array(rows))))
        by_family = by_key[np.argsort(families[tied][by_key], kind="stable")]
        order[tied] = rows[by_family]
    return order
