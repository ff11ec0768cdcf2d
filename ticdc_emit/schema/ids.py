"""Where ids and versions come from: assigned as TiDB assigns them, or given by the caller.

TiDB draws the ids of databases, tables, partitions and DDL jobs from one counter. The same history of DDL therefore
gives the same ids, here as in a fresh cluster. ``version`` (a TSO: when the DDL finished) and ``update_ts`` (when the
table's definition last changed) come from the DDL's commit_ts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["FIRST_USER_ID", "AssignedIds", "IdSource"]

FIRST_USER_ID = 116
"""The first id that a fresh TiDB has left after its system tables (as the golden vectors show)."""


@dataclass(frozen=True)
class AssignedIds:
    """Ids of one DDL event's result as the caller knows them; what is None or absent is assigned.

    ``column_ids`` and ``partition_ids`` are by name; ``version`` and ``update_ts`` are TSOs.
    """

    table_id: int | None = None
    column_ids: Mapping[str, int] = field(default_factory=dict)
    partition_ids: Mapping[str, int] = field(default_factory=dict)
    version: int | None = None
    update_ts: int | None = None


class IdSource:
    """Deterministic ids: one counter for everything that TiDB numbers, one for versions without a commit_ts."""

    def __init__(self, first_id: int = FIRST_USER_ID) -> None:
        self._next_id = first_id
        self._last_version = 0

    def next_id(self) -> int:
        """Return the next global id."""
        self._next_id += 1
        return self._next_id - 1

    @property
    def last_id(self) -> int:
        """The id drawn last: a job's, where the job's is drawn last."""
        return self._next_id - 1

    def reserve(self, used: int) -> None:
        """Keep later ids above one that the caller gave."""
        self._next_id = max(self._next_id, used + 1)

    def save(self) -> tuple[int, int]:
        """Return the counters, for :meth:`restore`."""
        return self._next_id, self._last_version

    def restore(self, saved: tuple[int, int]) -> None:
        """Take back what was drawn since :meth:`save`."""
        self._next_id, self._last_version = saved

    def version(self, commit_ts: int) -> int:
        """Return a version above all before: ``commit_ts`` where that is one."""
        self._last_version = max(self._last_version + 1, commit_ts)
        return self._last_version
