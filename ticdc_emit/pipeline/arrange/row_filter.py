"""Which rows a changefeed sends: those that ``[filter]`` lets through, with their updates of keys split.

TiCDC's classic lineage filters an update before it splits it; the new architecture looks at its kind first, and at the
values of its two halves. Rule source: ``cdc/entry/mounter.go`` of pingcap/tiflow; ``pkg/eventservice/event_scanner.go``
of pingcap/ticdc.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.attributes import START_TS
from ticdc_emit.changes.images import Image, differing
from ticdc_emit.changes.model import Op, RowEncoder
from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.pipeline.arrange.row_reader import IMAGES, ImageName, read_image
from ticdc_emit.pipeline.arrange.transactions import RANKS, kind_ranks, split_updates, values_differ
from ticdc_emit.pipeline.plan.table_plans import Plan, TablePlan
from ticdc_emit.routing.filter_rules import KEYLESS
from ticdc_emit.routing.filter_rules import START_TS as BY_START_TS
from ticdc_emit.routing.row_filters import RowFilter


def drop_unreplicated(
    batch: pa.RecordBatch, table: TablePlan, plan: Plan, kept_back: Counter[str], *, keyless: bool
) -> pa.RecordBatch:
    """Count and drop rows that are not replicated; ``keyless``: also those without a handle key, else refused later."""
    if table.left_out:
        stamps = batch.column("commit_ts").to_numpy(zero_copy_only=False).astype(np.uint64)
        spans = [span for span in table.left_out if keyless or span.reason != KEYLESS]
        batch = _drop(batch, [(span.reason, span.covers(stamps)) for span in spans], kept_back)
    if plan.ignored_start_ts and START_TS in batch.schema.names:
        starts = batch.column(START_TS).fill_null(-1).to_numpy(zero_copy_only=False)
        wanted = np.fromiter(plan.ignored_start_ts, np.uint64, len(plan.ignored_start_ts)).astype(np.int64)
        batch = _drop(batch, [(BY_START_TS, np.isin(starts, wanted))], kept_back)
    return batch


def split_and_filter(batch: pa.RecordBatch, table: TablePlan, plan: Plan, kept_back: Counter[str]) -> pa.RecordBatch:
    """Return the rows that the event filters let through, updates of keys split; then unsorted. Counts the others."""
    if not any(table.filters):
        return split_updates(batch, table, plan)
    if plan.transactions.filtered_updates == "whole":
        return split_updates(_apply_filters(batch, table, plan, kept_back), table, plan)
    batch = _drop_judged(
        batch, table, kept_back, lambda rows, encoder, filters: _ignored_kinds(rows, filters, [Op.UPDATE])
    )
    return _apply_filters(split_updates(batch, table, plan), table, plan, kept_back)


def _apply_filters(batch: pa.RecordBatch, table: TablePlan, plan: Plan, kept_back: Counter[str]) -> pa.RecordBatch:
    batch = _drop_judged(batch, table, kept_back, lambda rows, encoder, filters: _ignored_kinds(rows, filters, Op))
    return _drop_judged(
        batch, table, kept_back, lambda rows, encoder, filters: _ignored_values(rows, table, encoder, filters, plan)
    )


def _drop_judged(
    batch: pa.RecordBatch,
    table: TablePlan,
    kept_back: Counter[str],
    judge: Callable[[pa.RecordBatch, RowEncoder, RowFilter], Iterable[tuple[str, Mask]]],
) -> pa.RecordBatch:
    left_out: list[tuple[str, Mask]] = []
    for start, length, encoder in table.spans(batch.column("commit_ts").cast(pa.uint64(), safe=False)):
        filters = table.filter_of(encoder)
        if filters is None:
            continue
        for reason, rows in judge(batch.slice(start, length), encoder, filters):
            mask = np.zeros(batch.num_rows, np.bool_)
            mask[start : start + length] = rows
            left_out.append((reason, mask))
    return _drop(batch, left_out, kept_back)


def _drop(batch: pa.RecordBatch, masks: Iterable[tuple[str, Mask]], kept_back: Counter[str]) -> pa.RecordBatch:
    """Return the batch without the rows of any mask; a row counts for the first that holds it."""
    gone = np.zeros(batch.num_rows, np.bool_)
    for reason, mask in masks:
        count = int((mask & ~gone).sum())
        if count:
            kept_back[reason] += count
            gone |= mask
    return batch.filter(pa.array(~gone)) if gone.any() else batch


def _ignored_kinds(rows: pa.RecordBatch, filters: RowFilter, ops: Iterable[Op]) -> Iterator[tuple[str, Mask]]:
    kinds = kind_ranks(rows)
    for op in ops:
        if op in filters.kinds:
            yield filters.kinds[op], kinds == RANKS[op]


def _ignored_values(
    rows: pa.RecordBatch, table: TablePlan, encoder: RowEncoder, filters: RowFilter, plan: Plan
) -> Iterator[tuple[str, Mask]]:
    kinds = kind_ranks(rows)
    for op in Op:
        wanted = [each for each in filters.values if each.op is op]
        only = filters.only_columns if op is Op.UPDATE else ()
        places = np.flatnonzero(kinds == RANKS[op]) if wanted or only else np.array([], np.int64)
        if not len(places):
            continue
        part = rows if len(places) == rows.num_rows else rows.take(pa.array(places))
        images = {
            name: read_image(part, table, encoder.table, op, name, plan.rendering)
            for name in IMAGES
            if (op, name) in filters.read
        }
        for columns in only:
            yield (
                columns.name,
                _spread(_changes_no_others(images, columns.columns, len(places), plan), places, rows.num_rows),
            )
        for each in wanted:
            ignored = each.expression.ignored(images[each.image], len(places))
            yield each.name, _spread(ignored, places, rows.num_rows)


def _changes_no_others(images: Mapping[ImageName, Image], columns: frozenset[str], count: int, plan: Plan) -> Mask:
    """Return which updates change none but these columns; one that changes nothing does so too."""
    before, after = images["before"], images["after"]
    only = np.ones(count, np.bool_)
    for column in before.table.row_columns:
        if column.name in columns:
            continue
        old, new = before.raw(column), after.raw(column)
        differs = differing(old, new)
        if differs is None:
            continue
        places = np.flatnonzero(differs & only)
        index = pa.array(places)
        old, new = old.take(index), new.take(index)
        one_is_null = np.asarray(pc.xor(old.is_null(), new.is_null()))
        only[places] = ~(values_differ(column, old, new, plan.rendering) | one_is_null)
    return only


def _spread(mask: Mask, places: npt.NDArray[np.int64], count: int) -> Mask:
    whole = np.zeros(count, np.bool_)
    whole[places] = mask
    return whole
