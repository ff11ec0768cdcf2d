"""The end of a batch: what comes after the last row of each topic-partition, sent by the driver.

Only the driver knows that no row of the batch is left, so it sends the DDL and watermarks after each
topic-partition's last row, once every row is acknowledged. What the workers merged in already is not sent again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ticdc_emit.changefeed.report import ControlCounts
from ticdc_emit.changefeed.results import TaskResult
from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.delivery.contract import DeliveryReport, Sink
from ticdc_emit.encode.messages import control_batch
from ticdc_emit.errors import MessageTooLargeError
from ticdc_emit.plan.announce import Addressed, Announcer
from ticdc_emit.plan.tables import Plan
from ticdc_emit.routing.topic import Target
from ticdc_emit.schedule.control import Controls, Event, Watermark

__all__ = ["Tail", "send_tail"]


class Tail(NamedTuple):
    """What was delivered, the watermark reached (``None``: the protocol has none), the TSO up to which DDL is sent."""

    delivery: DeliveryReport
    watermark: int | None
    sent_until: int
    controls: ControlCounts = ControlCounts()


def send_tail(
    sink: Sink,
    plan: Plan,
    controls: Controls,
    results: Mapping[Target, TaskResult],
    top: int,
    limit: int,
) -> Tail:
    """Send the DDL and watermarks up to the TSO ``limit`` that are still due; ``top`` is the greatest commit_ts of all.

    A DDL behind ``limit`` waits, for rows of its old schema may still come, unless a worker has sent it already in
    front of a later row.
    """
    announcer = Announcer(plan)
    addressed = Addressed(controls, announcer)
    until = max([limit, *controls.sent_ddl(_furthest(announcer, controls, results))])
    rises = limit >= 0 and (controls.watermark is None or limit > controls.watermark)
    last = announcer.message(Watermark(limit)) if rises else None
    begin = min((result.first_commit_ts for result in results.values() if result.rows), default=top)
    reached_topics = plan.watermark_topics(limit)
    messages: list[tuple[Target, ControlMessage]] = []
    events: list[Event] = []
    for target in plan.targets:
        result = results.get(target)
        after, first = -1, begin
        if result is not None and result.rows:
            after, first = result.max_commit_ts, result.first_commit_ts
        # the limit of ticks is behind the rows by the lateness already
        for control in addressed.to(target).due(after, until, first, ticks_until=limit + controls.lateness):
            message = announcer.message_to(control.event, target)
            if message is not None:
                messages.append((target, message))
                events.append(control.event)
        if last is not None and target[0] in reached_topics and not controls.is_tick(limit, first):
            messages.append((target, last))
            events.append(Watermark(limit))
    reached = controls.watermark if last is None else limit
    if not messages:
        return Tail(DeliveryReport(), reached, until)
    try:
        with sink.open(plan.large.max_message_bytes) as writer:
            writer.write(control_batch(messages))
            return Tail(writer.flush(), reached, until, ControlCounts.of(events))
    except MessageTooLargeError as fault:
        raise announcer.named(fault) from None


def _furthest(announcer: Announcer, controls: Controls, results: Mapping[Target, TaskResult]) -> int:
    """Return the TSO of the last DDL that any worker of this batch has sent, -1 if none has."""
    if not any(result.rows for result in results.values()):
        return -1
    for event in reversed(controls.unsent_ddl()):
        reached = (results[target] for target in announcer.targets(event) if target in results)
        if any(result.rows and result.max_commit_ts > event.commit_ts for result in reached):
            return event.commit_ts
    return -1
