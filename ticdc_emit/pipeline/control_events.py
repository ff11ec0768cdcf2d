"""Control messages in their place among the rows of each topic-partition.

A **place** is a TSO: a control message comes after all rows up to it and before every later one. A DDL's place is its
own commit_ts; a watermark ``T`` comes after every row that may still come at or below it, so its place is
``T + allowed_lateness``; a BOOTSTRAP's was planned with the batch (``pipeline.bootstrap``). The worker that
writes a topic-partition merges them into its sorted rows, and whatever comes after the last row is sent afterwards by
whoever knows that no row is left: each asks for its own stretch of places (:meth:`Controls.due`), and the whole is the
same wherever it is cut.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import merge
from itertools import groupby
from typing import TypeAlias

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.errors import ConfigError, MessageTooLargeError
from ticdc_emit.pipeline.bootstrap import Bootstrap
from ticdc_emit.pipeline.plan import Plan
from ticdc_emit.routing.topics import Target
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.tso import LOGICAL_BITS, compose, physical_ms

__all__ = ["ControlEncoder", "ControlEvent", "ControlSchedule", "Event", "PartitionControls", "Watermark"]


_MAX_TICKS = 1_000_000
_DDL_RANK, _BOOTSTRAP_RANK, _WATERMARK_RANK = 0, 1, 2


@dataclass(frozen=True)
class Watermark:
    """Everything up to the TSO ``ts`` was sent."""

    ts: int


Event: TypeAlias = "DdlEvent | Bootstrap | Watermark"


@dataclass(frozen=True)
class ControlEvent:
    """``event`` comes after the rows up to the TSO ``place``; at one place the lower ``rank`` comes first."""

    place: int
    rank: int
    event: Event


@dataclass(frozen=True)
class ControlSchedule:
    """What may have to be sent: DDL events by commit_ts, and watermarks every ``interval_ms`` of commit time (0: none).

    ``sent_until`` is the TSO up to which earlier batches have sent DDL; ``watermark`` the last watermark, if any.
    ``bootstraps`` are the batch's own, with their places, in sending order. ``marks``: TSOs of further watermarks,
    those right behind a DDL, ascending.
    """

    ddls: tuple[DdlEvent, ...] = ()
    interval_ms: int = 0
    lateness_ms: int = 0
    sent_until: int = -1
    watermark: int | None = None
    bootstraps: tuple[tuple[int, Bootstrap], ...] = ()
    marks: tuple[int, ...] = ()

    @property
    def lateness(self) -> int:
        """How far after the rows watermarks stay, as a difference of TSO."""
        return self.lateness_ms << LOGICAL_BITS

    @property
    def late_until(self) -> int | None:
        """A row at or below this TSO is late: the last watermark, or the last DDL that earlier batches have sent."""
        ddls, places = self._placed_ddls
        sent = bisect_right(places, self.sent_until)
        marks = [None if sent == 0 else ddls[sent - 1].commit_ts, self.watermark]
        return max((mark for mark in marks if mark is not None), default=None)

    def unsent_ddl(self) -> tuple[DdlEvent, ...]:
        """Return the DDL that earlier batches have not sent."""
        ddls, places = self._placed_ddls
        return ddls[bisect_right(places, self.sent_until) :]

    def sent_ddl(self, until: int) -> list[int]:
        """Return the commit_ts of the DDL up to ``until`` that earlier batches have not sent."""
        _, places = self._placed_ddls
        return places[bisect_right(places, self.sent_until) : bisect_right(places, until)]

    def due(self, after: int, until: int, first_row: int, *, ticks_until: int | None = None) -> list[ControlEvent]:
        """Return what has its place from ``after`` to ``until``, both included, in order.

        ``first_row`` is the commit_ts of the topic-partition's first row: without an earlier watermark, ticks begin
        after it. ``ticks_until`` bounds the places of ticks at the end of a batch, where more rows may come; bootstraps
        are the batch's own, and there are none behind it.
        """
        ddls, places = self._placed_ddls
        stretch = slice(bisect_left(places, max(after, self.sent_until + 1)), bisect_right(places, until))
        controls = [ControlEvent(event.commit_ts, _DDL_RANK, event) for event in ddls[stretch]]
        bootstraps, places = self._placed_bootstraps
        end = bisect_right(places, until) if ticks_until is None else len(places)
        stretch = slice(bisect_left(places, after), end)
        controls += [ControlEvent(place, _BOOTSTRAP_RANK, bootstrap) for place, bootstrap in bootstraps[stretch]]
        last = until if ticks_until is None else ticks_until
        controls += [
            ControlEvent(tick + self.lateness, _WATERMARK_RANK, Watermark(tick))
            for tick in self._ticks(first_row, after - self.lateness, last - self.lateness)
        ]
        return sorted(controls, key=lambda control: (control.place, control.rank))

    @cached_property
    def _placed_ddls(self) -> tuple[tuple[DdlEvent, ...], list[int]]:
        """The DDL in order of place, and the places."""
        ddls = tuple(sorted(self.ddls, key=lambda event: event.commit_ts))
        return ddls, [event.commit_ts for event in ddls]

    @cached_property
    def _placed_bootstraps(self) -> tuple[tuple[tuple[int, Bootstrap], ...], list[int]]:
        """The bootstraps in order of place, those of one place in sending order, and the places."""
        bootstraps = tuple(sorted(self.bootstraps, key=lambda placed: placed[0]))
        return bootstraps, [place for place, _ in bootstraps]

    def is_tick(self, ts: int, first_row: int) -> bool:
        """Return whether :meth:`due` gives a watermark of exactly ``ts``, in any stretch."""
        return any(True for _ in self._ticks(first_row, ts, ts))

    def _ticks(self, first_row: int, start: int, until: int) -> Iterator[int]:
        """Yield the watermarks of ``start`` to ``until``: marks, and the ticks after what is sent or the first row."""
        first, last = bisect_left(self.marks, start), bisect_right(self.marks, until)
        sent = -1 if self.watermark is None else self.watermark
        marks = [mark for mark in self.marks[first:last] if mark > sent]
        yield from (ts for ts, _ in groupby(merge(marks, self._interval_ticks(first_row, start, until))))

    def _interval_ticks(self, first_row: int, start: int, until: int) -> Iterator[int]:
        step = self.interval_ms
        if not step:
            return
        behind = first_row if self.watermark is None else self.watermark
        number = max(physical_ms(behind) // step + 1, physical_ms(max(start, 0)) // step)
        if (physical_ms(max(until, 0)) // step) - number > _MAX_TICKS:
            raise ConfigError(
                f"watermark_interval={step / 1000} would put more than {_MAX_TICKS} watermarks between two rows",
                remedy="Choose a longer interval for a history with such gaps",
                option="watermark_interval",
            )
        while (tick := compose(number * step)) <= until:
            if tick >= start:
                yield tick
            number += 1


_SHOWN_STATEMENT = 80


class ControlEncoder:
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
        codec, clock = self._plan.codec, self._plan.clock
        if isinstance(event, Watermark):
            message = codec.watermark(event.ts, clock(event.ts))
        elif isinstance(event, Bootstrap):
            message = codec.bootstrap(event.table, clock(compose(event.at_ms)))
        else:
            message = codec.ddl(event, clock(event.commit_ts))
        if message is None:
            return None
        place = _place(event) if self._plan.codec.refuses_large_schemas else None
        message = self._plan.large.control(message, place, _words(event))
        if isinstance(event, Bootstrap) and event.occasion != "start":
            return replace(message, key=b"")  # it goes out among the rows, with a key like theirs
        return message


class PartitionControls:
    """What may have to be sent, by topic-partition: each asks for its own, however many tables a changefeed has."""

    def __init__(self, controls: ControlSchedule, control_encoder: ControlEncoder) -> None:
        self._none = replace(controls, ddls=(), bootstraps=())
        self._ddls: dict[Target, list[DdlEvent]] = {}
        self._bootstraps: dict[Target, list[tuple[int, Bootstrap]]] = {}
        self._by_target: dict[Target, ControlSchedule] = {}
        for event in controls.unsent_ddl():
            for target in control_encoder.targets(event):
                self._ddls.setdefault(target, []).append(event)
        for placed in controls.bootstraps:
            for target in placed[1].targets:
                self._bootstraps.setdefault(target, []).append(placed)

    def to(self, target: Target) -> ControlSchedule:
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
