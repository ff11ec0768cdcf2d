"""What all readers of messages are: key and value of a Kafka record in, an event out, and its images as text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

from ticdc_emit.decode.events import Event, Image, RowEvent
from ticdc_emit.schema.model import TableInfo

__all__ = ["EventReader"]


class EventReader(ABC):
    """Reads the records of a changefeed's topics."""

    @abstractmethod
    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return what a record says. Raises :class:`~ticdc_emit.decode.errors.DecodeError` for one that is no message
        of the protocol.
        """

    @abstractmethod
    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        """Return one image of the event (``before``, ``after`` or ``key``) in canonical text.

        ``table`` and errors as of :meth:`text`.
        """

    def text(self, event: RowEvent, table: TableInfo | None = None) -> RowEvent:
        """Return the event with its images in canonical text.

        ``table``: the table as the row's commit_ts had it; without it, what the message itself tells of types is used,
        and what it does not tell stays as it is on the wire. Raises :class:`~ticdc_emit.decode.errors.DecodeError` for
        a value that is not of its column, and :class:`~ticdc_emit.errors.UnknownTableError` without a table for a row
        of Simple whose version no message has shown.
        """
        before, after, key = (self.image(event, image, table) for image in (event.before, event.after, event.key))
        return replace(event, before=before, after=after, key=key)
