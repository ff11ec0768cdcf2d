"""PLAN on the driver: from the changefeed, the base schema and the DDL so far to a plan and its control messages.

The topics' partition counts and size limits are asked of the sink once. Plans are kept for the DDL history that they
were made for, which changes only when a batch brings new DDL.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TypeAlias

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.delivery.contract import Sink
from ticdc_emit.encode.plan import Plan, make_plan
from ticdc_emit.schedule.control import Controls
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.spark.state import BatchState

__all__ = ["DdlStatement", "Planner"]

DdlStatement: TypeAlias = "tuple[int, str, str]"
"""commit_ts, current database, statement."""


@dataclass
class Planner:
    """Makes plans for batch states. ``catalog`` holds the tables as they are before the first DDL."""

    config: ChangefeedConfig
    sink: Sink
    catalog: Catalog
    interval_ms: int = 0
    lateness_ms: int = 0
    verbatim_json: bool = False
    _topic: tuple[dict[str, int], int] | None = field(default=None, init=False)
    _made: dict[tuple[DdlStatement, ...], tuple[Plan, tuple[DdlEvent, ...]]] = field(default_factory=dict, init=False)

    def plan(self, state: BatchState) -> Plan:
        """Return the plan of a batch, at the batch's clock."""
        return self._planned(state.ddl)[0].at(state.build_ts)

    def controls(self, state: BatchState) -> Controls:
        """Return what control messages a batch may have to send."""
        plan, events = self._planned(state.ddl)
        interval = self.interval_ms if plan.codec.watermark(1, 1) is not None else 0
        return Controls(events, interval, self.lateness_ms, state.sent_until, state.watermark)

    def _planned(self, ddl: tuple[DdlStatement, ...]) -> tuple[Plan, tuple[DdlEvent, ...]]:
        if ddl not in self._made:
            catalog = copy.deepcopy(self.catalog)
            events = [
                event
                for commit_ts, schema, query in sorted(ddl, key=lambda entry: entry[0])
                for event in catalog.apply(query, schema=schema, commit_ts=commit_ts)
            ]
            partitions, limit = self._ask_sink()
            plan = make_plan(
                self.config,
                catalog.histories(),
                partitions,
                verbatim_json=self.verbatim_json,
                message_limit=limit,
            )
            self._made = {ddl: (plan, tuple(events))}
        return self._made[ddl]

    def _ask_sink(self) -> tuple[dict[str, int], int]:
        if self._topic is None:
            topic = self.config.kafka.topic
            partitions = self.sink.prepare({topic: self.config.kafka.partition_num})
            self._topic = partitions, self.sink.message_limit([topic])
        return self._topic
