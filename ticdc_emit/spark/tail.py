"""The end of a batch: what stands behind the last row of each topic-partition, sent by the driver.

Only the driver knows that no row of the batch is left, so it sends the DDL and watermarks behind each
topic-partition's last row, once every row is acknowledged. What the workers merged in already is not sent again.
"""

from __future__ import annotations

from collections.abc import Mapping

from ticdc_emit.delivery.contract import DeliveryReport, Sink
from ticdc_emit.encode.encoder import control_batch
from ticdc_emit.encode.plan import Plan
from ticdc_emit.protocols.base import ControlMessage
from ticdc_emit.schedule.control import Controls
from ticdc_emit.spark.worker import TaskResult

__all__ = ["send_tail"]


def send_tail(
    sink: Sink,
    plan: Plan,
    controls: Controls,
    results: Mapping[tuple[str, int], TaskResult],
    top: int,
    limit: int,
) -> tuple[DeliveryReport, int | None]:
    """Send the DDL up to ``top`` and the watermarks up to ``limit`` (both TSO) that are still due.

    Returns what was delivered and the watermark reached (``None`` if the protocol sends none).
    """
    rises = limit >= 0 and (controls.watermark is None or limit > controls.watermark)
    last = plan.codec.watermark(limit, plan.clock(limit)) if rises else None
    begin = min((result.first_commit_ts for result in results.values() if result.rows), default=top)
    messages: list[tuple[tuple[str, int], ControlMessage]] = []
    for target in plan.router.watermark_targets():
        result = results.get(target)
        cursor, first = controls.start(), begin
        if result is not None and result.rows:
            cursor, first = result.cursor, result.first_commit_ts
        due, cursor = cursor.due(controls, plan, target, first, top + 1, limit + 1)
        messages += [(target, message) for _, message in due]
        if last is not None and (cursor.watermark is None or cursor.watermark < limit):
            messages.append((target, last))
    reached = controls.watermark if last is None else limit
    if not messages:
        return DeliveryReport(), reached
    with sink.open() as writer:
        writer.write(control_batch(messages))
        return writer.flush(), reached
