"""Bootstraps of a replayed history, from counts of its rows.

A distributed run counts its rows where they are encoded (``encode.row_counts``). In: per table version and slot (the
time between two ticks, :meth:`Bootstraps.slot`) how many rows there are, and the TSO of the first. Out: each BOOTSTRAP
with its place among the rows. The schedule is the one that the rows themselves would give, whatever order the counts
come in; :mod:`ticdc_emit.schedule.bootstrap` has the rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ticdc_emit.schedule.bootstrap import Bootstrap, Bootstraps
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import compose, physical_ms

__all__ = ["CountedRows", "replayed"]


@dataclass(frozen=True)
class CountedRows:
    """``count`` rows of one table version in one slot, the first of them committed at ``first_ts`` (TSO).

    ``key``, ``topic`` and ``partitions`` as in :meth:`Bootstraps.rows`. An update that is split counts twice.
    """

    key: int
    table: TableInfo
    topic: str
    partitions: int
    first_ts: int
    count: int


def replayed(schedule: Bootstraps, counted: Iterable[CountedRows]) -> list[tuple[int, Bootstrap]]:
    """Report counted rows to ``schedule``; return (TSO, bootstrap) entries in sending order.

    A bootstrap stands before every row that is committed at or above its TSO. The ticks after the last counted row are
    left to the rows that follow, or to :meth:`Bootstraps.advance`. Tables whose first rows share a TSO follow each
    other by ``key``.
    """
    placed = []
    for rows in sorted(counted, key=lambda rows: (rows.first_ts, rows.key)):
        moment = physical_ms(rows.first_ts)
        for bootstrap in schedule.rows(rows.key, rows.table, rows.topic, rows.partitions, moment, rows.count):
            # A first row may be late, so that its BOOTSTRAP's moment is that of a later tick; its place is its own.
            tick = bootstrap.occasion == "tick"
            placed.append((compose(bootstrap.at_ms) if tick else rows.first_ts, bootstrap))
    return placed
