"""The options of Simple from the sink URI, the changefeed and its profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ticdc_emit.config.lineages import SimpleSwitches

__all__ = ["VERSION", "SimpleOptions"]

VERSION = 1
"""The protocol's version, which every message has."""


@dataclass(frozen=True)
class SimpleOptions:
    """Options of both encodings. ``location``: the changefeed's time zone, which every TIMESTAMP names."""

    encoding: Literal["json", "avro"] = "json"
    location: str = "UTC"
    enable_row_checksum: bool = False
    switches: SimpleSwitches = SimpleSwitches()
