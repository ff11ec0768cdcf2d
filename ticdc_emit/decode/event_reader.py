"""What all readers of messages are: key and value of a Kafka record in, an event out, and its images as text.

Each protocol's package here has one, and says in methods of it what differs for those that use events: the reference
consumer, the invariants, the lines of a topic. The package offers two functions:

- ``make_reader(inputs)``, of :class:`ReaderInputs`;
- ``recognizers()``, what reads a key and a value or raises :class:`~ticdc_emit.decode.errors.DecodeError`, by the name
  of what it reads (``config.protocol.FORMS``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.decode.events import Event, Image, RowEvent
from ticdc_emit.decode.schemas import SchemaSource
from ticdc_emit.decode.tables import Lookup, Tables
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo

__all__ = ["EventReader", "Part", "ReaderInputs", "ReaderPackage", "Recognizer"]

Recognizer = Callable[[bytes | None, bytes | None], Any]
Part: TypeAlias = "tuple[bytes | None, bytes | None]"
"""Key and value of a record, or of a part of one."""


@dataclass(frozen=True)
class ReaderInputs:
    """What :func:`~ticdc_emit.decode.readers.reader_for` was given; of a protocol that registers schemas, with them."""

    config: ChangefeedConfig
    schemas: SchemaSource | None
    claims: Callable[[str], bytes] | None
    max_decompressed_bytes: int


class EventReader(ABC):
    """Reads the records of a changefeed's topics."""

    @abstractmethod
    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return what a record says. Raises :class:`~ticdc_emit.decode.errors.DecodeError` for one that is no message
        of the protocol.
        """

    def parts(self, key: bytes | None, value: bytes | None) -> Sequence[Part]:
        """Return records that say together what one says: where messages can hold several rows, one for each.

        Raises as :meth:`read`, which takes records of one row.
        """
        return ((key, value),)

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

    def check(self, event: RowEvent) -> None:  # noqa: B027 - most protocols have no checksums
        """Compare a row with its checksum, where the protocol has any. A row without one passes.

        Raises :class:`~ticdc_emit.decode.errors.ChecksumMismatchError` for a row that is not the one that was sent,
        :class:`~ticdc_emit.decode.errors.DecodeError` for values that are not of their columns.
        """

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        """Return the columns of the handle key; ``()`` for a table without, or where no message has told."""
        return tuple(event.key or ())

    def likely_key_names(self, event: RowEvent) -> tuple[str, ...]:
        """Return :meth:`key_names`, or what messages have told of the table's newest version, which seldom differs."""
        return self.key_names(event)

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        """Return what a row's record says, whenever and by whichever run it was made.

        A producer that sends a message again may say another time at which it made it, show the columns in another
        order (Simple Avro: Go's maps have none) and name another object of the claim-check storage (each encoding
        draws a name); nothing else may differ.
        """
        return key, value

    def learn(self, key: bytes | None, value: bytes | None) -> None:  # noqa: B027 - most messages tell all
        """Take what a record from before the first row tells of tables; raises as :meth:`read`."""

    def knows(self, event: RowEvent) -> bool:
        """Return whether rows of the event's table can be read, or an earlier record has to tell of it."""
        return True

    def make_tables(self, catalog: Catalog, zone: str, lookup: Lookup | None) -> Tables:
        """Return the tables that a consumer of these messages keeps."""
        return Tables(catalog, self, zone, lookup)


class ReaderPackage(Protocol):
    """A protocol's package in ``decode/``."""

    def make_reader(self, inputs: ReaderInputs) -> EventReader:
        """Return the reader of a changefeed's messages."""

    def recognizers(self) -> Mapping[str, list[Recognizer]]:
        """Return what takes the messages of each form, and no others."""
