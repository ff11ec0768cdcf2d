"""The reader of a changefeed's messages, and a guess at the protocol of messages that it cannot read. The guess
distinguishes a wrong protocol from damaged messages. Only the package of the protocol in use is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from itertools import product

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.protocols import protocol_not_written
from ticdc_emit.consume.stored_events import StoredEvents
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import ConfigError, MissingDependencyError
from ticdc_emit.protocols.decoder import MAX_DECOMPRESSED_BYTES, EventReader, ReaderInputs
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.protocols.registered_avro import RegistrySchemas, SchemaSource, split_header


def reader_for(
    config: ChangefeedConfig,
    *,
    schemas: SchemaSource | None = None,
    claims: Callable[[str], bytes] | None = None,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> EventReader:
    """Return the reader of a changefeed's messages.

    ``schemas``: Avro schema texts by id; default: the changefeed's registry. ``claims``: returns the object of a
    ``claimCheckLocation``; without it, an event has only the handle key and the location. Raises
    :class:`~ticdc_emit.errors.ConfigError` for a protocol without a reader, for Avro without schemas, and
    :class:`~ticdc_emit.errors.MissingDependencyError`.
    """
    protocol = config.codec.protocol
    if not protocol.spec.is_written:
        raise protocol_not_written(protocol)
    if schemas is None and protocol.spec.registers_schemas:
        if (url := config.codec.schema_registry) is None:
            raise ConfigError(
                "reading Avro needs its schemas",
                remedy="Give schemas=, or the changefeed a schema-registry",
                option="schema-registry",
            )
        schemas = RegistrySchemas(url.reveal())
    package = import_module(f"ticdc_emit.protocols.{protocol.spec.package}.decoder")
    reader: EventReader = package.make_reader(ReaderInputs(config, schemas, claims, max_decompressed_bytes))
    return reader if config.storage is None else StoredEvents(reader, protocol)


_Read = Callable[[bytes | None, bytes | None], object]


@cache
def _recognizers() -> dict[str, list[_Read]]:
    """Return what reads each form: frames first, as they may look like schema ids; then ids, before Simple in Avro."""
    from ticdc_emit.protocols.canal_json.decoder import CanalJsonReader
    from ticdc_emit.protocols.debezium.decoder import DebeziumReader
    from ticdc_emit.protocols.open_protocol.decoder import OpenProtocolReader
    from ticdc_emit.protocols.simple.decoder import SimpleReader

    readers: dict[str, list[_Read]] = {
        "open-protocol": [OpenProtocolReader().read_all],
        "debezium-avro": [partial(_with_ids, _SOURCE)],
        "avro": [partial(_with_ids, b"")],
        "canal-json": [CanalJsonReader().read],
        "simple-json": [SimpleReader("json").read],
    }
    with suppress(MissingDependencyError):
        readers["simple-avro"] = [SimpleReader("avro").read]
    forms = product((True, False), repeat=2)
    return readers | {"debezium": [DebeziumReader(schema, has_key=key).read for schema, key in forms]}


_SOURCE = b"\x162.4.0.Final\nTiCDC"
"""``version`` and ``connector`` of every message of Debezium in Avro, each after its length."""


def _with_ids(source: bytes, key: bytes | None, value: bytes | None) -> None:
    for part in (key or b"",) if value is None and not source else (key or b"", value or b""):
        split_header(part)
    if source not in (value or b""):
        raise DecodeError("nothing in the message shows that TiCDC wrote it")


def guess_protocol(message: Message) -> str | None:
    """Return the name of the only protocol whose reader takes the message; ``None`` if no reader does."""
    for name, reads in _recognizers().items():
        for read in reads:
            with suppress(DecodeError):
                read(message.key, message.value)
                return name
    return None
