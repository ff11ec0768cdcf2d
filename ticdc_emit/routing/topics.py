"""Where events go: topic expressions, and the router of a changefeed's dispatchers.

Source: ``cdc/sink/dmlsink/mq/dispatcher/topic/expression.go`` of pingcap/tiflow, semantics 4.5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.document import refused
from ticdc_emit.config.protocols import Protocol
from ticdc_emit.config.switches import RoutingSwitches
from ticdc_emit.delivery.base import Target
from ticdc_emit.errors import UnknownTopicError
from ticdc_emit.routing.partitions import PartitionRule
from ticdc_emit.routing.table_filter import TableFilter
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.sql.words import quoted

_MAX_TOPIC_BYTES = 249
_TEXT = r"[A-Za-z0-9._\-]*"
_HARD_CODED = re.compile(r"[A-Za-z0-9._\-]+")
_GENERAL = re.compile(rf"{_TEXT}(?:\{{schema\}}{_TEXT})?(?:\{{table\}}{_TEXT})?")
_AVRO = re.compile(rf"{_TEXT}\{{schema\}}{_TEXT}\{{table\}}{_TEXT}")
_FORBIDDEN = re.compile(r"[^a-zA-Z0-9._\-]")
_PLACEHOLDERS = ("{schema}", "{table}")
_PLACES = re.compile(r"(\{schema\}|\{table\})")
_NAME = r"[A-Za-z0-9._\-]+"
_MARKS = frozenset(".`")
_RELATIVE = {".": "_", "..": "__"}


@dataclass(frozen=True)
class TopicExpression:
    """A valid expression: ``{schema}`` and ``{table}``, in this order, each at most once, or a topic's own name."""

    text: str

    @classmethod
    def parse(cls, text: str, protocol: Protocol, switches: RoutingSwitches = RoutingSwitches()) -> TopicExpression:
        """Check an expression; with Avro it must have both placeholders or none. Raises ``ConfigError``."""
        avro = protocol.spec.registers_schemas
        if not _HARD_CODED.fullmatch(text) and not (_AVRO if avro else _GENERAL).fullmatch(text):
            remedy = "Use letters, digits, '.', '_' and '-' around {schema} and {table}, in this order"
            rule = "topic rule for Avro must contain {schema} and {table}"
            if switches.bad_topic == "kafka-config":
                cause = f"invalid topic expression {text}: {rule}" if avro else f"invalid topic expression: {text}"
                raise refused("ErrKafkaInvalidConfig", cause, option="topic", remedy=remedy)
            # TiCDC's template has no verb for the rule, so Go's formatter appends it
            extra = f"%!(EXTRA string={rule})" if avro else ""
            shown = f": {text} " if switches.bad_topic == "named" else ""
            cause = f"invalid topic expression{shown}{extra}"
            raise refused("ErrKafkaTopicExprInvalid", cause, option="topic", remedy=remedy)
        return cls(text)

    def matches(self, topic: str) -> bool:
        """Return whether this may be the topic of some table."""
        return self._pattern.fullmatch(topic) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = (_NAME if part in _PLACEHOLDERS else re.escape(part) for part in _PLACES.split(self.text))
        return re.compile("".join(parts))

    def topic(self, schema: str, table: str) -> str:
        """Return the topic of a table. Characters that Kafka forbids become ``_``; the name is cut to 249 bytes."""
        if _HARD_CODED.fullmatch(self.text):
            return self.text
        name = self.text.replace("{schema}", _FORBIDDEN.sub("_", schema)).replace("{table}", _FORBIDDEN.sub("_", table))
        return _RELATIVE.get(name, name[:_MAX_TOPIC_BYTES])  # ASCII only: characters are bytes


def _table_topic(schema: str, table: str) -> str:
    """Return a name that no other table has, where each is a topic."""
    plain = not _MARKS.intersection(schema + table)
    return f"{schema}.{table}" if plain else f"{quoted(schema)}.{quoted(table)}"


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

    ``partitions``: of every possible target topic. ``ddl_everywhere``: DDL goes to every partition of its topic,
    otherwise to the first one. ``by_table``: every table is a topic of its own, as for files; a DDL goes to all that it
    changes.
    """

    default_topic: str
    partitions: Mapping[str, int]
    routes: tuple[_Route, ...] = ()
    switches: RoutingSwitches = RoutingSwitches()
    ddl_everywhere: bool = True
    by_table: bool = False

    @classmethod
    def of(cls, changefeed: ChangefeedConfig, partitions: Mapping[str, int]) -> Router:
        """Read the dispatchers; :class:`~ticdc_emit.errors.ConfigError` for a wrong matcher or topic expression."""
        protocol, switches = changefeed.codec.protocol, changefeed.release.routing
        routes = tuple(
            _Route(
                TableFilter.parse(rule.matcher, case_sensitive=changefeed.case_sensitive),
                TopicExpression.parse(rule.topic, protocol, switches) if rule.topic else None,
                PartitionRule.of(rule),
            )
            for rule in changefeed.dispatchers
            if switches.target_rules == "obeyed" or rule.topic or rule.partition or not rule.renames
        )
        by_table = changefeed.storage is not None
        everywhere = protocol.spec.ddl_everywhere
        return cls(changefeed.kafka.topic, dict(partitions), routes, switches, everywhere, by_table)

    def topic(self, schema: str, table: str) -> str:
        """Return the topic of a table's rows, and of the DDL that keeps its name."""
        if self.by_table:
            return _table_topic(schema, table)
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
        schema, table = event.source_name if before is None else before.source_name
        return self.topic(schema, table) if table else self.default_topic

    def ddl_topics(self, event: DdlEvent) -> tuple[str, ...]:
        """Return the topics of a DDL: more than one only where every table is a topic."""
        if not self.by_table or not event.table:
            return (self.ddl_topic(event),)
        changed = [info for info in (event.table_info, event.pre_table_info, *event.others) if info is not None]
        names = [event.source_name, *(info.source_name for info in changed)]
        return tuple(dict.fromkeys(_table_topic(*name) for name in names))

    def ddl_targets(self, event: DdlEvent) -> tuple[Target, ...]:
        """Return the topic-partitions of a DDL."""
        if self.by_table:
            return tuple((topic, 0) for topic in self.ddl_topics(event))
        topic = self.ddl_topic(event)
        return self.targets(topic) if self.ddl_everywhere else ((topic, 0),)

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
