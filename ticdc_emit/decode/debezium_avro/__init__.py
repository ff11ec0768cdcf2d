"""Debezium's envelopes in Avro with the schemas of a registry, read."""

from __future__ import annotations

from collections.abc import Mapping

from ticdc_emit.decode.avro_fields import split_header
from ticdc_emit.decode.debezium_avro.events import DebeziumAvroEvents
from ticdc_emit.decode.debezium_avro.reader import DebeziumAvroReader
from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.event_reader import EventReader, ReaderInputs, Recognizer

__all__ = ["DebeziumAvroReader", "make_reader", "recognizers"]

_SOURCE = b"\x162.4.0.Final\nTiCDC"
"""``version`` and ``connector`` of every message, each after its length."""


def make_reader(inputs: ReaderInputs) -> EventReader:
    """Return the reader of a changefeed's messages."""
    assert inputs.schemas is not None  # ensured by readers.reader_for
    return DebeziumAvroEvents(inputs.schemas, inputs.config.time_zone)


def recognizers() -> Mapping[str, list[Recognizer]]:
    """Return a function that accepts these messages by their schema ids and their producer, without the schemas."""
    return {"debezium-avro": [_with_source]}


def _with_source(key: bytes | None, value: bytes | None) -> None:
    for part in (key, value):
        split_header(part or b"")
    if _SOURCE not in (value or b""):
        raise DecodeError("nothing in the message shows that TiCDC wrote it")
