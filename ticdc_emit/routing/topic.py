"""Where each kind of event goes: topic and partitions of rows, DDL and watermarks.

In: the changefeed's dispatchers, the partition counts that :meth:`ticdc_emit.delivery.contract.Sink.prepare` returned,
then the source's schema and table names.  Out: topics, partition rules and ``(topic, partition)`` pairs.  The first
dispatcher whose matcher accepts a table applies. Other tables go to the default topic, partitioned by table.  Source:
``cdc/sink/dmlsink/mq/dispatcher/event_router.go`` and ``cdc/sink/ddlsink/mq/mq_ddl_sink.go`` of pingcap/tiflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.switches import RoutingSwitches
from ticdc_emit.errors import UnknownTopicError
from ticdc_emit.routing.expression import TopicExpression
from ticdc_emit.routing.rules import PartitionRule
from ticdc_emit.routing.table_filter import TableFilter
from ticdc_emit.schema.events import DdlEvent

__all__ = ["Router", "Target"]

Target = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True)
class _Route:
    """One dispatcher; ``topic`` is ``None`` for the default topic."""

    tables: TableFilter
    topic: TopicExpression | None
    rule: PartitionRule


_BY_TABLE = PartitionRule()


@dataclass(frozen=True)
class Router:
    """Routes by the changefeed's dispatchers; without any, by table into the default topic.

    ``partitions``: the partition count of every possible target topic.
    """

    default_topic: str
    partitions: Mapping[str, int]
    routes: tuple[_Route, ...] = ()
    switches: RoutingSwitches = RoutingSwitches()

    @classmethod
    def of(cls, changefeed: ChangefeedConfig, partitions: Mapping[str, int]) -> Router:
        """Read the dispatchers; :class:`~ticdc_emit.errors.ConfigError` for a wrong matcher or topic expression."""
        protocol, switches = changefeed.codec.protocol, changefeed.profile.routing
        routes = tuple(
            _Route(
                TableFilter.parse(rule.matcher, case_sensitive=changefeed.case_sensitive),
                TopicExpression.parse(rule.topic, protocol, switches) if rule.topic else None,
                PartitionRule.of(rule),
            )
            for rule in changefeed.dispatchers
        )
        return cls(changefeed.kafka.topic, dict(partitions), routes, switches)

    def topic(self, schema: str, table: str) -> str:
        """Return the topic of a table's rows, and of the DDL that keeps its name."""
        route = self._route(schema, table)
        return self.default_topic if route is None or route.topic is None else route.topic.topic(schema, table)

    def rule(self, schema: str, table: str) -> PartitionRule:
        """Return how the rows of a table are spread over the partitions of its topic."""
        route = self._route(schema, table)
        return _BY_TABLE if route is None else route.rule

    def ddl_topic(self, event: DdlEvent) -> str:
        """Return the topic of a DDL: that of the table before it, else of the table after it, else the default one."""
        before = event.pre_table_info
        if self.switches.exchange_partition_topic == "partitioned" and event.action == "exchange partition":
            before = event.table_info
        schema, table = (event.schema, event.table) if before is None else (before.schema, before.name)
        return self.topic(schema, table) if table else self.default_topic

    def ddl_targets(self, event: DdlEvent, *, all_partitions: bool) -> tuple[Target, ...]:
        """Every partition of the DDL's topic, or partition 0 only (Canal-JSON)."""
        topic = self.ddl_topic(event)
        return self.targets(topic) if all_partitions else ((topic, 0),)

    def targets(self, topic: str) -> tuple[Target, ...]:
        """Every partition of a topic; :class:`~ticdc_emit.errors.UnknownTopicError` for one without a known count."""
        return tuple((topic, partition) for partition in range(self.count(topic)))

    def count(self, topic: str) -> int:
        """Return a topic's number of partitions; :class:`~ticdc_emit.errors.UnknownTopicError` if it is unknown."""
        try:
            return self.partitions[topic]
        except KeyError:
            raise UnknownTopicError(
                "the number of the topic's partitions is not known",
                remedy="Prepare the sink with every topic that the dispatchers name",
                topic=topic,
            ) from None

    def _route(self, schema: str, table: str) -> _Route | None:
        return next((route for route in self.routes if route.tables.matches(schema, table)), None)
