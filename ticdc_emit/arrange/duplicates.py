"""Two changes of one key in one transaction, with nothing that orders them: found in a stream of batches, and refused.

In: batches of one table in total order. What is held between batches is what tells the rows of the last commit_ts
apart, by 64-bit hashes in sorted runs; where two hashes meet, the keys themselves decide.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.arrange.keys import key_columns, sortable
from ticdc_emit.arrange.transactions import (
    DELETED,
    INSERTED,
    TRANSACTION,
    kind_ranks,
    numbered,
)
from ticdc_emit.changes.attributes import SPLIT
from ticdc_emit.columnar.buffers import python_value
from ticdc_emit.errors import DuplicateChangeError, InvalidValueError
from ticdc_emit.plan.tables import TablePlan
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.schema.types import INTEGER_TYPES

__all__ = ["OrderCheck"]

_Hashes: TypeAlias = npt.NDArray[np.uint64]
_Roles: TypeAlias = npt.NDArray[np.uint8]
_Run: TypeAlias = tuple[_Hashes, _Roles]


class OrderCheck:
    """Sees the batches of one table in order and refuses two changes of one key in one transaction without a ``seq``.

    The deleted half of one update and the inserted half of another may have one key. A change without a key, or with a
    NULL in it, has no identity and is never a duplicate. Of the last commit_ts alone something is held: per change what
    tells it apart (its key) and 12 bytes.
    """

    def __init__(self, table: TablePlan) -> None:
        self._table = table
        self._open = _Seen()
        self._open_ts: int | None = None

    def check(self, batch: pa.RecordBatch) -> None:
        """Raise :class:`DuplicateChangeError` for the first ambiguous change, across batches too.

        Raises :class:`InvalidValueError` for a change without a commit_ts, which no order has a place for.
        """
        if batch.num_rows == 0:
            return
        name = f"{self._table.schema}.{self._table.name}"
        _refuse_null(batch, name)
        batch = numbered(batch, name)
        stamps = batch.column("commit_ts").to_numpy(zero_copy_only=False)
        equal = stamps[1:] == stamps[:-1]
        same = np.append(equal, True) | np.append(False, equal)  # the last one may meet its like in the next batch
        if self._ascends(batch, equal):
            same = stamps == stamps[-1]
        if stamps[0] == self._open_ts:
            same |= stamps == stamps[0]
        else:
            self._open, self._open_ts = _Seen(), None
        rows = batch if same.all() else batch.take(pa.array(np.flatnonzero(same)))
        stamps = stamps[same]
        last = len(stamps) - int((stamps[::-1] != stamps[-1]).argmax() or len(stamps))
        if self._open_ts is None or stamps[-1] == self._open_ts:
            self._check(rows, last)
        else:
            first = int((stamps != stamps[0]).argmax())
            self._check(rows.slice(0, first), 0)
            self._open = _Seen()
            self._check(rows.slice(first), last - first)
        self._open_ts = int(stamps[-1])

    def _ascends(self, batch: pa.RecordBatch, equal: npt.NDArray[np.bool_]) -> bool:
        """Tell whether the keys of each commit_ts are whole numbers that ascend: as most batches are, and quickly seen.

        ``equal``: which rows have the commit_ts of the row before.
        """
        key = self._table.newest.whole_handle_key
        if len(self._table.since) > 1 or len(key) != 1 or key[0].type not in INTEGER_TYPES:
            return False
        values = key_columns(batch, key).get(key[0].name)
        if values is None or values.null_count or not pa.types.is_integer(values.type):
            return False
        numbers = np.asarray(values)
        return bool((~equal | (numbers[1:] > numbers[:-1])).all())

    def _check(self, rows: pa.RecordBatch, last: int) -> None:
        """Look for changes that are told twice, here or among the held ones, and hold those from ``last`` on."""
        for start, length, encoder in self._table.spans(rows.column("commit_ts").cast(pa.uint64(), safe=False)):
            told = _identities(rows.slice(start, length), encoder.table)
            if told is None or told.num_rows == 0:
                continue
            hashes, roles = _hashes(told), _roles(told)
            run = _united(hashes, roles)
            if len(run[0]) < len(hashes) and _meet(hashes, roles):
                _refuse_twice(told, encoder.table)
            if self._open.meets(*run):
                _refuse_twice(self._open.beside(told, hashes), encoder.table)
            kept = np.asarray(told.column(_PLACE)) >= last - start
            if kept.all():
                self._open.add(told, run)
            elif kept.any():
                self._open.add(told.filter(pa.array(kept)), _united(hashes[kept], roles[kept]))


class _Seen:
    """The changes of one commit_ts so far: what tells them apart, and its hashes in sorted runs of falling size."""

    def __init__(self) -> None:
        self._told: list[pa.Table] = []
        self._commit_ts: pa.Scalar | None = None
        self._runs: list[_Run] = []

    def add(self, told: pa.Table, run: _Run) -> None:
        """Take changes; ``run``: their hashes."""
        self._commit_ts = told.column("commit_ts")[0]
        self._told.append(told.drop_columns(["commit_ts", _PLACE]))
        while self._runs and len(self._runs[-1][0]) <= 2 * len(run[0]):
            held, roles = self._runs.pop()
            run = _united(np.concatenate([held, run[0]]), np.concatenate([roles, run[1]]))
        self._runs.append(run)

    def meets(self, hashes: _Hashes, roles: _Roles) -> bool:
        """Tell whether one of these changes (their hashes ascend) and a held one have a hash and a role in common."""
        for held, held_roles in self._runs:
            places = np.minimum(np.searchsorted(held, hashes), len(held) - 1)
            if ((held[places] == hashes) & ((held_roles[places] & roles) != 0)).any():
                return True
        return False

    def beside(self, told: pa.Table, hashes: _Hashes) -> pa.Table:
        """Return the held changes with one of these hashes, and those of ``told`` behind them."""
        told, found = told.drop_columns([_PLACE]), []
        for held in self._told:
            whole = held.add_column(0, "commit_ts", pa.repeat(self._commit_ts, held.num_rows))
            if whole.schema == told.schema:
                found.append(whole.filter(pa.array(np.isin(_hashes(whole), hashes))))
        return pa.concat_tables([*found, told])


_PLACE = "_place"
_ROLES = {"_whole": 4, "_deleted": 1, "_inserted": 2}
"""What only one change of an identity may be: one that is no half, one that ends a row, one that begins a row."""


def _identities(rows: pa.RecordBatch, info: TableInfo) -> pa.Table | None:
    """Return what tells changes of one table version apart, their roles and places; ``None`` if nothing does."""
    keys = key_columns(rows, info.whole_handle_key)
    if len(keys) < len(info.whole_handle_key) or not keys:
        return None
    columns = {"commit_ts": rows.column("commit_ts")}
    columns |= {name: rows.column(name) for name in (*TRANSACTION, "seq") if name in rows.schema.names}
    named = np.ones(rows.num_rows, np.bool_)
    for column in info.whole_handle_key:
        key = columns[f"key {column.name}"] = sortable(column, keys[column.name])
        named &= np.asarray(key.is_valid().to_numpy(zero_copy_only=False))
    kinds = kind_ranks(rows)
    whole = np.ones(rows.num_rows, np.bool_)
    if SPLIT in rows.schema.names:
        whole = ~np.asarray(rows.column(SPLIT).fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
    for name, role in zip(_ROLES, (whole, kinds != INSERTED, kinds != DELETED), strict=True):
        columns[name] = pa.array(role.astype(np.int8))
    # a copy, for a slice would hold the whole batch in memory
    return pa.table(columns | {_PLACE: np.arange(rows.num_rows)}).take(pa.array(np.flatnonzero(named)))


def _roles(told: pa.Table) -> _Roles:
    found = np.zeros(told.num_rows, np.uint8)
    for name, bit in _ROLES.items():
        found |= np.asarray(told.column(name)).astype(np.uint8) * np.uint8(bit)
    return found


def _hashes(told: pa.Table) -> _Hashes:
    """Return a hash of each identity; equal ones have equal hashes, whatever the batch."""
    found = np.zeros(told.num_rows, np.uint64)
    for name in told.column_names:
        if name not in (_PLACE, *_ROLES):
            found = _mixed(found ^ _column_hashes(told.column(name).combine_chunks()))
    return found


def _column_hashes(values: pa.Array) -> _Hashes:
    if not pa.types.is_integer(values.type):
        is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
        elements = values.cast(pa.large_binary()) if is_text else values  # latin1 text may be any bytes
        return np.fromiter(map(hash, elements.to_pylist()), np.int64, len(values)).view(np.uint64)
    found: _Hashes = np.asarray(values.fill_null(0)).astype(np.uint64)
    if values.null_count:
        found = found ^ np.asarray(values.is_null().to_numpy(zero_copy_only=False)).astype(np.uint64) << np.uint64(63)
    return found


def _mixed(numbers: _Hashes) -> _Hashes:
    """Spread each number over all 64 bits, one to one (the finalizer of splitmix64)."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    mixed: _Hashes = numbers ^ (numbers >> np.uint64(31))
    return mixed


