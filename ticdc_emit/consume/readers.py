"""The reader of a changefeed's messages, and a guess at the protocol of messages that it cannot read.

In: a configuration, or a record. Out: the :class:`EventReader` of the protocol; or the protocol's name in options, to
distinguish a wrong protocol from damaged messages, and nothing if that is not clear (a tombstone, a compressed value).
Only the package of the protocol that is needed is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import ModuleType

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.protocols import WRITTEN, Protocol
from ticdc_emit.consume.stored_events import StoredEvents
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import ConfigError
from ticdc_emit.protocols.decoder import MAX_DECOMPRESSED_BYTES, EventReader, ReaderInputs, Recognizer
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.protocols.registered_avro import RegistrySchemas, SchemaSource


def reader_for(
    config: ChangefeedConfig,
    *,
    schemas: SchemaSource | None = None,
    claims: Callable[[str], bytes] | None = None,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> EventReader:
    """Return the reader of a changefeed's messages.

    ``schemas``: Avro schema texts by id; default: the changefeed's own registry. ``claims``: a function that returns
    the object of a message's ``claimCheckLocation``; without it, an event has only the handle key, and the location of
    the rest. ``max_decompressed_bytes``: the limit of a key or value.

    Raises :class:`~ticdc_emit.errors.ConfigError` for a protocol without a reader, for Avro without schemas, and
    :class:`~ticdc_emit.errors.MissingDependencyError` if decoding needs a missing package.
    """
    protocol = config.codec.protocol
    if not protocol.spec.is_written:
        raise ConfigError(
            f"messages of the protocol {protocol} are not read here",
            remedy=f"Use one of {', '.join(each.value for each in WRITTEN)}",
            option="protocol",
        )
    if schemas is None and protocol.spec.registers_schemas:
        schemas = _own_registry(config)
    reader: EventReader = package_of(protocol).make_reader(
        ReaderInputs(config, schemas, claims, max_decompressed_bytes)
    )
    return reader if config.storage is None else StoredEvents(reader, protocol)


def package_of(protocol: Protocol) -> ModuleType:
    """Return the module that reads a protocol, which must have one."""
    return import_module(f"ticdc_emit.protocols.{protocol.spec.package}.decoder")


def _own_registry(config: ChangefeedConfig) -> SchemaSource:
    url = config.codec.schema_registry
    if url is None:
        raise ConfigError(
            "reading Avro needs its schemas",
            remedy="Give schemas=, or the changefeed a schema-registry",
            option="schema-registry",
        )
    return RegistrySchemas(url.reveal())


@cache
def _recognizers() -> dict[str, list[Recognizer]]:
    # frames first, then schema ids: frames may look like an id, and the bytes after an id like Simple in Avro
    order = sorted(WRITTEN, key=lambda each: (not each.spec.packs_rows, not each.spec.registers_schemas))
    return {name: recognizers for each in order for name, recognizers in package_of(each).recognizers().items()}


def guess_protocol(message: Message) -> str | None:
    """Return the name of the only protocol whose reader takes the message; ``None`` if no reader does."""
    for name, recognizers in _recognizers().items():
        for read in recognizers:
            with suppress(DecodeError):
                read(message.key, message.value)
                return name
    return None
