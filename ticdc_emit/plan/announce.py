"""The messages of control events and where they go: the one place where codec, router and clock of a plan meet.

In: a plan and an event (a DDL, a watermark, a table's schema). Out: its message, ``None`` where the protocol has none,
and the topic-partitions that must receive it.
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.errors import MessageTooLargeError
from ticdc_emit.plan.tables import Plan
from ticdc_emit.routing.topic import Target
from ticdc_emit.schedule.bootstrap import Bootstrap
from ticdc_emit.schedule.control import Controls, Event, Watermark
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.tso import compose

__all__ = ["Addressed", "Announcer"]

_SHOWN_STATEMENT = 80


class Announcer:
    """Encodes and routes each DDL and BOOTSTRAP of a plan once, however many topic-partitions receive it."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._made: dict[int, tuple[Event, ControlMessage | None]] = {}
        self._routed: dict[int, tuple[DdlEvent, tuple[Target, ...]]] = {}

    def message(self, event: Event) -> ControlMessage | None:
        """Return the event's message, at the plan's clock."""
        if isinstance(event, Watermark):  # there may be a million, each made for one topic-partition
            return self._encode(event)
        known = self._made.get(id(event))
        if known is None:
            known = self._made[id(event)] = event, self._encode(event)
        return known[1]

    def targets(self, event: Event) -> tuple[Target, ...]:
        """Return the topic-partitions that receive the event, in order."""
        router = self._plan.router
        if isinstance(event, Watermark):
            topics = self._plan.watermark_topics(event.ts)
            return tuple(target for topic in sorted(topics) for target in router.targets(topic))
        if isinstance(event, Bootstrap):
            return event.targets
        known = self._routed.get(id(event))
        if known is None:  # the event is held, so that no other takes its id
            targets = router.ddl_targets(event, all_partitions=self._plan.codec.ddl_to_all_partitions)
            known = self._routed[id(event)] = event, targets
        return known[1]

    def message_to(self, event: Event, target: Target) -> ControlMessage | None:
        """Return the event's message if this topic-partition receives it."""
        if isinstance(event, Watermark):
            reached = self._plan.lives(target[0], event.ts)
        else:
            reached = target in self.targets(event)
        return self.message(event) if reached else None

    def messages(self, event: Event) -> list[tuple[Target, ControlMessage]]:
        """Return the event's message with each of its targets; none where the protocol sends nothing."""
        message = self.message(event)
        return [] if message is None else [(target, message) for target in self.targets(event)]

    def named(self, fault: MessageTooLargeError) -> MessageTooLargeError:
        """Return a writer's error about a message that is too large: of a DDL, with its statement."""
        for event, message in self._made.values():
            if message is None or len(message.key or b"") + len(message.value) != fault.context.get("size"):
                continue
            if (fault.context.get("topic"), fault.context.get("partition")) in self.targets(event):
                return MessageTooLargeError(
                    f"{_words(event)} is too large: {fault.message}",
                    remedy=self._plan.large.schema_remedy,
                    **{**fault.context, **(_place(event) or {})},
                )
        return fault

    def _encode(self, event: Event) -> ControlMessage | None:
        message = self._plain(event)
        if message is None:
            return None
        place = _place(event) if self._plan.codec.refuses_large_schemas else None
        message = self._plan.large.control(message, place, _words(event))
        if isinstance(event, Bootstrap) and event.occasion != "start":
            return replace(message, key=b"")  # it goes out among the rows, with a key like theirs
        return message

    def _plain(self, event: Event) -> ControlMessage | None:
        codec, clock = self._plan.codec, self._plan.clock
        if isinstance(event, Watermark):
            return codec.watermark(event.ts, clock(event.ts))
        if isinstance(event, Bootstrap):
            return codec.bootstrap(event.table, clock(compose(event.at_ms)))
        return codec.ddl(event, clock(event.commit_ts))


class Addressed:
    """What may have to be sent, by topic-partition: each asks for its own, however many tables a changefeed has."""

    def __init__(self, controls: Controls, announcer: Announcer) -> None:
        self._none = replace(controls, ddls=(), bootstraps=())
        self._ddls: dict[Target, list[DdlEvent]] = {}
        self._bootstraps: dict[Target, list[tuple[int, Bootstrap]]] = {}
        self._by_target: dict[Target, Controls] = {}
        for event in controls.unsent_ddl():
            for target in announcer.targets(event):
                self._ddls.setdefault(target, []).append(event)
        for placed in controls.bootstraps:
            for target in placed[1].targets:
                self._bootstraps.setdefault(target, []).append(placed)

    def to(self, target: Target) -> Controls:
        """Return the controls with the DDL and bootstraps that the topic-partition receives."""
        known = self._by_target.get(target)
        if known is None:
            ddls, bootstraps = self._ddls.get(target), self._bootstraps.get(target)
            known = self._none
            if ddls or bootstraps:
                known = replace(known, ddls=tuple(ddls or ()), bootstraps=tuple(bootstraps or ()))
            self._by_target[target] = known
        return known


def _words(event: Event) -> str:
    return "the message of a DDL" if isinstance(event, DdlEvent) else "the BOOTSTRAP message of a table"


def _place(event: Event) -> dict[str, object] | None:
    """Return the table or schema that a control message shows, and its statement; a watermark shows none."""
    if isinstance(event, Watermark):
        return None
    if isinstance(event, Bootstrap):
        return {"table": event.table.full_name}
    statement = " ".join(event.query.split())
    shown = statement if len(statement) <= _SHOWN_STATEMENT else f"{statement[: _SHOWN_STATEMENT - 1]}\u2026"
    return {"table": f"{event.schema}.{event.table}" if event.table else event.schema, "statement": shown}
