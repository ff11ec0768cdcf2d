"""A transaction: what statements change in the rows, step by step, and what of it TiKV sees.

TiDB sends only what its buffer by key holds at the end: a row that is added and removed is nothing, two updates are
one, a row that is removed and added again under the same key is an update. An update of a clustered primary key, under
which a row is stored, is a delete and an insert; in every other table a row has a row id, which an update keeps and a
new row does not have. Rule source: pingcap/tidb ``pkg/table/tables/tables.go`` (``UpdateRecord``), client-go's
membuffer; TiCDC's order in one transaction: deletes, updates, inserts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ticdc_emit.changes.model import Op
from ticdc_emit.database.row_values import KeyIndex, key_part
from ticdc_emit.database.tables import Rows, handle_of, row_place
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.schema.row_versions import Row
from ticdc_emit.schema.store import TableState

Identities: TypeAlias = "list[tuple[Any, ...] | None]"


@dataclass(frozen=True)
class Transaction:
    """A committed transaction: row changes in the generic form. ``start_ts`` and ``commit_ts`` are TSOs."""

    start_ts: int
    commit_ts: int
    changes: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class AppliedDdl:
    """A DDL statement that was applied at ``commit_ts``, a TSO. ``events``: none if TiDB does nothing."""

    commit_ts: int
    query: str
    schema: str
    events: tuple[DdlEvent, ...] = ()


@dataclass(frozen=True)
class StoredTable:
    """One table while a statement runs: its current version, its rows, and the rows by their unique keys."""

    state: TableState
    rows: Rows
    keys: KeyIndex

    @property
    def info(self) -> TableInfo:
        return self.state.info


class Stored(NamedTuple):
    row: Row
    keys: Identities


class _Step(NamedTuple):
    """One row that is added (``old`` is None), removed (``new`` is None) or changed."""

    table: StoredTable
    old: Stored | None
    new: Stored | None
    seq: int | None


class OpenTransaction:
    """The steps of a transaction that has begun at ``start_ts``, a TSO. Each step is in the rows at once."""

    def __init__(self, start_ts: int) -> None:
        self.start_ts = start_ts
        self.written = 0
        """Characters of the rows that statements wrote, also those that failed later."""
        self._steps: list[_Step] = []

    def __len__(self) -> int:
        return len(self._steps)

    def write(self, table: StoredTable, old: Stored | None, new: Stored | None, seq: int | None = None) -> None:
        """Add, remove or change a row; no other row has the unique keys of the new one."""
        _apply(table, old, new)
        self._steps.append(_Step(table, old, new, seq))

    def rollback(self, length: int = 0) -> None:
        """Take back all steps after the first ``length``."""
        while len(self._steps) > length:
            step = self._steps.pop()
            _apply(step.table, step.new, step.old)

    def commit(self, commit_ts: int) -> Transaction:
        """Return what the transaction changes; ``commit_ts`` is a TSO."""
        by_table: dict[tuple[str, str], list[_Step]] = {}
        for step in self._steps:
            by_table.setdefault((step.table.info.schema, step.table.info.name), []).append(step)
        changes = [change for steps in by_table.values() for change in self._changes(steps, commit_ts)]
        return Transaction(self.start_ts, commit_ts, tuple(changes))

    def _changes(self, steps: list[_Step], commit_ts: int) -> list[dict[str, Any]]:
        info = steps[0].table.info
        is_clustered = info.pk_is_handle or info.common_handle
        nets, has_moves = _clustered_nets(info, steps) if is_clustered else (_nets_by_row_id(info, steps), False)
        given = any(net.seq is not None for net in nets)
        # an update of a unique key becomes two changes later; then all changes of the transaction go by kind
        has_splits = any(_changes_key(info, net) for net in nets)
        by_kind = not has_splits and (has_moves or not given)
        changes = []
        for net, seq in zip(nets, _seqs(nets, by_kind=by_kind), strict=True):
            change: dict[str, Any] = {
                "schema": info.schema,
                "table": info.name,
                "op": net.op.value,
                "commit_ts": commit_ts,
                "start_ts": self.start_ts,
                "before": net.before,
                "after": net.after,
            }
            changes.append(change | {"seq": seq} if given or len(nets) > 1 else change)
        return changes


def _changes_key(info: TableInfo, net: _Net) -> bool:
    before, after = net.before, net.after
    if before is None or after is None:
        return False
    return any(before[column.name] != after[column.name] for column in info.splitting_columns)


def _seqs(nets: list[_Net], *, by_kind: bool) -> list[int]:
    if not by_kind:
        return [net.seq or 0 for net in nets]
    orders = [(_RANKS[net.op], net.seq or 0) for net in nets]
    numbers = {order: number for number, order in enumerate(sorted(set(orders)))}
    return [numbers[order] for order in orders]


_RANKS = {Op.DELETE: 0, Op.UPDATE: 1, Op.INSERT: 2}


@dataclass
class _Net:
    before: Row | None
    after: Row | None
    seq: int | None

    @property
    def op(self) -> Op:
        return Op.INSERT if self.before is None else Op.DELETE if self.after is None else Op.UPDATE

    @property
    def is_left(self) -> bool:
        return self.before is not None or self.after is not None


def _apply(table: StoredTable, old: Stored | None, new: Stored | None) -> None:
    rows, info = table.rows, table.info
    if old is not None:
        del rows[row_place(rows, info, old.row, added=True)]
        table.keys.remove(old.keys)
    if new is not None:
        place = row_place(rows, info, new.row)
        rows[place] = new.row
        table.keys.add(new.keys, place)


def _handle(info: TableInfo, row: Row) -> tuple[Any, ...]:
    return handle_of(info, row) or tuple(row.values())


def _clustered_nets(info: TableInfo, steps: list[_Step]) -> tuple[list[_Net], bool]:
    parts = [(column.name, key_part(column.kind)) for column in info.whole_primary_key]

    def stored_key(row: Row) -> tuple[Any, ...]:
        return tuple(part(row[name] or "") for name, part in parts)

    nets: dict[tuple[Any, ...], _Net] = {}
    has_moves = False
    for step in steps:
        if step.old is not None and step.new is not None:
            has_moves = has_moves or stored_key(step.old.row) != stored_key(step.new.row)
        for stored, is_new in ((step.old, False), (step.new, True)):
            if stored is not None:
                key = stored_key(stored.row)
                net = nets.get(key)
                if net is None:
                    net = nets[key] = _Net(None if is_new else stored.row, None, None)
                net.after, net.seq = (stored.row if is_new else None), step.seq
    return [net for net in nets.values() if net.is_left], has_moves


def _nets_by_row_id(info: TableInfo, steps: list[_Step]) -> list[_Net]:
    live: dict[tuple[Any, ...], list[_Net]] = {}
    nets: list[_Net] = []
    for step in steps:
        old, new = (None if stored is None else stored.row for stored in (step.old, step.new))
        waiting = [] if old is None else live.get(_handle(info, old), [])
        if waiting:
            net = waiting.pop()
        else:
            nets.append(net := _Net(old, None, None))
        net.after, net.seq = new, step.seq
        if new is not None:
            live.setdefault(_handle(info, new), []).append(net)
    return [net for net in nets if net.is_left]
