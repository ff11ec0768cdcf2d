"""Debezium's envelopes, read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.decode.debezium.events import DebeziumEvents
from ticdc_emit.decode.debezium.reader import DebeziumReader
from ticdc_emit.decode.event_reader import EventReader, Recognizer
from ticdc_emit.decode.schemas import SchemaSource

__all__ = ["DebeziumReader", "make_reader", "recognizers"]


def make_reader(
    config: ChangefeedConfig,
    schemas: SchemaSource | None,
    claims: Callable[[str], bytes] | None,
    max_decompressed_bytes: int,
) -> EventReader:
    """Return the reader of a changefeed's messages."""
    return DebeziumEvents(config, max_decompressed_bytes)


def recognizers() -> Mapping[str, list[Recognizer]]:
    """Return what takes these messages, with and without schema, and no others."""
    return {"debezium": [DebeziumReader(schema, typed=False).read for schema in (True, False)]}
