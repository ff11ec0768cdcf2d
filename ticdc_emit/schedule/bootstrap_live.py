"""Bootstraps of a live run, where all rows of a batch come at one moment of the wall clock.

In: counts of a batch's rows per table version, and the batch's moment. Out: each BOOTSTRAP with its place among the
rows. What the ticks since the last batch send stands before the batch's first row.
"""

from __future__ import annotations

from collections.abc import Iterable

from ticdc_emit.schedule.bootstrap import Bootstrap, Bootstraps
from ticdc_emit.schedule.bootstrap_replay import CountedRows

__all__ = ["arrived"]


def arrived(schedule: Bootstraps, counted: Iterable[CountedRows], now_ms: int) -> list[tuple[int, Bootstrap]]:
    """Report a batch's rows at ``now_ms``; return (TSO, bootstrap) entries in sending order.

    A bootstrap stands before every row that is committed at or above its TSO. Tables whose first rows share a TSO
    follow each other by ``key``.
    """
    in_order = sorted(counted, key=lambda rows: (rows.first_ts, rows.key))
    if not in_order:
        return []
    placed = [(in_order[0].first_ts, bootstrap) for bootstrap in schedule.advance(now_ms)]
    for rows in in_order:
        own = schedule.rows(rows.key, rows.table, rows.topic, rows.partitions, now_ms, rows.count)
        placed += [(rows.first_ts, bootstrap) for bootstrap in own]
    return placed
