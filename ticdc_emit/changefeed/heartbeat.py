"""What a changefeed sends while no rows come: TiCDC's own watermark continues each second, changes or not.

In: the record of the last batch, and the wall clock. Out: a watermark as far behind the clock as rows may be late, with
the DDL and the BOOTSTRAPs that are due by then, and the record with all of it. The watermark is recorded before it is
sent: whatever becomes of this process, the next batch begins behind it, and a row that it covers is late. DDL and
BOOTSTRAPs are recorded once they are sent, for they must not be lost; sent again they do no harm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from ticdc_emit.changefeed.options import RunOptions
from ticdc_emit.changefeed.planning import Planner
from ticdc_emit.changefeed.report import RunReport
from ticdc_emit.changefeed.results import TaskResult
from ticdc_emit.changefeed.state import BatchState
from ticdc_emit.changefeed.state_store import StateStore
from ticdc_emit.plan.tables import Plan
from ticdc_emit.routing.topic import Target
from ticdc_emit.schedule.control import Controls
from ticdc_emit.tso import LOGICAL_BITS, compose

__all__ = ["send_heartbeat"]

Send = Callable[[BatchState, Plan, Controls, Mapping[Target, TaskResult], int, int, float], "tuple[RunReport, int]"]
"""Sends what is due although no rows came (:class:`~ticdc_emit.changefeed.closing.Closing`)."""


def send_heartbeat(store: StateStore, planner: Planner, options: RunOptions, send: Send) -> RunReport | None:
    """Send what is due by now; ``None`` if nothing can be: no batch is finished, or the watermark does not rise."""
    started = time.monotonic()
    if store.newest() is None:
        return None
    store.claim()
    record, now = store.newest(), options.now()
    if record is None or not record.done or now is None:
        return None
    limit = compose(now) - 1 - (options.lateness_ms << LOGICAL_BITS)
    state = record.next(record.batch_id, now)
    plan = planner.plan(state)
    if not planner.config.codec.has_watermarks or (record.end_watermark is not None and limit <= record.end_watermark):
        return None
    controls, bootstraps = planner.idle(state, now, limit)
    marked = replace(record, end_watermark=limit)
    sent = replace(marked, end_sent_until=max(limit, record.end_sent_until), end_bootstraps=bootstraps)
    waits = bool(controls.sent_ddl(limit) or controls.bootstraps)
    store.save(marked if waits else sent)
    report, _ = send(state, plan, controls, {}, -1, limit, started)
    if waits:
        store.save(sent)
    return report
