"""Open Protocol, read."""

from __future__ import annotations

from collections.abc import Mapping

from ticdc_emit.decode.event_reader import EventReader, ReaderInputs, Recognizer
from ticdc_emit.decode.open_protocol.events import OpenEvents
from ticdc_emit.decode.open_protocol.reader import OpenProtocolReader
from ticdc_emit.decode.open_protocol.records import OpenColumn, OpenDdl, OpenMessage, OpenRow, OpenWatermark

__all__ = [
    "OpenColumn",
    "OpenDdl",
    "OpenMessage",
    "OpenProtocolReader",
    "OpenRow",
    "OpenWatermark",
    "make_reader",
    "recognizers",
]


def make_reader(inputs: ReaderInputs) -> EventReader:
    """Return the reader of a changefeed's messages."""
    return OpenEvents(inputs)


def recognizers() -> Mapping[str, list[Recognizer]]:
    """Return a function that accepts only these messages."""
    return {"open-protocol": [OpenProtocolReader().read_all]}