def _united(hashes: _Hashes, roles: _Roles) -> _Run:
    """Return the distinct hashes, ascending, each with all its roles."""
    order = np.argsort(hashes)
    hashes = hashes[order]
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))
    return hashes[starts], np.bitwise_or.reduceat(roles[order], starts)


def _meet(hashes: _Hashes, roles: _Roles) -> bool:
    """Tell whether two of these changes have one hash and a role in common."""
    order = np.argsort(hashes)
    starts = np.flatnonzero(np.append(True, np.diff(hashes[order]) != 0))
    ordered_roles = roles[order].astype(np.int64)
    return bool((np.add.reduceat(ordered_roles, starts) != np.bitwise_or.reduceat(ordered_roles, starts)).any())


def _refuse_null(batch: pa.RecordBatch, table: str) -> None:
    stamps = batch.column("commit_ts")
    if stamps.null_count:
        position = stamps.is_null().index(True).as_py()
        raise InvalidValueError(
            "a commit_ts is null",
            remedy="Give every change its commit time, or leave those rows out",
            table=table,
            column="commit_ts",
            row={"position": position},
        )


def _refuse_twice(told: pa.Table, info: TableInfo) -> None:
    """Raise for the first identity that has two changes of one role; equal hashes alone mean nothing."""
    names = [name for name in told.column_names if name not in (_PLACE, *_ROLES)]
    counted = told.group_by(names, use_threads=False).aggregate([(role, "sum") for role in _ROLES])
    wrong = np.any([np.asarray(counted.column(f"{role}_sum")) > 1 for role in _ROLES], axis=0)
    if not wrong.any():
        return
    place = int(wrong.argmax())
    row = {name: python_value(counted.column(name)[place]) for name in names}
    raise DuplicateChangeError(
        "two changes of one key have the same commit_ts and nothing orders them",
        remedy="Give the changes a seq (their order inside the transaction)",
        table=info.full_name,
        row={column.name: row[f"key {column.name}"] for column in info.whole_handle_key},
        commit_ts=row["commit_ts"],
    )
