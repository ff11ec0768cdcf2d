"""The control messages that depend on a batch's rows: bootstraps, and the default distance of watermarks.

In: the counts of a batch's rows (``encode.row_counts``) and the state of the schedule before it. Out: the batch's
controls and the state after it. Every delivering task and the driver work them out by themselves, each from the counts
of all encoding tasks: equal counts give equal controls. The clock of the schedule is the rows' commit time in a replay,
and the batch's own in a live run, where all of its rows come at one moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from ticdc_emit.changefeed.results import TaskResult
from ticdc_emit.encode.chunks import packed, unpacked
from ticdc_emit.encode.row_counts import CountsBody, RowCounts, counted_rows
from ticdc_emit.plan.tables import Plan
from ticdc_emit.schedule.bootstrap import BootstrapRules, Bootstraps, TableRef
from ticdc_emit.schedule.bootstrap_live import arrived
from ticdc_emit.schedule.bootstrap_replay import CountedRows, replayed
from ticdc_emit.schedule.control import Controls
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import physical_ms

__all__ = ["Schedule", "with_default_ticks", "with_due_bootstraps"]

_DEFAULT_INTERVAL_MS = 1_000
_DEFAULT_TICKS = 100_000


@dataclass(frozen=True)
class Schedule:
    """What a batch's controls are worked out from beside its rows; picklable.

    ``default_ticks``: whether watermarks follow the rows. ``bootstraps``: the state of their schedule before the batch,
    ``None`` at the beginning.
    """

    rules: BootstrapRules
    default_ticks: bool
    bootstraps: Mapping[str, Any] | None = None

    def begun(self, plan: Plan) -> Bootstraps:
        """Return the schedule of bootstraps as it is before the batch.

        Raises :class:`~ticdc_emit.errors.StateError` for a state that does not fit the table history.
        """
        return _restored(self.rules, self.bootstraps, plan)

    def united(self, counts: Iterable[pa.RecordBatch]) -> CountsBody:
        """Return the sum of all tasks' counts in the form of ``TaskResult.counts``: empty if there are no rows."""
        united = RowCounts(self.rules.tick_ms)
        for each in counts:
            united.add(each)
        sums = united.sums()
        return packed(sums) if sums.num_rows else b""

    def controls(self, controls: Controls, plan: Plan, united: CountsBody) -> tuple[Controls, dict[str, Any] | None]:
        """Return the controls with what depends on the rows, and the state of the bootstraps after the batch."""
        counted = counted_rows(unpacked(united), plan) if united else []
        if self.default_ticks:
            controls = with_default_ticks(controls, counted)
        if not self.rules.enabled:
            return controls, None
        return _with_bootstraps(controls, plan, self.begun(plan), counted)

    def after(
        self, controls: Controls, plan: Plan, results: Mapping[Any, TaskResult]
    ) -> tuple[Controls, dict[str, Any] | None]:
        """Return what :meth:`controls` does, once delivering tasks have handed the counts back."""
        return self.controls(controls, plan, next((each.counts for each in results.values() if each.counts), b""))


def with_default_ticks(controls: Controls, counted: Sequence[CountedRows]) -> Controls:
    """Return the controls with a watermark per second of commit time, as TiCDC sends them.

    If the batch would have more than 100,000, they are further apart, by whole seconds.
    """
    if not counted:
        return controls
    stamps = [physical_ms(rows.first_ts) for rows in counted]
    seconds = -(-(max(stamps) - min(stamps)) // (_DEFAULT_INTERVAL_MS * _DEFAULT_TICKS))
    return replace(controls, interval_ms=_DEFAULT_INTERVAL_MS * max(seconds, 1))


def _with_bootstraps(
    controls: Controls, plan: Plan, schedule: Bootstraps, counted: Sequence[CountedRows]
) -> tuple[Controls, dict[str, Any]]:
    """Return the controls with the batch's bootstraps, and the state of their schedule after the batch."""
    if not counted:
        return controls, schedule.state()
    live = plan.build_ts is not None
    first = min(rows.first_ts for rows in counted)
    moment = plan.build_ts if plan.build_ts is not None else physical_ms(first)
    placed = [(0, bootstrap) for bootstrap in schedule.at_start(_newest_tables(plan), moment)]
    due = arrived(schedule, counted, moment) if live else replayed(schedule, counted)
    placed += [(ts - 1, bootstrap) for ts, bootstrap in due]
    return replace(controls, bootstraps=tuple(placed)), schedule.state()


def with_due_bootstraps(
    controls: Controls, plan: Plan, rules: BootstrapRules, bootstraps: Mapping[str, Any] | None, moment: int, place: int
) -> tuple[Controls, dict[str, Any] | None]:
    """Return the controls with what falls due without rows by ``moment`` (ms), at the TSO ``place``; and the state."""
    if bootstraps is None:
        return controls, None
    schedule = _restored(rules, bootstraps, plan)
    due = tuple((place, bootstrap) for bootstrap in schedule.advance(moment))
    return replace(controls, bootstraps=due), schedule.state()


def _newest_tables(plan: Plan) -> list[tuple[TableInfo, str, int]]:
    """Return the tables that exist, as ``Bootstraps.at_start`` takes them."""
    live = [table for table in plan.tables.values() if table.encoders and table.encoders[-1] is not None]
    return [(table.newest, table.topic, plan.router.partitions[table.topic]) for table in live]


def _restored(rules: BootstrapRules, state: Mapping[str, Any] | None, plan: Plan) -> Bootstraps:
    if state is None:
        return Bootstraps(rules)
    versions: dict[TableRef, TableInfo] = {}
    for table in plan.tables.values():
        for info in table.versions:
            versions.setdefault(TableRef.of(info), info)
    return Bootstraps.from_state(rules, state, versions.__getitem__)
