"""Histories whose messages are delivered again, as when TiCDC restarts.

TiCDC restarts at a checkpoint, a TSO up to which every partition has everything: later commits come again, in whole
transactions and in the same order. A checkpoint never falls. A run may end before the end of the previous one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hypothesis import strategies as st

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import StrategyError
from ticdc_emit.protocols.registered_avro import SchemaSource
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.strategies.changefeeds import FeedOptions, changefeeds
from ticdc_emit.strategies.columns import names
from ticdc_emit.strategies.histories import histories
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.json_objects import VERSION, Json, Members, encoded, json_line
from ticdc_emit.traffic.scenarios.delivery_order import by_partition, read_sent, renumber, restarted

Arrive: TypeAlias = "Callable[[list[Message], ChangefeedConfig, SchemaSource], list[Message]]"


@dataclass(frozen=True)
class Delivery:
    """A history as a consumer receives it: ``messages`` in the order of arrival, with their offsets; ``config``:
    ``feed`` with the history's time zone; ``partitions``: the partition count of each topic; ``schemas``: Avro schemas
    by id.
    """

    history: History
    config: ChangefeedConfig = field(repr=False)  # it follows from the feed
    feed: FeedOptions
    messages: list[Message]
    partitions: Mapping[str, int] = field(repr=False)
    schemas: Mapping[int | str, str] = field(repr=False)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # of Hypothesis and IPython
        printer.text("Delivery(...)" if cycle else repr(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the delivery for JSON: ``version`` (1), ``history``, ``feed``, ``messages`` (``topic``, ``partition``,
        ``offset``, ``key`` and ``value`` as base64 or null), ``partitions`` and ``schemas`` (``id``, ``schema``).
        """
        return {
            "version": VERSION,
            "history": self.history.to_dict(),
            "feed": self.feed.to_dict(),
            "messages": [
                {**each._asdict(), "key": encoded(each.key), "value": encoded(each.value)} for each in self.messages
            ],
            "partitions": dict(self.partitions),
            "schemas": [{"id": number, "schema": schema} for number, schema in self.schemas.items()],
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as one line of ASCII. Raises :class:`~ticdc_emit.errors.JsonError`."""
        return json_line(self.to_dict(), what="the delivery")

    @classmethod
    def from_json(cls, data: Json) -> Delivery:
        """Return the delivery of :meth:`to_json`. ``data``: text or object. Raises
        :class:`~ticdc_emit.errors.JsonError`, and :class:`~ticdc_emit.errors.ConfigError` for a changefeed that cannot
        be loaded.
        """
        members = Members.of(data, "a delivery")
        history, feed = History.from_json(members.object("history")), FeedOptions.from_json(members.object("feed"))
        messages = [_message_of(each) for each in members.objects("messages", "a message")]
        sizes = members.object("partitions")
        partitions = {topic: sizes.get(topic, int) for topic in sizes.names()}
        schemas = dict(_schema_of(each) for each in members.objects("schemas", "a schema"))
        members.finish()
        return cls(history, feed.load(time_zone=history.time_zone), feed, messages, partitions, schemas)

    @classmethod
    def of(cls, history: History, feed: FeedOptions, arrive: Arrive = lambda sent, *_: sent) -> Delivery:
        """Return how a history arrives from a changefeed. ``arrive``: makes the messages as they arrive of those that
        TiCDC sends, the configuration and the schemas. Raises what :meth:`History.messages
        <ticdc_emit.History.messages>` raises.
        """
        config, registry = feed.load(time_zone=history.time_zone), MemoryRegistry()
        sent = history.messages(config, registry=registry)
        schemas: dict[int | str, str] = {post.id: post.schema for post in registry.posts if post.id is not None}
        partitions = {message.topic: config.kafka.partition_num or 1 for message in sent}
        return cls(history, config, feed, arrive(sent, config, schemas), partitions, schemas)

    def with_history(self, history: History) -> Delivery:
        """Return how another history arrives from this changefeed: each message once, or, where some come again here,
        all of them twice. Raises as :meth:`of`.
        """
        times = 2 if len(self.messages) > len(Delivery.of(self.history, self.feed).messages) else 1
        return Delivery.of(history, self.feed, lambda sent, *_: renumber(sent * times))

    def consumer(self) -> ReferenceConsumer:
        """Return a reference consumer for this changefeed."""
        catalog = self.history.catalog(config=self.config)
        return ReferenceConsumer(self.config, catalog, partitions=self.partitions, schemas=self.schemas)


def _message_of(members: Members) -> Message:
    places = members.get("topic", str), members.get("partition", int), members.get("offset", int)
    message = Message(*places, members.binary("key"), members.binary("value"))
    members.finish()
    return message


def _schema_of(members: Members) -> tuple[int | str, str]:
    number: Any = members.get("id", int, str)
    schema = number, members.get("schema", str)
    members.finish()
    return schema


def deliveries(
    history: st.SearchStrategy[History] | None = None,
    feed: st.SearchStrategy[FeedOptions] | None = None,
    *,
    max_restarts: int = 3,
) -> st.SearchStrategy[Delivery]:
    """Return histories with their messages, some of which are delivered again.

    ``history``: default :func:`~ticdc_emit.strategies.histories` with plain names and without virtual columns, which
    every protocol can send. ``feed``: default :func:`~ticdc_emit.strategies.changefeeds`. ``max_restarts``: of TiCDC.
    Raises :class:`~ticdc_emit.errors.StrategyError`; when an example is drawn, what :meth:`History.messages
    <ticdc_emit.History.messages>` raises.
    """
    _require_restarts(max_restarts)
    drawn_histories = histories(names=names(allow_odd=False), allow_virtual=False) if history is None else history
    return _deliveries(drawn_histories, changefeeds() if feed is None else feed, max_restarts)


def redelivered(
    messages: Sequence[Message], config: ChangefeedConfig, *, schemas: SchemaSource | None = None, max_restarts: int = 3
) -> st.SearchStrategy[list[Message]]:
    """Return the messages of a changefeed as they arrive if TiCDC restarts: each at least once, with new offsets.

    ``messages``: those of each partition in their order. ``schemas``: default: the changefeed's registry. Raises
    :class:`~ticdc_emit.errors.StrategyError`, :class:`~ticdc_emit.DecodeError`.
    """
    _require_restarts(max_restarts)
    sent = by_partition(read_sent(messages, config, schemas))
    chances = st.tuples(st.randoms(use_true_random=False), st.integers(0, max_restarts))
    return chances.map(
        lambda drawn: renumber(each.message for queue in restarted(sent, *drawn).values() for each in queue)
    )


def _require_restarts(max_restarts: int) -> None:
    if max_restarts < 0:
        raise StrategyError(
            f"max_restarts={max_restarts!r} is negative", remedy="Give 0 or more", argument="max_restarts"
        )


@st.composite
def _deliveries(
    draw: st.DrawFn, history: st.SearchStrategy[History], feed: st.SearchStrategy[FeedOptions], max_restarts: int
) -> Delivery:
    def arrive(sent: list[Message], config: ChangefeedConfig, schemas: SchemaSource) -> list[Message]:
        return draw(redelivered(sent, config, schemas=schemas, max_restarts=max_restarts))

    return Delivery.of(draw(history), draw(feed), arrive)
