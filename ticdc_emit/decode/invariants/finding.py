"""The input and output of invariants.

In: each message with its row's key and content (:class:`Seen`). Out: :class:`Finding` records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from ticdc_emit.decode.events import Event, RowEvent, table_of
from ticdc_emit.delivery.base import Message, Place

__all__ = ["Finding", "Invariant", "Seen", "Stream"]


@dataclass(frozen=True)
class Finding:
    """One message, or one partition (``offset`` is ``None``), that breaks an invariant.

    ``table``: ``schema.table``; ``key``: the row's handle key as text (``id=1``). Both are empty if unknown.
    """

    invariant: str
    text: str
    topic: str
    partition: int
    offset: int | None = None
    table: str = ""
    key: str = ""

    @property
    def place(self) -> str:
        """Topic, partition and offset, as ``orders/0@17``."""
        return f"{self.topic}/{self.partition}" + ("" if self.offset is None else f"@{self.offset}")

    def __str__(self) -> str:
        row = " ".join(part for part in (self.table, self.key) if part)
        return f"{self.place} {row + ': ' if row else ''}{self.text} ({self.invariant})"


@dataclass(slots=True)
class Seen:
    """A message that could be read. Do not change it.

    ``key``: names and wire values of a row's handle key; ``None`` if it is unknown or the table has none. ``number``:
    the number of the key in its partition, 0 without one. ``commit``: TSO, or physical ms if messages have only that.
    ``content``: a hash of the message without the parts that TiCDC makes new each time. ``first``: whether this
    partition has not had the message before.
    """

    message: Message
    event: Event
    key: tuple[tuple[str, Any], ...] | None = None
    commit: int | None = None
    number: int = 0
    content: int = 0
    first: bool = True

    @property
    def place(self) -> Place:
        """Topic and partition."""
        return self.message.topic, self.message.partition

    @property
    def table(self) -> str:
        """``schema.table``, empty for a watermark."""
        return table_of(self.event)

    @property
    def row(self) -> RowEvent | None:
        """The event, if it is a row's."""
        return self.event if isinstance(self.event, RowEvent) else None

    def finding(self, invariant: str, text: str) -> Finding:
        """Return a finding at this message."""
        key = ", ".join(f"{name}={value}" for name, value in self.key or ())
        return Finding(invariant, text, *self.place, self.message.offset, self.table, key)


class Invariant(Protocol):
    """A rule that every stream obeys."""

    name: str

    def see(self, seen: Seen) -> Iterable[Finding]:
        """Take the next message of its partition."""

    def end(self, stream: Stream) -> Iterable[Finding]:
        """Return findings about the whole stream; no message follows."""


@dataclass
class Stream:
    """What is known about the topics. ``firsts``: the first offset seen in each partition."""

    partitions: dict[str, int] = field(default_factory=dict)
    firsts: dict[Place, int] = field(default_factory=dict)

    def places(self, topic: str) -> Iterator[Place]:
        """All partitions of a topic."""
        return ((topic, number) for number in range(self.partitions.get(topic, 0)))

    def begins(self, place: Place) -> bool:
        """Return whether a partition was read from its beginning."""
        return self.firsts.get(place, 0) == 0
