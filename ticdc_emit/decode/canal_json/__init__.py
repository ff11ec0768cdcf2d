"""Canal-JSON, read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.decode.canal_json.events import CanalEvents
from ticdc_emit.decode.canal_json.reader import CanalDdl, CanalJsonReader, CanalMessage, CanalRow, CanalWatermark
from ticdc_emit.decode.event_reader import EventReader, Recognizer
from ticdc_emit.decode.schemas import SchemaSource

__all__ = [
    "CanalDdl",
    "CanalJsonReader",
    "CanalMessage",
    "CanalRow",
    "CanalWatermark",
    "make_reader",
    "recognizers",
]


def make_reader(
    config: ChangefeedConfig,
    schemas: SchemaSource | None,
    claims: Callable[[str], bytes] | None,
    max_decompressed_bytes: int,
) -> EventReader:
    """Return the reader of a changefeed's messages."""
    return CanalEvents(config, claims, max_decompressed_bytes)


def recognizers() -> Mapping[str, list[Recognizer]]:
    """Return what takes these messages, and no others."""
    return {"canal-json": [CanalJsonReader().read]}
