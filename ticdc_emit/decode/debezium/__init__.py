"""Debezium's envelopes, read."""

from __future__ import annotations

from collections.abc import Mapping

from ticdc_emit.decode.debezium.events import DebeziumEvents
from ticdc_emit.decode.debezium.reader import DebeziumReader
from ticdc_emit.decode.event_reader import EventReader, ReaderInputs, Recognizer

__all__ = ["DebeziumReader", "make_reader", "recognizers"]


def make_reader(inputs: ReaderInputs) -> EventReader:
    """Return the reader of a changefeed's messages."""
    return DebeziumEvents(inputs)


def recognizers() -> Mapping[str, list[Recognizer]]:
    """Return functions that accept only these messages, with and without schema."""
    return {"debezium": [DebeziumReader(schema, typed=False).read for schema in (True, False)]}
