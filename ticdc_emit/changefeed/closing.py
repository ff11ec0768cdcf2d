"""The end of a batch: what comes after its rows is sent from here, and what the whole batch amounts to is counted.

In: the state that the batch began with, its plan, and what its tasks have sent. Out: messages on the topic-partitions
after their last row, a :class:`RunReport`, and the TSO up to which DDL is sent.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ticdc_emit.changefeed.planning import Planner
from ticdc_emit.changefeed.report import RunReport
from ticdc_emit.changefeed.results import TaskResult
from ticdc_emit.changefeed.state import BatchState
from ticdc_emit.changefeed.tail import Tail, send_tail
from ticdc_emit.delivery.contract import DeliveryReport, PartitionCount, Sink
from ticdc_emit.plan.tables import Plan
from ticdc_emit.routing.topic import Target
from ticdc_emit.schedule.control import Controls

__all__ = ["Closing"]


@dataclass(frozen=True)
class Closing:
    """Ends the batches of one changefeed. ``live``: rows are committed at the time of the wall clock."""

    sink: Sink
    planner: Planner
    live: bool

    def __call__(
        self,
        state: BatchState,
        plan: Plan,
        controls: Controls,
        results: Mapping[Target, TaskResult],
        top: int,
        limit: int,
        started: float,
    ) -> tuple[RunReport, int]:
        """Send what comes after the rows; return the report and the TSO up to which DDL is sent.

        ``top``: the batch's greatest commit_ts, -1 for a batch without rows. ``limit``: the TSO of its watermark.
        ``started``: when it began, by ``time.monotonic``.
        """
        counts = {t: PartitionCount(r.messages, r.bytes) for t, r in results.items() if r.messages}
        sent = DeliveryReport(counts, sum(result.retries for result in results.values()))
        tail = Tail(DeliveryReport(), state.watermark, state.sent_until)
        if max(top, limit) >= 0:
            tail = send_tail(self.sink, plan, controls, results, top if top >= 0 else limit, limit)
        sent_until = max(tail.sent_until, state.sent_until)
        report = RunReport(
            batch_id=state.batch_id,
            rows=sum(result.rows for result in results.values()),
            late_rows=sum(result.late_rows for result in results.values()),
            delivery=sent + tail.delivery,
            seconds=time.monotonic() - started,
            watermark=tail.watermark,
            max_commit_ts=top if top >= 0 else None,
            controls=sum((result.controls for result in results.values()), tail.controls),
            ddl_events=len(controls.sent_ddl(sent_until)),
            claims=sum(result.claims for result in results.values()),
            finished_ms=time.time_ns() // 1_000_000,
            live=self.live,
            skipped=_sums(result.skipped for result in results.values()),
            filtered=_sums(result.filtered for result in results.values()),
            filtered_ddl=self.planner.filtered_ddl(state, sent_until),
        )
        return report, sent_until


def _sums(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    return dict(sorted(sum(map(Counter, counts), Counter[str]()).items()))
