"""Invariants of order and repetition: a key's changes are in commit order, and nothing new comes after a watermark.

Delivery is at least once: a restarted producer repeats messages from some checkpoint on (1 2 3 2 3). So a lower
commit_ts is correct for a repetition, and repetitions have the same content. Rule sources: the protocol documents
(order of one key, meaning of WATERMARK); reference ``pingcap/tiflow: cmd/kafka-consumer/writer.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

from ticdc_emit.decode.events import DdlEvent, WatermarkEvent
from ticdc_emit.decode.invariants.finding import Finding, Seen, Stream
from ticdc_emit.delivery.base import Place

__all__ = ["Duplicates", "KeyOrder", "Watermarks"]


class KeyOrder:
    """Within a partition, a new row of a key has no lower commit_ts than the key's previous rows."""

    name = "key-order"

    def __init__(self) -> None:
        self._newest: dict[int, tuple[int, int]] = {}
        self._behind: dict[int, Seen] = {}

    def see(self, seen: Seen) -> Iterable[Finding]:
        """Compare with the key's previous rows."""
        if seen.key is None or seen.commit is None:
            return ()
        known = self._newest.get(seen.number)
        if known is None or seen.commit >= known[0]:
            self._newest[seen.number] = seen.commit, seen.message.offset
            self._behind.pop(seen.number, None)
            return ()
        if not seen.first:
            self._behind[seen.number] = seen
            return ()
        return (seen.finding(self.name, f"commit_ts {seen.commit} comes after {known[0]} (offset {known[1]})"),)

    def end(self, stream: Stream) -> Iterable[Finding]:
        """Find repetitions that do not continue to the newest change."""
        for number, last in self._behind.items():
            commit, offset = self._newest[number]
            text = f"commit_ts {last.commit} comes again, but {commit} (offset {offset}) does not come after it"
            yield last.finding(self.name, text)


class Duplicates:
    """Two messages of the same key, commit and operation have the same content."""

    name = "duplicates"

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, int]] = {}

    def see(self, seen: Seen) -> Iterable[Finding]:
        """Compare with the earlier message of the same commit."""
        row = seen.row
        if row is None or row.commit_ts is None or seen.key is None:
            return ()
        number = hash((seen.number, row.commit_ts, row.op))
        content, offset = self._known.setdefault(number, (seen.content, seen.message.offset))
        if content == seen.content:
            return ()
        text = f"the {row.op} of commit_ts {row.commit_ts} is not that of offset {offset}"
        return (seen.finding(self.name, text),)

    def end(self, stream: Stream) -> Iterable[Finding]:
        """Nothing to add."""
        return ()


class Watermarks:
    """A watermark is not lower than the previous one, unless it is a repetition. Nothing new at or below it comes after
    it.

    If a topic has watermarks, each of its partitions has them.
    """

    name = "watermark"

    def __init__(self) -> None:
        self._highest: dict[Place, tuple[int, int]] = {}
        self._known: set[tuple[Place, int]] = set()
        self._statements: set[tuple[Place, int | None, str]] = set()

    def see(self, seen: Seen) -> Iterable[Finding]:
        """Compare with the partition's highest watermark."""
        event, place = seen.event, seen.place
        highest, offset = self._highest.get(place, (-1, -1))
        if isinstance(event, WatermarkEvent):
            new = (place, event.commit_ts) not in self._known
            self._known.add((place, event.commit_ts))
            if event.commit_ts > highest:
                self._highest[place] = event.commit_ts, seen.message.offset
            elif new:
                yield seen.finding(self.name, f"watermark {event.commit_ts} comes after {highest} (offset {offset})")
            return
        first = seen.first
        if isinstance(event, DdlEvent):
            statement = place, event.commit_ts, event.query
            first = statement not in self._statements
            self._statements.add(statement)
        if first and event.commit_ts is not None and event.commit_ts <= highest:
            text = f"commit_ts {event.commit_ts} is new after watermark {highest} (offset {offset})"
            yield seen.finding(self.name, text)

    def end(self, stream: Stream) -> Iterable[Finding]:
        """Find partitions that lack watermarks."""
        for topic in sorted({topic for topic, _ in self._highest}):
            for place in stream.places(topic):
                if place not in self._highest:
                    yield Finding(self.name, "the partition has no watermark, others of the topic do", *place)
