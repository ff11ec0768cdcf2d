"""Ids and versions: assigned as in TiDB, or given by the caller.

TiDB draws the ids of databases, tables, partitions and DDL jobs from one counter. The same history of DDL therefore
gives the same ids, here as in a fresh cluster. ``version`` (a TSO: when the DDL finished) and ``update_ts`` (when the
table's definition last changed) come from the DDL's commit_ts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["FIRST_USER_ID", "AssignedIds", "IdSource"]

FIRST_USER_ID = 116
"""The first free id in a fresh TiDB after its system tables (as in the golden vectors)."""


@dataclass(frozen=True)
class AssignedIds:
    """Known ids of one DDL event's result; those that are None or missing are assigned.

    ``column_ids`` and ``partition_ids`` are by name; ``version`` and ``update_ts`` are TSOs.
    """

    table_id: int | None = None
    column_ids: Mapping[str, int] = field(default_factory=dict)
    partition_ids: Mapping[str, int] = field(default_factory=dict)
    version: int | None = None
    update_ts: int | None = None


class IdSource:
    """Deterministic ids: one counter for all of TiDB's ids, and one for versions without a commit_ts."""

    def __init__(self, first_id: int = FIRST_USER_ID) -> None:
        self._next_id = first_id
        self._last_version = 0

    def next_id(self) -> int:
        """Return the next global id."""
        self._next_id += 1
        return self._next_id - 1

    @property
    def last_id(self) -> int:
        """The last id drawn, which is the job's if the job draws its id last."""
        return self._next_id - 1

    def reserve(self, used: int) -> None:
        """Keep later ids above a given one."""
        self._next_id = max(self._next_id, used + 1)

    def save(self) -> tuple[int, int]:
        """Return the counters, for :meth:`restore`."""
        return self._next_id, self._last_version

    def restore(self, saved: tuple[int, int]) -> None:
        """Take back the ids drawn since :meth:`save`."""
        self._next_id, self._last_version = saved

    def version(self, commit_ts: int) -> int:
        """Return a version above all previous ones: ``commit_ts`` if it is."""
        self._last_version = max(self._last_version + 1, commit_ts)
        return self._last_version
