"""The direct path: all rows of a changefeed at once, in this process, without state, chunks, files and reports.

In: the configuration, a sink, the tables, rows and DDL. Out: their messages in the sink, the same as those of a
:class:`~ticdc_emit.pipeline.run.Changefeed` that runs them as its only, final batch: plan, sort, encode, place. For
what fits in memory, such as histories.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from ticdc_emit.changes.commit_ts import warn_unlikely
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.delivery.base import Sink, Target
from ticdc_emit.delivery.claims import ClaimStore
from ticdc_emit.errors import MessageTooLargeError
from ticdc_emit.pipeline.batch import ArrowBatch
from ticdc_emit.pipeline.chunks import Buckets, messages_by_target
from ticdc_emit.pipeline.conflicting_changes import ConflictCheck
from ticdc_emit.pipeline.control_events import ControlEncoder, PartitionSchedules, final_controls
from ticdc_emit.pipeline.ddl import ddl_statements
from ticdc_emit.pipeline.deliver_task import TaskResult, deliver_rows
from ticdc_emit.pipeline.encode import control_batch
from ticdc_emit.pipeline.encode_task import EncodeTask
from ticdc_emit.pipeline.external_sort import ORDER_KEY
from ticdc_emit.pipeline.file_delivery import warn_discarded
from ticdc_emit.pipeline.merge import MergedRows, place, ranked
from ticdc_emit.pipeline.plan import verify_tables, warn_keyless
from ticdc_emit.pipeline.planning import Planner
from ticdc_emit.pipeline.report import add_counts
from ticdc_emit.pipeline.sort_key import commit_stamps
from ticdc_emit.pipeline.state import BatchState
from ticdc_emit.registry.base import SchemaRegistry
from ticdc_emit.schema.catalog import Catalog, current_database


def send_directly(
    config: ChangefeedConfig,
    sink: Sink,
    catalog: Catalog,
    rows: pa.Table,
    ddl: Iterable[tuple[Any, ...]] = (),
    *,
    interval_ms: int | None = None,
    registry: SchemaRegistry | None = None,
) -> None:
    """Send rows in the generic form with the DDL among them, then the last watermark.

    ``catalog``: the tables before the first row; it stays as it is. ``interval_ms``: of commit time between watermarks.
    Raises the family of :class:`~ticdc_emit.errors.TicdcEmitError`; of bad rows nothing is sent.
    """
    verify_tables(config, catalog.tables())
    state = BatchState(0).with_ddl(ddl_statements(ddl, current_database(None, catalog)))
    planner, batch = Planner(config, sink, catalog, interval_ms=interval_ms, registry=registry), ArrowBatch(rows)
    outline = planner.outline(state)
    if len(outline.tables) == 1:
        next(iter(outline.tables.values())).refuse_keyless()
    if outline.keyless:
        warn_keyless(outline.keyless)
    batch.check(outline)
    plan = planner.registered_plan(state, batch)
    schedule, rules = planner.schedule(state), planner.control_rules(state)

    tick_ms = None if rules is None else rules.bootstrap_rules.tick_ms
    encode = EncodeTask(plan, "error", None, Buckets(plan.targets, 1), tick_ms=tick_ms)
    made, sorter = encode.encoded(rows.to_batches())
    transactions = {
        topic: pa.array(sorted(split), pa.binary()) for topic, split in sorter.split_transactions.items() if split
    }
    merged: dict[Target, MergedRows] = {}
    for target, own in messages_by_target(made) if made else ():
        own = ranked(own, transactions.get(target[0]))
        keys = own.column(ORDER_KEY)
        merged[target] = MergedRows([own], commit_stamps(keys))
    for own in dict(sorted(merged.items())).values():
        ConflictCheck(plan.in_order).check(own.parts[0].column(ORDER_KEY))

    if rules is not None:
        counts = b"" if sorter.row_counts is None else rules.sum_counts([sorter.row_counts.sums()])
        schedule, _ = rules.with_rows(schedule, plan, counts)
    encoder = ControlEncoder(plan)
    schedules = PartitionSchedules(schedule, encoder)
    results: dict[Target, TaskResult] = {}
    for target, own in sorted(merged.items()):
        place(own, target, schedules, -1)
        results[target] = TaskResult(max_commit_ts=int(own.stamps[-1]))
    last_rows = {target: result.max_commit_ts for target, result in results.items()}
    last_row = max(last_rows.values(), default=-1)
    limit = max([last_row, *(commit_ts for commit_ts, _, _ in state.ddl)])
    claims = [claim for each in made for _, claim in each.encoded.claims]
    if claims:
        store = ClaimStore.of(config.codec.large_message_handle)
        assert store is not None
        store.put(claims)
    try:
        if merged:
            deliver_rows(sink, plan, {target: [merged[target]] for target in results}, results)
        end = final_controls(plan, encoder, schedule, last_rows, limit).messages if limit >= 0 else []
        if end:
            with sink.open(plan.large.max_message_bytes) as writer:
                writer.write(control_batch(end))
                writer.flush()
    except MessageTooLargeError as fault:
        raise encoder.named(fault) from None
    warn_unlikely(last_row)
    if discarded := add_counts(*(result.discarded for result in results.values())):
        warn_discarded(discarded)
