"""The end of a batch: what stands behind the last row of each topic-partition, sent by the driver.

Only the driver knows that no row of the batch is left, so it sends the DDL and watermarks behind each
topic-partition's last row, once every row is acknowledged. What the workers merged in already is not sent again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ticdc_emit.delivery.contract import DeliveryReport, Sink
from ticdc_emit.encode.announce import Announcer
from ticdc_emit.encode.encoder import control_batch
from ticdc_emit.encode.plan import Plan
from ticdc_emit.protocols.base import ControlMessage
from ticdc_emit.schedule.control import Controls, Watermark
from ticdc_emit.spark.worker import TaskResult

__all__ = ["Tail", "send_tail"]


class Tail(NamedTuple):
    """What was delivered, the watermark reached (``None``: the protocol has none), the TSO up to which DDL is sent."""

    delivery: DeliveryReport
    watermark: int | None
    sent_until: int


def send_tail(
    sink: Sink,
    plan: Plan,
    controls: Controls,
    results: Mapping[tuple[str, int], TaskResult],
    top: int,
    limit: int,
) -> Tail:
    """Send the DDL and watermarks up to the TSO ``limit`` that are still due; ``top`` is the greatest commit_ts of all.

    A DDL behind ``limit`` waits, for rows of its old schema may still come, unless a worker has sent it already in
    front of a later row.
    """
    announcer = Announcer(plan)
    until = max([limit, *controls.sent_ddl(_furthest(plan, results))])
    rises = limit >= 0 and (controls.watermark is None or limit > controls.watermark)
    last = announcer.message(Watermark(limit)) if rises else None
    begin = min((result.first_commit_ts for result in results.values() if result.rows), default=top)
    messages: list[tuple[tuple[str, int], ControlMessage]] = []
    for target in plan.router.watermark_targets():
        result = results.get(target)
        after, first = -1, begin
        if result is not None and result.rows:
            after, first = result.max_commit_ts, result.first_commit_ts
        # the limit of ticks is behind the rows by the lateness already
        for control in controls.due(after, until, first, ticks_until=limit + controls.lateness):
            message = announcer.message_to(control.event, target)
            if message is not None:
                messages.append((target, message))
        if last is not None and not controls.is_tick(limit, first):
            messages.append((target, last))
    reached = controls.watermark if last is None else limit
    if not messages:
        return Tail(DeliveryReport(), reached, until)
    with sink.open() as writer:
        writer.write(control_batch(messages))
        return Tail(writer.flush(), reached, until)


def _furthest(plan: Plan, results: Mapping[tuple[str, int], TaskResult]) -> int:
    """Return up to which TSO any worker has sent DDL."""
    targets = plan.router.ddl_targets(all_partitions=plan.codec.ddl_to_all_partitions)
    return max((results[t].max_commit_ts - 1 for t in targets if t in results and results[t].rows), default=-1)
