"""A TiDB with TiCDC for tests: :class:`Emulator` in Python, :class:`ControlServer` over HTTP (extra ``serve``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.emulator.emulator import Emulator as Emulator
    from ticdc_emit.emulator.emulator import PartitionSent as PartitionSent
    from ticdc_emit.emulator.emulator import Sent as Sent
    from ticdc_emit.emulator.emulator import TrafficState as TrafficState
    from ticdc_emit.emulator.server import ControlServer as ControlServer

__getattr__, __dir__ = lazy(__name__)
