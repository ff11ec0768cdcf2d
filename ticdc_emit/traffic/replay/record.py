"""What a ``state_uri`` knows of a history, besides the records of its batches (``pipeline.state``): how a replay cuts
it, so that another history is refused, and the columns of versions that a table no longer keeps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ticdc_emit.config import Secret
from ticdc_emit.errors import StateError
from ticdc_emit.pipeline.plan.ddl import DdlStatement
from ticdc_emit.pipeline.plan.table_plans import Plan
from ticdc_emit.pipeline.state import damaged
from ticdc_emit.pipeline.state_store import FsspecStateStore

_REPLAY, _COLUMNS = "replay.json", "columns.json"
_WHAT = {"slice_ms": "slice", "tables": "schema or other DDL"}


def tables_hash(plan: Plan, ddl: Sequence[DdlStatement]) -> str:
    """Return a hash of the tables' columns and indexes, in all their versions, and of the DDL."""
    hashed = hashlib.sha256(repr(list(ddl)).encode("utf-8", "surrogatepass"))
    for name, table in sorted(plan.tables.items()):
        for since, encoder in zip(table.since, table.encoders, strict=True):
            shape = None if encoder is None else (encoder.table.columns, encoder.table.indexes)
            hashed.update(repr((name, since, shape)).encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()[:32]


@dataclass(frozen=True)
class ReplayRecord:
    """The record of a replay, kept from its first message on: how the history is ``cut``, and its first batch id.
    ``store``: ``None`` without a state, and for a record that an earlier run has kept.
    """

    store: FsspecStateStore | None
    cut: dict[str, Any]
    first_batch: int

    @classmethod
    def find(cls, state_uri: Secret[str] | None, cut: dict[str, Any], first_batch: int) -> ReplayRecord:
        """Compare a history with that of an earlier run, or begin at ``first_batch``. Raises :class:`StateError`."""
        store = None if state_uri is None else FsspecStateStore(state_uri.reveal())
        known = None if store is None else store.read(_REPLAY)
        if known is None:
            return cls(store, cut, first_batch)
        differing = [name for name in cut if known.get(name) != cut[name]]
        if differing:
            sides = (("then", known), ("now", cut))
            what = _WHAT.get(differing[0], "history") if len(differing) == 1 else "history"
            raise StateError(
                f"the replay began with another {what}",
                remedy="Continue with the same source and options, or start again with another state_uri",
                **{f"{side}_{name}": values.get(name) for name in differing for side, values in sides},
            )
        return cls(None, cut, known["first_batch"])

    def begin(self) -> None:
        if self.store is not None:
            self.store.write(_REPLAY, {**self.cut, "first_batch": self.first_batch})

    def undo(self) -> None:
        if self.store is not None:
            self.store.remove(_REPLAY)


class ColumnRecord(NamedTuple):
    """A table's columns from ``first_version`` to ``version``. ``begin_with``: ``versions``, or its ``rows``."""

    begin_with: str
    first_version: int
    create_table: str
    ddl: tuple[tuple[int, str], ...]
    version: int
    commit_ts: int
    last_create_table: str

    @classmethod
    def find(cls, store: FsspecStateStore, table: str) -> ColumnRecord | None:
        """Return the record of a table, ``schema.name`` in TiDB. Raises :class:`StateError` if it cannot be read."""
        known = (store.read(_COLUMNS) or {}).get(table)
        if known is None:
            return None
        if known.keys() != set(cls._fields):
            raise damaged(_COLUMNS, f"the fields of {table} are others: a newer release may have written them")
        return cls(**{**known, "ddl": tuple((commit_ts, text) for commit_ts, text in known["ddl"])})

    def save(self, store: FsspecStateStore, table: str) -> None:
        store.write(_COLUMNS, {**(store.read(_COLUMNS) or {}), table: self._asdict()})
