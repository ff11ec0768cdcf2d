"""A TiDB with TiCDC for tests: :class:`Emulator` in Python, :class:`ControlServer` over HTTP (extra ``serve``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.emulator.emulator import Emulator, PartitionSent, Sent, TrafficState
    from ticdc_emit.emulator.server import ControlServer

__all__ = ["ControlServer", "Emulator", "PartitionSent", "Sent", "TrafficState"]

__getattr__, __dir__ = lazy(__name__)
