"""Canal-JSON, read."""

from __future__ import annotations

from collections.abc import Mapping

from ticdc_emit.decode.canal_json.events import CanalEvents
from ticdc_emit.decode.canal_json.reader import CanalDdl, CanalJsonReader, CanalMessage, CanalRow, CanalWatermark
from ticdc_emit.decode.event_reader import EventReader, ReaderInputs, Recognizer

__all__ = [
    "CanalDdl",
    "CanalJsonReader",
    "CanalMessage",
    "CanalRow",
    "CanalWatermark",
    "make_reader",
    "recognizers",
]


def make_reader(inputs: ReaderInputs) -> EventReader:
    """Return the reader of a changefeed's messages."""
    return CanalEvents(inputs)


def recognizers() -> Mapping[str, list[Recognizer]]:
    """Return a function that accepts only these messages."""
    return {"canal-json": [CanalJsonReader().read]}
