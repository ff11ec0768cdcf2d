"""One reader for all protocols: key and value of a Kafka record in, an :data:`~ticdc_emit.decode.events.Event` out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.protocol import Protocol as MessageProtocol
from ticdc_emit.decode.events import Event, Image, RowEvent
from ticdc_emit.decode.events_avro import AvroEvents
from ticdc_emit.decode.events_canal import CanalEvents
from ticdc_emit.decode.events_debezium import DebeziumEvents
from ticdc_emit.decode.events_simple import SimpleEvents
from ticdc_emit.decode.schemas import RegistrySchemas, SchemaSource
from ticdc_emit.errors import ConfigError
from ticdc_emit.schema.model import TableInfo

__all__ = ["EventReader", "reader_for"]


class EventReader(Protocol):
    """Reads the records of a changefeed's topics."""

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return what a record says. Raises :class:`~ticdc_emit.decode.errors.DecodeError` for one that is no message
        of the protocol.
        """

    def text(self, event: RowEvent, table: TableInfo | None = None) -> RowEvent:
        """Return the event with its images in canonical text.

        ``table``: the table as the row's commit_ts had it; without it, what the message itself tells of types is used,
        and what it does not tell stays as it is on the wire. Raises :class:`~ticdc_emit.decode.errors.DecodeError` for
        a value that is not of its column.
        """

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        """Return one image of the event (``before``, ``after`` or ``key``) in canonical text."""


def reader_for(
    config: ChangefeedConfig, *, schemas: SchemaSource | None = None, claims: Callable[[str], bytes] | None = None
) -> EventReader:
    """Return the reader of a changefeed's messages.

    ``schemas``: of Avro, by id; default the changefeed's own registry. ``claims``: what gives the object that a message
    names as its ``claimCheckLocation``; without it, an event holds the handle key alone and says where the rest is.

    Raises :class:`~ticdc_emit.errors.ConfigError` for a protocol that is not read here, for Avro without schemas, and
    :class:`~ticdc_emit.errors.MissingDependencyError` where decoding needs a package that is not there.
    """
    protocol = config.codec.protocol
    if protocol is MessageProtocol.CANAL_JSON:
        return CanalEvents(config, claims)
    if protocol is MessageProtocol.SIMPLE:
        return SimpleEvents(config, claims)
    if protocol is MessageProtocol.DEBEZIUM:
        return DebeziumEvents(config)
    if protocol is MessageProtocol.AVRO:
        return AvroEvents(schemas if schemas is not None else _own_registry(config))
    raise ConfigError(
        f"messages of the protocol {protocol} are not read here",
        remedy="Use canal-json, simple, debezium or avro",
        option="protocol",
    )


def _own_registry(config: ChangefeedConfig) -> SchemaSource:
    url = config.codec.schema_registry
    if url is None:
        raise ConfigError(
            "reading Avro needs its schemas",
            remedy="Give schemas=, or the changefeed a schema-registry",
            option="schema-registry",
        )
    return RegistrySchemas(url.reveal())
