"""Simple in both encodings, read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from ticdc_emit.decode.event_reader import EventReader, ReaderInputs, Recognizer
from ticdc_emit.decode.simple.events import SimpleEvents
from ticdc_emit.decode.simple.reader import SimpleReader
from ticdc_emit.errors import MissingDependencyError

__all__ = ["SimpleReader", "make_reader", "recognizers"]


def make_reader(inputs: ReaderInputs) -> EventReader:
    """Return the reader of a changefeed's messages."""
    return SimpleEvents(inputs)


def recognizers() -> Mapping[str, list[Recognizer]]:
    """Return functions that accept only these messages; without fastavro, only JSON."""
    readers: dict[str, list[Recognizer]] = {"simple-json": [SimpleReader("json").read]}
    with suppress(MissingDependencyError):
        readers["simple-avro"] = [SimpleReader("avro").read]
    return readers
