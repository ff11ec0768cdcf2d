"""Topic expressions: make a topic's name from a table's name.

In: the ``topic`` of a dispatcher, then names of schema and table.  Out: the topic's name, or TiCDC's refusal of the
expression.  Source: ``cdc/sink/dmlsink/mq/dispatcher/topic/expression.go`` of pingcap/tiflow, semantics 4.5.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from ticdc_emit.config.protocol import Protocol
from ticdc_emit.config.refusal import refused
from ticdc_emit.config.switches import RoutingSwitches

__all__ = ["TopicExpression"]

_MAX_TOPIC_BYTES = 249
_TEXT = r"[A-Za-z0-9._\-]*"
_HARD_CODED = re.compile(r"[A-Za-z0-9._\-]+")
_GENERAL = re.compile(rf"{_TEXT}(?:\{{schema\}}{_TEXT})?(?:\{{table\}}{_TEXT})?")
_AVRO = re.compile(rf"{_TEXT}\{{schema\}}{_TEXT}\{{table\}}{_TEXT}")
_FORBIDDEN = re.compile(r"[^a-zA-Z0-9._\-]")
_PLACEHOLDERS = ("{schema}", "{table}")
_PLACES = re.compile(r"(\{schema\}|\{table\})")
_NAME = r"[A-Za-z0-9._\-]+"
_RELATIVE = {".": "_", "..": "__"}


@dataclass(frozen=True)
class TopicExpression:
    """A valid expression: ``{schema}`` and ``{table}``, in this order, each at most once, or a topic's own name."""

    text: str

    @classmethod
    def parse(cls, text: str, protocol: Protocol, switches: RoutingSwitches = RoutingSwitches()) -> TopicExpression:
        """Check an expression. With Avro it must have both placeholders or none.

        Raises :class:`~ticdc_emit.errors.ConfigError` (CDC:ErrKafkaTopicExprInvalid, or CDC:ErrKafkaInvalidConfig).
        """
        avro = protocol.traits.registers_schemas
        if not _HARD_CODED.fullmatch(text) and not (_AVRO if avro else _GENERAL).fullmatch(text):
            remedy = "Use letters, digits, '.', '_' and '-' around {schema} and {table}, in this order"
            rule = "topic rule for Avro must contain {schema} and {table}"
            if switches.bad_topic == "kafka-config":
                cause = f"invalid topic expression {text}: {rule}" if avro else f"invalid topic expression: {text}"
                raise refused("ErrKafkaInvalidConfig", cause, option="topic", remedy=remedy)
            # TiCDC's template has no verb for the second argument, so Go's formatter appends it
            extra = f"%!(EXTRA string={rule})" if avro else ""
            cause = f"invalid topic expression: {text} {extra}"
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
