"""Messages as points of a picture: place, kind, commit time, size, and whether it is a redelivery.

In: what a :class:`~ticdc_emit.decode.invariants.Verifier` reads (``watch=points.see``), so nothing is decoded twice.
Out: :class:`Point` records in the order of arrival. Memory: about 300 bytes for each row and control message.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ticdc_emit.decode.events import DdlEvent, RowEvent, kind_of, table_of
from ticdc_emit.decode.invariants.finding import Seen
from ticdc_emit.delivery.base import Message, Place
from ticdc_emit.tso import physical_ms

__all__ = ["KINDS", "Point", "Points"]

KINDS = ("insert", "update", "delete", "ddl", "bootstrap", "watermark", "unreadable")


@dataclass(frozen=True, slots=True)
class Point:
    """One row, statement, BOOTSTRAP or watermark. ``kind``: one of :data:`KINDS`.

    ``commit_ts``: TSO, and ``time_ms``: its physical time, if the message has them. ``bytes``: of key and value; 0 for
    further rows of the same message. ``again``: whether its partition has had it before. ``text``: a statement.
    """

    topic: str
    partition: int
    offset: int
    kind: str
    bytes: int
    table: str = ""
    key: str = ""
    commit_ts: int | None = None
    time_ms: int | None = None
    again: bool = False
    text: str = ""

    @property
    def place(self) -> Place:
        """Topic and partition."""
        return self.topic, self.partition

    @property
    def is_row(self) -> bool:
        """Whether it is an insert, update or delete."""
        return self.kind in KINDS[:3]


@dataclass
class Points:
    """Collects the points of messages."""

    all: list[Point] = field(default_factory=list)
    _controls: set[tuple[Place, str, int | None, str]] = field(default_factory=set)
    _last: tuple[str, int, int] | None = None

    def see(self, message: Message, seen: Seen | None) -> None:
        """Take one row or control message; ``None`` for a message that cannot be read."""
        place = message[:3]
        size = 0 if place == self._last else len(message.key or b"") + len(message.value or b"")
        self._last = place
        if seen is None:
            self.all.append(Point(*place, "unreadable", size))
            return
        event = seen.event
        table, commit_ts = table_of(event), event.commit_ts
        time_ms: int | None = getattr(event, "commit_ms", None) if commit_ts is None else physical_ms(commit_ts)
        if isinstance(event, RowEvent):
            key = ", ".join(f"{name}={value}" for name, value in seen.key or ())
            self.all.append(Point(*place, event.op, size, table, key, commit_ts, time_ms, not seen.first))
            return
        text = event.query if isinstance(event, DdlEvent) else ""
        control = (message[:2], kind_of(event), commit_ts, text or table)
        again = control in self._controls and kind_of(event) != "bootstrap"  # TiCDC repeats these regularly
        self._controls.add(control)
        self.all.append(Point(*place, kind_of(event), size, table, "", commit_ts, time_ms, again, text))
