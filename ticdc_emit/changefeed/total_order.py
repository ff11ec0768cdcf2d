"""The total order of the rows of many tables and topic-partitions, where one process has them all.

In: parts of a batch, each of one table, in change form with updates of keys split. Out: the parts with the partition of
each row, and windows of them sorted as a task of a changefeed takes them: by topic-partition, commit_ts, table,
transaction, rank, ``seq`` and key (``encode.order``). Most rows are told apart by the first two, which are integers;
only the rest is compared by more.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.encode.attributes import SPLIT
from ticdc_emit.encode.blocks import PARTITION
from ticdc_emit.encode.dispatch import UNKNOWN, hashed_names, partitions_of_keys
from ticdc_emit.encode.images import image_column
from ticdc_emit.encode.order import sort_changes
from ticdc_emit.encode.plan import Plan, TablePlan
from ticdc_emit.encode.reader import POSITION
from ticdc_emit.encode.transactions import DELETED, TRANSACTION, kind_ranks, ranks

__all__ = ["SORT_KEYS", "TABLE_NAMES", "TotalOrder", "by_table"]

TABLE_NAMES = ("_schema", "_table")
"""The columns that name each row's table, where rows are of many."""

_TARGET = "_target"
SORT_KEYS = (_TARGET, "commit_ts")
"""What orders windows: the number of the topic-partition, and commit_ts."""

_PARTITIONS = 1 << 31  # more than a topic can have
_NO_TRANSACTION = -(1 << 63)


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
        target = partitions.astype(np.int64) + self._topics[table.topic] * _PARTITIONS
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
        keys = [(name, "ascending", "at_start") for name in columns]
        return np.asarray(pc.sort_indices(pa.table(columns), sort_keys=keys)).astype(np.int64)

    def _key_places(self, rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """Number the rows so that those of one table and commit_ts compare by key."""
        images = {name: rows.column(name) for name in ("after", "before") if name in rows.schema.names}
        if len(images) == 2:
            deleted = kind_ranks(rows) == DELETED
            for name, hidden in (("after", deleted), ("before", ~deleted)):
                images[name] = images[name].take(pa.array(np.arange(rows.num_rows), mask=hidden))
        one_kind = pa.repeat(pa.scalar("c"), rows.num_rows)
        keyed = pa.record_batch(
            {"op": one_kind, "commit_ts": rows.column("commit_ts"), POSITION: np.arange(rows.num_rows), **images}
        )
        found = np.zeros(rows.num_rows, np.int64)
        for table, index in by_table(rows, self._plan, self._table):
            own = keyed if index is None else keyed.take(pa.array(index))
            places = sort_changes(own, table).column(POSITION).to_numpy()
            found[places] = np.arange(len(places))
        return found

    def _ranks(self, rows: pa.RecordBatch) -> npt.NDArray[np.int8]:
        """Return the ranks of ``encode.transactions``, with the splits of the whole batch in view."""
        if "seq" not in rows.schema.names or self._plan.split_order != "by-kind":
            return ranks(rows, self._plan.split_order)
        if not self._split:
            return np.zeros(rows.num_rows, np.int8)
        keys = _transactions(rows).append_column("at", pa.array(np.arange(rows.num_rows)))
        names = self._split_transactions.column_names
        among = keys.join(self._split_transactions, keys=names, join_type="left semi").column("at").to_numpy()
        found = np.zeros(rows.num_rows, np.int8)
        found[among] = kind_ranks(rows)[among]
        return found

    def _note_split(self, part: pa.RecordBatch) -> None:
        if "seq" in part.schema.names and self._plan.split_order == "by-kind":
            transactions = _transactions(part.filter(part.column(SPLIT)))
            self._split.append(transactions.group_by(transactions.column_names).aggregate([]))

    @cached_property
    def _split_transactions(self) -> pa.Table:
        found = pa.concat_tables(self._split)
        return found.group_by(found.column_names).aggregate([])


def by_table(
    rows: pa.RecordBatch, plan: Plan, table: TablePlan | None
) -> list[tuple[TablePlan, npt.NDArray[np.int64] | None]]:
    """Return each table with the places of its rows, in their order; ``None`` for all of them.

    Raises :class:`~ticdc_emit.errors.UnknownTableError`.
    """
    if table is not None:
        return [(table, None)]
    schemas, names = (rows.column(name).dictionary_encode("encode") for name in TABLE_NAMES)
    codes = np.asarray(schemas.indices).astype(np.int64) * len(names.dictionary) + np.asarray(names.indices)
    order = np.argsort(codes, kind="stable")
    found: list[tuple[TablePlan, npt.NDArray[np.int64] | None]] = []
    for places in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        if len(places):
            key = (rows.column(name)[int(places[0])].as_py() for name in TABLE_NAMES)
            found.append((plan.table(*key), places))
    return found


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


def _transactions(rows: pa.RecordBatch) -> pa.Table:
    """Return what names each row's transaction, without nulls."""
    columns = {"commit_ts": rows.column("commit_ts").cast(pa.int64(), safe=False)}
    columns |= {name: rows.column(name) for name in TABLE_NAMES if name in rows.schema.names}
    columns |= {name: rows.column(name).fill_null(_NO_TRANSACTION) for name in TRANSACTION if name in rows.schema.names}
    return pa.table(columns)
