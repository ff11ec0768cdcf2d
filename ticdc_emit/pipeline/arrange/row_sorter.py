"""ARRANGE: row changes in a public form in, rows in total order out.

In: batches of an input task, of one table (typed form) or many (generic form), in any order. Out: ``RowBatch``, with
order keys and updates of keys split. What only the whole transaction tells is decided where it is whole: two changes of
one key, and ranks of a transaction with a split update whose rows have a ``seq``. Rows of many tables whose keys are of
one shape are sorted at once, for few tables of a block have rows enough to be worth calls of their own; those of one
shape in all columns stay together as a ``TableGroup``. What needs a table by itself is not: an update of a key, several
versions, filters, refused rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.arrow_input import check_columns, is_ddl, normal_form, rows_by_table
from ticdc_emit.changes.attributes import SPLIT
from ticdc_emit.changes.commit_ts import refuse_far
from ticdc_emit.columnar.buffers import order_of_codes, order_of_pairs
from ticdc_emit.errors import LateRowError, RowError
from ticdc_emit.pipeline.arrange.conflicting_changes import ConflictCheck
from ticdc_emit.pipeline.arrange.row_batch import (
    BATCH_BYTES,
    BATCH_ROWS,
    POSITION,
    Block,
    RowBatch,
    TableGroup,
    encoder_of,
    with_places,
)
from ticdc_emit.pipeline.arrange.row_counts import RowCounts
from ticdc_emit.pipeline.arrange.row_filter import drop_unreplicated, split_and_filter
from ticdc_emit.pipeline.arrange.row_reader import change_form
from ticdc_emit.pipeline.arrange.sort_key import TRANSACTION_BYTES, order_keys, order_keys_of, order_of, rank_by_kind
from ticdc_emit.pipeline.arrange.transactions import are_ranked_later, key_updates, ranks, with_whole_numbers
from ticdc_emit.pipeline.plan.table_plans import Plan, TablePlan

_GATHER_ROWS = 64 * 1024
_GATHER_BYTES = 64 * 1024 * 1024


class RowSorter:
    """Arranges the batches of one input task.

    ``table``: ``None`` where each row names its table. ``late``: ``error``, ``emit`` or ``drop`` for rows at or below
    the TSO ``late_until``; ``any`` where the caller sends watermarks. ``split_transactions``: the first bytes of the
    order keys of transactions with a split update, by topic, where rows have a ``seq``: their rows rank by kind.
    ``row_counts``: for slots of ``tick_ms``. ``whole``: whether a block is all of a batch, so that all is decided here.
    """

    def __init__(
        self,
        plan: Plan,
        table: tuple[str, str] | None,
        late: str,
        late_until: int | None,
        tick_ms: int | None = None,
        *,
        whole: bool = False,
    ) -> None:
        self._plan = plan
        self._table = None if table is None else plan.table(*table)
        self._late, self._whole = late, whole
        self._late_until = None if late == "emit" else late_until
        self._where = "the changefeed" if table is None else ".".join(table)
        self.late_rows = 0
        self.kept_back: Counter[str] = Counter()
        self.split_transactions: dict[str, set[bytes]] = {}
        self.row_counts = None if tick_ms is None else RowCounts(tick_ms)

    def sort(self, rows: pa.RecordBatch) -> Iterator[RowBatch]:
        """Yield a block's rows in batches. Raises the :class:`~ticdc_emit.errors.RowError` family."""
        for batch in self._sorted(rows):
            if self.row_counts is not None:
                self.row_counts.count(batch, self._plan.places)
            yield batch

    def _sorted(self, rows: pa.RecordBatch) -> Iterator[RowBatch]:
        form = change_form(rows, self._where)
        columns = dict(zip(form.schema.names, form.columns, strict=True)) | {POSITION: rows.column(POSITION)}
        if pa.types.is_dictionary(columns["op"].type):
            columns["op"] = columns["op"].dictionary_decode()
        if self._late != "any":
            refuse_far(columns["commit_ts"], self._where)
        form = pa.record_batch(columns)
        if self._table is not None:
            yield from self._sort_alone([(self._table, form)])
            return
        names = rows_by_table(rows.column("schema"), rows.column("table"))
        tables = [TablePlaces(self._plan.table(*name), places) for name, places in names]
        first = pc.min(form.column("commit_ts")).as_py()  # none, where every row of a block was bad
        if self._late_until is not None and first is not None and first <= self._late_until:
            yield from self._sort_alone(_rows_of_tables(form, tables))
            return
        for group in by_key_shape(tables, self._plan):
            alone = group
            if len(group) > 1:
                batches, alone = sort_together(form, group, self._plan)
                yield from batches
            yield from self._sort_alone(_rows_of_tables(form, alone))

    def include(self, other: RowSorter) -> None:
        self.late_rows += other.late_rows
        self.kept_back.update(other.kept_back)
        for topic, transactions in other.split_transactions.items():
            self.split_transactions.setdefault(topic, set()).update(transactions)
        if self.row_counts is not None and other.row_counts is not None:
            self.row_counts.include(other.row_counts)

    def gather(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the row changes in normal form, with their places, in batches that are worth their handling.

        Many tables are gathered to about 64 k rows or 64 MiB, so that each table's part is large; one table only to the
        rows that are encoded at once, for memory that was just used is used again.
        """
        enough = _GATHER_ROWS if self._table is None else BATCH_ROWS
        held: list[pa.RecordBatch] = []
        first_row = count = size = 0
        for batch in batches:
            check_columns(batch.schema.names, self._where)
            for start in range(0, batch.num_rows, BATCH_ROWS):
                rows = normal_form(batch.slice(start, BATCH_ROWS), self._where, first_row)
                rows = with_places(rows, first_row)
                first_row += rows.num_rows
                if "query" in rows.schema.names:
                    rows = rows.filter(pc.invert(is_ddl(rows)))
                if rows.num_rows:
                    held.append(rows)
                    count, size = count + rows.num_rows, size + rows.nbytes
                if count >= enough or size >= _GATHER_BYTES:
                    yield pa.concat_batches(held)
                    held, count, size = [], 0, 0
        if held:
            yield pa.concat_batches(held)

    def _sort_alone(self, tables: Iterable[tuple[TablePlan, pa.RecordBatch]]) -> Iterator[RowBatch]:
        for table, part in tables:
            part = sort_by_commit(with_whole_numbers(part, table.full_name))
            part = drop_unreplicated(part, table, self._plan, self.kept_back, keyless=self._table is None)
            part = self._without_late(table, part)
            if part.num_rows:
                part = split_and_filter(part, table, self._plan, self.kept_back)
            if part.num_rows:
                yield self._with_keys(table, sort_by_commit(part))

    def _without_late(self, table: TablePlan, part: pa.RecordBatch) -> pa.RecordBatch:
        if self._late_until is None:
            return part
        stamps = np.asarray(part.column("commit_ts"))
        count = int(stamps.searchsorted(np.uint64(self._late_until), side="right"))
        if not count:
            return part
        if self._late == "error":
            raise LateRowError(
                f"a row's commit_ts is at or below {self._late_until}, up to which a watermark or DDL was already sent",
                remedy="Allow lateness (allowed_lateness), or choose late='drop' or late='emit'",
                table=table.full_name,
                commit_ts=int(stamps[0]),
            )
        self.late_rows += count
        return part.slice(count)

    def _with_keys(self, table: TablePlan, part: pa.RecordBatch) -> RowBatch:
        place = self._plan.places[table.schema, table.name]
        split_order = self._plan.transactions.split_order
        if self._whole:
            stamps = np.asarray(part.column("commit_ts"))
            if (stamps[1:] > stamps[:-1]).all():  # so no update was split
                return RowBatch.of(part, table)
        keys = order_keys(part, table, place, ranks(part, split_order))
        if SPLIT in part.schema.names and are_ranked_later(part, split_order):
            transactions = pc.binary_slice(keys.filter(part.column(SPLIT)), 0, TRANSACTION_BYTES).unique()
            if self._whole:
                keys = rank_by_kind(keys, transactions)
            else:
                self.split_transactions.setdefault(table.topic, set()).update(transactions.to_pylist())
        order = order_of(keys)
        if order is not None:
            part, keys = part.take(order), keys.take(order)
        if self._whole:
            ConflictCheck(self._plan.in_order).check(keys)
        return RowBatch.of(part, table, keys)


def _rows_of_tables(form: pa.RecordBatch, tables: Iterable[TablePlaces]) -> Iterator[tuple[TablePlan, pa.RecordBatch]]:
    for each in tables:
        yield each.table, form if len(each.places) == form.num_rows else form.take(pa.array(each.places))


def sort_by_commit(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows by commit_ts, those of one in the order that they have."""
    stamps = np.asarray(batch.column("commit_ts").cast(pa.uint64(), safe=False))
    if (stamps[1:] >= stamps[:-1]).all():
        return batch
    return batch.take(pa.array(np.argsort(stamps, kind="stable")))


_Places: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TablePlaces:
    """A table, and the places of its rows in a block."""

    table: TablePlan
    places: _Places


def by_key_shape(tables: Sequence[TablePlaces], plan: Plan) -> list[list[TablePlaces]]:
    """Return the tables in groups of one shape of keys. A table unlike all others is a group of one."""
    if plan.ignored_start_ts:
        return [[each] for each in tables]
    groups: dict[object, list[TablePlaces]] = {}
    for place, each in enumerate(tables):
        groups.setdefault(each.table.key_shape or place, []).append(each)
    return list(groups.values())


def sort_together(
    form: pa.RecordBatch, tables: Sequence[TablePlaces], plan: Plan
) -> tuple[list[RowBatch], list[TablePlaces]]:
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
    keys = order_keys_of(batch, info, numbers, ranks(batch, plan.transactions.split_order))
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
