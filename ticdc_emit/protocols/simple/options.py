"""What the sink URI, the changefeed and its profile say about the Simple protocol, resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ticdc_emit.config.switches import SimpleSwitches

__all__ = ["VERSION", "SimpleOptions"]

VERSION = 1
"""The protocol's version, which every message shows."""


@dataclass(frozen=True)
class SimpleOptions:
    """Options of both encodings. ``location``: the changefeed's time zone, as every TIMESTAMP names it."""

    encoding: Literal["json", "avro"] = "json"
    location: str = "UTC"
    enable_row_checksum: bool = False
    switches: SimpleSwitches = SimpleSwitches()
