"""The total order of the rows of many tables and topic-partitions, where one process has them all.

In: parts of a batch, each of one table, in change form with updates of keys split. Out: the parts with the partition of
each row, and windows of them sorted as a task of a changefeed takes them: by topic-partition, commit_ts, table,
transaction, rank, ``seq`` and key (``arrange.order``). Most rows are told apart by the first two, which are integers;
only the rest is compared by more.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.arrange.dispatch import UNKNOWN, hashed_names, partitions_of_keys
from ticdc_emit.arrange.order import sort_keys, sorted_places
from ticdc_emit.arrange.transactions import (
    DELETED,
    TRANSACTION,
    are_among,
    distinct,
    kind_ranks,
    ranks,
    transactions_of,
)
from ticdc_emit.changes.attributes import SPLIT
from ticdc_emit.changes.images import image_column
from ticdc_emit.changes.tables import TABLE_NAMES, rows_by_table
from ticdc_emit.delivery.topics import MOST_PARTITIONS
from ticdc_emit.encode.blocks import PARTITION
from ticdc_emit.plan.tables import Plan, TablePlan

__all__ = ["SORT_KEYS", "TotalOrder", "by_table"]

_TARGET = "_target"
SORT_KEYS = (_TARGET, "commit_ts")
"""What orders windows: the number of the topic-partition, and commit_ts."""


class TotalOrder:
    """Sees every part of a batch (:meth:`placed`) before it sorts the first window (:meth:`ordered`).

    ``table``: whose rows they are, ``None`` where each names its own.
    """

    def __init__(self, plan: Plan, table: TablePlan | None) -> None:
        self._plan = plan
        self._table = table
        self._topics = {name: number for number, name in enumerate(sorted(plan.router.partitions))}
        self._split: list[pa.Table] = []

    def placed(self, part: pa.RecordBatch, table: TablePlan) -> pa.RecordBatch:
        """Return the changes of one table with their partitions, and what :data:`SORT_KEYS` names.

        Columns come in order of name, whatever the part. ``commit_ts`` ascends in it, but for halves of updates.
        """
        columns = dict(zip(part.schema.names, part.columns, strict=True))
        partitions = _partitions(part, table, self._plan)
        target = partitions.astype(np.int64) + self._topics[table.topic] * MOST_PARTITIONS
        columns |= {PARTITION: pa.array(partitions), _TARGET: pa.array(target)}
        if SPLIT in columns:
            self._note_split(part)
        elif self._plan.splits:
            columns[SPLIT] = pa.repeat(pa.scalar(False), part.num_rows)
        return pa.record_batch({name: columns[name] for name in sorted(columns)})

    def ordered(self, window: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows in total order, in the columns that a task reads."""
        target, stamps = (np.asarray(window.column(name)) for name in SORT_KEYS)
        order = np.lexsort((stamps, target))
        equal = (target[order][1:] == target[order][:-1]) & (stamps[order][1:] == stamps[order][:-1])
        tied = np.flatnonzero(np.append(False, equal) | np.append(equal, False))
        if len(tied):
            rows = order[tied]
            order[tied] = rows[self._order_of_tied(window.take(pa.array(rows)))]
        return window.drop_columns([_TARGET]).take(pa.array(order))

    def _order_of_tied(self, rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
        columns = {name: rows.column(name) for name in (*SORT_KEYS, *TABLE_NAMES) if name in rows.schema.names}
        columns |= {name: rows.column(name) for name in TRANSACTION if name in rows.schema.names}
        columns["rank"] = pa.array(self._ranks(rows))
        if "seq" in rows.schema.names:
            columns["seq"] = rows.column("seq")
        columns["key"] = pa.array(self._key_places(rows))
        return sorted_places(columns)

    def _key_places(self, rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """Number the rows so that those of one table compare by key."""
        found = np.zeros(rows.num_rows, np.int64)
        for table, index in by_table(rows, self._plan, self._table):
            keys = sort_keys(rows if index is None else rows.take(pa.array(index)), table)
            if keys:
                places = sorted_places(keys)
                found[places if index is None else index[places]] = np.arange(len(places))
        return found

    def _ranks(self, rows: pa.RecordBatch) -> npt.NDArray[np.int8]:
        """Return the ranks of ``arrange.transactions``, with the splits of the whole batch in view."""
        if "seq" not in rows.schema.names or self._plan.split_order != "by-kind":
            return ranks(rows, self._plan.split_order)
        if not self._split:
            return np.zeros(rows.num_rows, np.int8)
        found: npt.NDArray[np.int8] = kind_ranks(rows) * are_among(transactions_of(rows), self._split_transactions)
        return found

    def _note_split(self, part: pa.RecordBatch) -> None:
        if "seq" in part.schema.names and self._plan.split_order == "by-kind":
            self._split.append(distinct(transactions_of(part.filter(part.column(SPLIT)))))

    @cached_property
    def _split_transactions(self) -> pa.Table:
        return distinct(pa.concat_tables(self._split))


def by_table(
    rows: pa.RecordBatch, plan: Plan, table: TablePlan | None
) -> list[tuple[TablePlan, npt.NDArray[np.int64] | None]]:
    """Return each table with the places of its rows, in their order; ``None`` for all of them.

    Raises :class:`~ticdc_emit.errors.UnknownTableError`.
    """
    if table is not None:
        return [(table, None)]
    groups = rows_by_table(*(rows.column(name) for name in TABLE_NAMES))
    return [(plan.table(*name), places) for name, places in groups]


def _partitions(part: pa.RecordBatch, table: TablePlan, plan: Plan) -> npt.NDArray[np.int32]:
    """Tell by the image that counts: after, or before of a delete."""
    if table.partition is not None:
        return np.full(part.num_rows, table.partition, np.int32)
    images = [part.column(name) for name in ("after", "before") if name in part.schema.names]
    deleted = kind_ranks(part) == DELETED
    names = hashed_names(table)
    found = np.full(part.num_rows, UNKNOWN, np.int32)
    for image, of_rows in ((images[0], ~deleted), (images[-1], deleted)):
        index = pa.array(np.flatnonzero(of_rows))
        if len(index):
            counted = image.take(index)
            held = {name: values for name in names if (values := image_column(counted, name)) is not None}
            stamps = part.column("commit_ts").take(index)
            found[of_rows] = np.asarray(partitions_of_keys(table, stamps, held, plan.rendering))
    return found
