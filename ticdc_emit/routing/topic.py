"""Where each kind of event goes: topic and partitions of rows, DDL and watermarks.

In: names of schema and table, and the partition counts that :meth:`ticdc_emit.delivery.contract.Sink.prepare` returned.
Out: ``(topic, partition)`` pairs.  Source: ``cdc/sink/dmlsink/mq/dispatcher/event_router.go`` and
``cdc/sink/ddlsink/mq/mq_ddl_sink.go`` of pingcap/tiflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ticdc_emit.routing.partition import partition_of, table_hash

__all__ = ["Router", "Target"]

Target = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True)
class Router:
    """Routes with the ``table`` dispatcher into one default topic.

    ``partitions`` holds the partition count of every topic that may be a target.
    """

    default_topic: str
    partitions: Mapping[str, int]

    def topics(self) -> tuple[str, ...]:
        """Every topic that watermarks must reach."""
        return (self.default_topic,)

    def route_table(self, schema: str, table: str) -> Target:
        """The target of all rows of a table."""
        return self.default_topic, partition_of(table_hash(schema, table), self.partitions[self.default_topic])

    def ddl_targets(self, *, all_partitions: bool) -> tuple[Target, ...]:
        """Every partition of the DDL's topic, or partition 0 only (Canal-JSON)."""
        if not all_partitions:
            return ((self.default_topic, 0),)
        return self._everywhere(self.default_topic)

    def watermark_targets(self) -> tuple[Target, ...]:
        """Every partition of every topic, in order."""
        return tuple(target for topic in self.topics() for target in self._everywhere(topic))

    def _everywhere(self, topic: str) -> tuple[Target, ...]:
        return tuple((topic, partition) for partition in range(self.partitions[topic]))
