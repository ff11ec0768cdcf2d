"""The control messages that depend on a batch's rows: bootstraps, and the default distance of watermarks.

In: the counts of a batch's rows (``changefeed.count_task``) and the state of the schedule before it. Out: the batch's
controls and the state behind it. The clock of the schedule is the rows' commit time in a replay, and the batch's own in
a live run, where all of its rows come at one moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ticdc_emit.changefeed.state import BatchState
from ticdc_emit.plan.tables import Plan
from ticdc_emit.schedule.bootstrap import BootstrapRules, Bootstraps, TableRef
from ticdc_emit.schedule.bootstrap_live import arrived
from ticdc_emit.schedule.bootstrap_replay import CountedRows, replayed
from ticdc_emit.schedule.control import Controls
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import physical_ms

__all__ = ["with_bootstraps", "with_default_ticks", "with_due_bootstraps"]

_DEFAULT_INTERVAL_MS = 1_000
_DEFAULT_TICKS = 100_000


def with_default_ticks(controls: Controls, counted: Sequence[CountedRows]) -> Controls:
    """Return the controls with a watermark per second of commit time, as TiCDC sends them.

    If the batch would have more than 100,000, they are further apart, by whole seconds.
    """
    if not counted:
        return controls
    stamps = [physical_ms(rows.first_ts) for rows in counted]
    seconds = -(-(max(stamps) - min(stamps)) // (_DEFAULT_INTERVAL_MS * _DEFAULT_TICKS))
    return replace(controls, interval_ms=_DEFAULT_INTERVAL_MS * max(seconds, 1))


def with_bootstraps(
    controls: Controls, plan: Plan, rules: BootstrapRules, state: BatchState, counted: Sequence[CountedRows]
) -> tuple[Controls, dict[str, Any]]:
    """Return the controls with the batch's bootstraps, and the state of their schedule after the batch.

    Raises :class:`~ticdc_emit.errors.StateError` for a state that does not fit the table history.
    """
    schedule = Bootstraps(rules)
    if state.bootstraps is not None:
        schedule = Bootstraps.from_state(rules, state.bootstraps, lambda ref: _version_of(plan, ref))
    if not counted:
        return controls, schedule.state()
    live = state.build_ts is not None
    first = min(rows.first_ts for rows in counted)
    moment = state.build_ts if state.build_ts is not None else physical_ms(first)
    placed = [(0, bootstrap) for bootstrap in schedule.at_start(_newest_tables(plan), moment)]
    due = arrived(schedule, counted, moment) if live else replayed(schedule, counted)
    placed += [(ts - 1, bootstrap) for ts, bootstrap in due]
    return replace(controls, bootstraps=tuple(placed)), schedule.state()


def with_due_bootstraps(
    controls: Controls, plan: Plan, rules: BootstrapRules, state: BatchState, moment: int, place: int
) -> tuple[Controls, dict[str, Any] | None]:
    """Return the controls with what falls due without rows by ``moment`` (ms), at the TSO ``place``; and the state."""
    if state.bootstraps is None:
        return controls, None
    schedule = Bootstraps.from_state(rules, state.bootstraps, lambda ref: _version_of(plan, ref))
    due = tuple((place, bootstrap) for bootstrap in schedule.advance(moment))
    return replace(controls, bootstraps=due), schedule.state()


def _newest_tables(plan: Plan) -> list[tuple[TableInfo, str, int]]:
    """Return the tables that exist, as ``Bootstraps.at_start`` takes them."""
    live = [table for table in plan.tables.values() if table.encoders and table.encoders[-1] is not None]
    return [(table.newest, table.topic, plan.router.partitions[table.topic]) for table in live]


def _version_of(plan: Plan, ref: TableRef) -> TableInfo:
    for table in plan.tables.values():
        for encoder in table.encoders:
            if encoder is not None and TableRef.of(encoder.table) == ref:
                return encoder.table
    raise LookupError(f"{ref.schema}.{ref.name} has no version {ref.version}")
