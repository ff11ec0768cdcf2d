"""A running TiDB with TiCDC that tests drive: an object in Python, and over HTTP for other languages (extra ``serve``).

:class:`Emulator` sends what SQL, row changes, DDL and generated traffic commit, and does what deliveries may do.
:class:`ControlServer` offers it to other processes; ``ticdc-emit serve --control`` starts both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.emulator.emulator import Emulator, PartitionSent, Sent, TrafficState
    from ticdc_emit.emulator.server import ControlServer

__all__ = ["ControlServer", "Emulator", "PartitionSent", "Sent", "TrafficState"]

__getattr__, __dir__ = lazy(__name__)
