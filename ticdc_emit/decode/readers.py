"""One reader for all protocols. In: key and value of a Kafka record. Out: an
:data:`~ticdc_emit.decode.events.Event`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.protocols import WRITTEN, Protocol
from ticdc_emit.decode.compression import MAX_DECOMPRESSED_BYTES
from ticdc_emit.decode.event_reader import EventReader, ReaderInputs, ReaderPackage
from ticdc_emit.decode.schemas import RegistrySchemas, SchemaSource
from ticdc_emit.errors import ConfigError

__all__ = ["EventReader", "package_of", "reader_for"]


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
    if not protocol.traits.is_written:
        raise ConfigError(
            f"messages of the protocol {protocol} are not read here",
            remedy=f"Use one of {', '.join(each.value for each in WRITTEN)}",
            option="protocol",
        )
    if schemas is None and protocol.traits.registers_schemas:
        schemas = _own_registry(config)
    return package_of(protocol).make_reader(ReaderInputs(config, schemas, claims, max_decompressed_bytes))


def package_of(protocol: Protocol) -> ReaderPackage:
    """Return the package that reads a protocol, which must have one."""
    return cast("ReaderPackage", import_module(f"ticdc_emit.decode.{protocol.traits.package}"))


def _own_registry(config: ChangefeedConfig) -> SchemaSource:
    url = config.codec.schema_registry
    if url is None:
        raise ConfigError(
            "reading Avro needs its schemas",
            remedy="Give schemas=, or the changefeed a schema-registry",
            option="schema-registry",
        )
    return RegistrySchemas(url.reveal())
