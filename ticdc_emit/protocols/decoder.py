"""The interface of all readers of messages. In: key and value of a Kafka record. Out: an event, and its images as text.

Each protocol's ``decoder.py`` has one. Its methods cover the differences that matter to users of events: the reference
consumer, the invariants, the lines of a topic. The module offers two functions:

- ``make_reader(inputs)``, of :class:`ReaderInputs`;
- ``recognizers()``, what reads a key and a value or raises :class:`~ticdc_emit.protocols.decoded.DecodeError`, by the
  name of what it reads (``config.protocols.FORMS``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.protocols.decoded import Event, Image, RowEvent
from ticdc_emit.protocols.decoded_tables import Lookup, Tables
from ticdc_emit.protocols.registered_avro import SchemaSource
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo

__all__ = ["EventReader", "Part", "ReaderInputs", "ReaderPackage", "Recognizer"]


Recognizer = Callable[[bytes | None, bytes | None], Any]
Part: TypeAlias = "tuple[bytes | None, bytes | None]"
"""Key and value of a record, or of a part of one."""


@dataclass(frozen=True)
class ReaderInputs:
    """The arguments of :func:`~ticdc_emit.consume.readers.reader_for`; with schemas for a protocol that registers
    them.
    """

    config: ChangefeedConfig
    schemas: SchemaSource | None
    claims: Callable[[str], bytes] | None
    max_decompressed_bytes: int


class EventReader(ABC):
    """Reads the records of a changefeed's topics."""

    @abstractmethod
    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return the event of a record. Raises :class:`~ticdc_emit.protocols.decoded.DecodeError` for a record that is
        not a message of the protocol.
        """

    def parts(self, key: bytes | None, value: bytes | None) -> Sequence[Part]:
        """Return records with the same content as this one: one per row if messages can hold several rows.

        Raises the errors of :meth:`read`, which takes records of one row.
        """
        return ((key, value),)

    @abstractmethod
    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        """Return one image of the event (``before``, ``after`` or ``key``) in canonical text.

        ``table`` and errors: as for :meth:`text`.
        """

    def text(self, event: RowEvent, table: TableInfo | None = None) -> RowEvent:
        """Return the event with its images in canonical text.

        ``table``: the table at the row's commit_ts. Without it, the types in the message itself are used, and values of
        unknown type stay as they are on the wire. Raises :class:`~ticdc_emit.protocols.decoded.DecodeError` for a value
        that does not fit its column, and :class:`~ticdc_emit.errors.UnknownTableError` without a table for a row of
        Simple whose version no message has shown.
        """
        before, after, key = (self.image(event, image, table) for image in (event.before, event.after, event.key))
        return replace(event, before=before, after=after, key=key)

    def check(self, event: RowEvent) -> None:  # noqa: B027 - most protocols have no checksums
        """Compare a row with its checksum, if the protocol has checksums. A row without one passes.

        Raises :class:`~ticdc_emit.protocols.decoded.ChecksumMismatchError` for a row that differs from its checksum,
        :class:`~ticdc_emit.protocols.decoded.DecodeError` for values that do not fit their columns.
        """

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        """Return the columns of the handle key; ``()`` for a table without one, or if no message has shown it."""
        return tuple(event.key or ())

    def likely_key_names(self, event: RowEvent) -> tuple[str, ...]:
        """Return :meth:`key_names`, or those of the newest version of the table that messages have shown, which seldom
        differ.
        """
        return self.key_names(event)

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        """Return the content of a row's record that is the same in every run.

        A message that is sent again may have another encoding time, another order of columns (Simple Avro, because Go's
        maps have no order) and another claim-check object (each encoding draws a name). Nothing else may differ.
        """
        return key, value

    def learn(self, key: bytes | None, value: bytes | None) -> None:  # noqa: B027 - most messages tell all
        """Read the table schemas in a record from before the first row; raises the errors of :meth:`read`."""

    def knows(self, event: RowEvent) -> bool:
        """Return whether rows of the event's table can be read without an earlier record."""
        return True

    def make_tables(self, catalog: Catalog, zone: str, lookup: Lookup | None) -> Tables:
        """Return the tables that a consumer of these messages keeps."""
        return Tables(catalog, self, zone, lookup)


class ReaderPackage(Protocol):
    """The ``decoder.py`` of a protocol."""

    def make_reader(self, inputs: ReaderInputs) -> EventReader:
        """Return the reader of a changefeed's messages."""

    def recognizers(self) -> Mapping[str, list[Recognizer]]:
        """Return for each form a function that accepts only its messages."""
