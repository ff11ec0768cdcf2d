"""Which topics of a broker are read: those of the options, or those that a changefeed sends to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.errors import UnknownTopicError
from ticdc_emit.hints import did_you_mean
from ticdc_emit.routing.topics import TopicExpression

__all__ = ["TopicChoice", "missing_topic"]

_INTERNAL = "__"  # __consumer_offsets and its like
_MOST_SHOWN = 10


@dataclass(frozen=True)
class TopicChoice:
    """``named``: topics that must all exist. Without it: ``default`` and the topics that ``expressions`` match, at
    least one of which must exist.
    """

    named: tuple[str, ...] = ()
    default: str = ""
    expressions: tuple[TopicExpression, ...] = ()

    @classmethod
    def of(cls, config: ChangefeedConfig, named: Sequence[str]) -> TopicChoice:
        """Return the named topics, else those of the changefeed: its default topic and those of its dispatchers.

        Raises :class:`~ticdc_emit.errors.ConfigError` for a topic expression that TiCDC refuses.
        """
        if named:
            return cls(tuple(named))
        texts = dict.fromkeys(rule.topic for rule in config.dispatchers if rule.topic)
        expressions = tuple(
            TopicExpression.parse(text, config.codec.protocol, config.profile.routing) for text in texts
        )
        return cls((), config.kafka.topic, expressions)

    def among(self, existing: Collection[str]) -> list[str]:
        """Return the topics to read; raises :class:`~ticdc_emit.errors.UnknownTopicError` if they do not exist."""
        for topic in self.named:
            if topic not in existing:
                raise missing_topic(topic, existing)
        if self.named:
            return list(dict.fromkeys(self.named))
        matching = [
            topic
            for topic in sorted(existing)
            if topic == self.default or (not topic.startswith(_INTERNAL) and self._matches(topic))
        ]
        if not matching:
            raise missing_topic(self.default, existing, also=[each.text for each in self.expressions])
        return matching

    def __str__(self) -> str:
        return ", ".join(self.named or dict.fromkeys([self.default, *(each.text for each in self.expressions)]))

    def _matches(self, topic: str) -> bool:
        return any(expression.matches(topic) for expression in self.expressions)


def missing_topic(topic: str, existing: Collection[str], also: Sequence[str] = (), **place: str) -> UnknownTopicError:
    """Return the error for a topic that does not exist. ``also``: expressions that match no topic either."""
    shown = sorted(name for name in existing if not name.startswith(_INTERNAL))
    more = f" and {len(shown) - _MOST_SHOWN:,} more" if len(shown) > _MOST_SHOWN else ""
    there = f"Existing topics: {', '.join(shown[:_MOST_SHOWN])}{more}" if shown else "There are no topics yet"
    none_of = f", and no topic matches {', '.join(also)}" if also else ""
    return UnknownTopicError(
        f"the topic {topic} does not exist{none_of}",
        remedy=f"{did_you_mean(topic, shown)}{there}",
        topic=topic,
        **place,
    )
