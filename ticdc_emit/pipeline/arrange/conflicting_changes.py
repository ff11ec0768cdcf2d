"""Two changes of one key in one transaction, with nothing that orders them: found in a stream of order keys, refused.

Changes of one rank are in the order of their keys, so only neighbours can be the same; of the transaction that may
continue in the next window, keys are held. The deleted half of one update and the inserted half of another may have one
key. A change without a key, or with a NULL in it, is never told twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import from_bytes, text_buffers
from ticdc_emit.errors import DuplicateChangeError
from ticdc_emit.pipeline.arrange.sort_key import (
    HALF,
    KIND_MASK,
    NAMELESS,
    RANK_AT,
    TRANSACTION_BYTES,
    commit_stamps,
    key_values,
    kinds_of,
    order_of,
    stamp_and_table,
)
from ticdc_emit.pipeline.arrange.transactions import DELETED, INSERTED
from ticdc_emit.pipeline.plan.table_plans import TablePlan

_Roles: TypeAlias = npt.NDArray[np.uint8]

_ENDS, _BEGINS, _WHOLE = 1, 2, 4
"""What only one change of a key in one transaction may be: one that ends a row, begins a row, or is no half."""


@dataclass
class _OpenTransaction:
    """The changes so far of a transaction that the next window may continue; ``rank``: of the first, the least."""

    transaction: bytes = b""
    rank: int = 0
    windows: list[pa.Array] = field(default_factory=list)
    _roles: dict[bytes, int] = field(default_factory=dict)

    def repeated(self, keys: pa.Array) -> bytes | None:
        if _rank(keys, -1) == self.rank:
            # a key may have two changes in one transaction, the halves of two updates: a third one shares a role
            return _repeated(*_identities(pa.concat_arrays([self.windows[-1][-2:], keys[:2]])))
        for window in self.windows:
            for identity, role in _named(window):
                self._roles[identity] = self._roles.get(identity, 0) | role
        self.windows = []
        return next((identity for identity, role in _named(keys) if self._roles.get(identity, 0) & role), None)


@dataclass
class ConflictCheck:
    """Sees order keys in their order, window by window. ``tables``: the plan's tables by their place in the keys."""

    tables: Sequence[TablePlan]
    _open: _OpenTransaction = field(default_factory=_OpenTransaction, init=False)

    def check(self, keys: pa.Array) -> None:
        """Raise :class:`DuplicateChangeError` for a change whose key another change of its transaction has too."""
        if len(keys) == 0:
            return
        if keys[0].as_py()[:TRANSACTION_BYTES] == self._open.transaction:
            self._refuse(self._open.repeated(_of_transaction(keys, self._open.transaction)))
        stamps = commit_stamps(keys)
        equal = stamps[1:] == stamps[:-1]
        tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
        if len(tied):
            rows = keys if len(tied) == len(keys) else keys.take(pa.array(tied))
            self._refuse(_repeated(*_identities(rows)))
        last = keys[len(keys) - 1].as_py()[:TRANSACTION_BYTES]
        # the keys of the last transaction alone are held, so that the window is let go
        own = _of_transaction(keys, last)
        if last != self._open.transaction:
            self._open = _OpenTransaction(last, _rank(own, 0))
        self._open.windows.append(own)

    def _refuse(self, key: bytes | None) -> None:
        if key is None:
            return
        commit_ts, place = stamp_and_table(key)
        info = self.tables[place].encoder_at(commit_ts).table
        raise DuplicateChangeError(
            "two changes of one key have the same commit_ts and nothing orders them",
            remedy="Give the changes a seq, their order inside the transaction. If these are two rows, the key does "
            "not identify a row: choose other columns. Replay a series of snapshots: --mode snapshots --time-column",
            table=info.full_name,
            row=key_values(key, info),
            commit_ts=commit_ts,
        )


def _of_transaction(keys: pa.Array, transaction: bytes) -> pa.Array:
    """Return the keys that begin with the transaction: neighbours in keys that are in order."""
    if all(keys[place].as_py().startswith(transaction) for place in (0, -1)):
        return keys
    start = pc.sum(pc.less(keys, pa.scalar(transaction, pa.binary()))).as_py() or 0
    return keys.slice(start, pc.sum(pc.starts_with(keys.slice(start), transaction)).as_py() or 0)


def _rank(keys: pa.Array, place: int) -> int:
    return int(keys[place].as_py()[RANK_AT])


def _identities(keys: pa.Array) -> tuple[pa.Array, _Roles]:
    """Return what tells named changes apart (their keys without rank and kind), and the role of each."""
    kinds = kinds_of(keys)
    named = (kinds & NAMELESS) == 0
    if not named.all():
        keys, kinds = keys.filter(pa.array(named)), kinds[named]
    buffers = text_buffers(keys)
    data = buffers.data.copy()
    data[buffers.offsets[:-1] + RANK_AT] = 0
    data[buffers.offsets[1:] - 1] = 0
    kind = kinds & KIND_MASK
    roles = (kind != INSERTED) * _ENDS | (kind != DELETED) * _BEGINS | ((kinds & HALF) == 0) * _WHOLE
    return from_bytes(buffers.offsets, data, binary=True), roles.astype(np.uint8)


def _named(keys: pa.Array) -> Iterator[tuple[bytes, int]]:
    identities, roles = _identities(keys)
    return zip(identities.to_pylist(), roles.tolist(), strict=True)


def _repeated(identities: pa.Array, roles: _Roles) -> bytes | None:
    order = order_of(identities)
    if order is not None:  # changes of different ranks, or of several windows
        identities, roles = identities.take(order), roles[np.asarray(order)]
    if len(identities) < 2:
        return None
    same = pc.equal(identities.slice(1), identities.slice(0, len(identities) - 1))
    starts = np.flatnonzero(np.append(True, ~np.asarray(same.to_numpy(zero_copy_only=False))))
    if len(starts) == len(identities):
        return None
    numbers = roles.astype(np.int64)
    # a role that occurs once is the same in the sum as in the union
    wrong = np.add.reduceat(numbers, starts) != np.bitwise_or.reduceat(numbers, starts)
    return bytes(identities[int(starts[wrong.argmax()])].as_py()) if wrong.any() else None
