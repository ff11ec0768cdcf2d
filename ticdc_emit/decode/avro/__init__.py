"""Avro with the schemas of a registry, read."""

from __future__ import annotations

from collections.abc import Mapping

from ticdc_emit.decode.avro.events import AvroEvents
from ticdc_emit.decode.avro.reader import AvroReader, AvroRow
from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.event_reader import EventReader, ReaderInputs, Recognizer

__all__ = ["AvroReader", "AvroRow", "make_reader", "recognizers"]

_MAGIC = 0
_SCHEMA_ID_BYTES = 5


def make_reader(inputs: ReaderInputs) -> EventReader:
    """Return the reader of a changefeed's messages."""
    assert inputs.schemas is not None  # ensured by readers.reader_for
    return AvroEvents(inputs.schemas, inputs.config.time_zone)


def recognizers() -> Mapping[str, list[Recognizer]]:
    """Return a function that accepts only these messages. It reads the schema ids, not the schemas."""
    return {"avro": [_with_schema_ids]}


def _with_schema_ids(key: bytes | None, value: bytes | None) -> None:
    if not (_has_schema_id(key) and (value is None or _has_schema_id(value))):
        raise DecodeError("no schema id comes before the data")


def _has_schema_id(data: bytes | None) -> bool:
    return data is not None and len(data) > _SCHEMA_ID_BYTES and data[0] == _MAGIC
