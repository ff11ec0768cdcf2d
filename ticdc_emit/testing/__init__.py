"""For tests: servers without servers, the check of a consumer, and an emulator that tests drive.

Every test run loads the plugin, so names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.check.run import Failure, Outcome, Verdict, check
    from ticdc_emit.emulator import ControlServer, Emulator, PartitionSent, Sent, TrafficState
    from ticdc_emit.emulator.fixtures import EmulatorMaker
    from ticdc_emit.testing.embedded_kafka import EmbeddedKafka
    from ticdc_emit.testing.embedded_registry import EmbeddedRegistry
    from ticdc_emit.testing.memory_topics import MemoryTopics
    from ticdc_emit.traffic.scenarios import FileScenario, Scenario, Stage

__all__ = [
    "ControlServer",
    "EmbeddedKafka",
    "EmbeddedRegistry",
    "Emulator",
    "EmulatorMaker",
    "Failure",
    "FileScenario",
    "MemoryTopics",
    "Outcome",
    "PartitionSent",
    "Scenario",
    "Sent",
    "Stage",
    "TrafficState",
    "Verdict",
    "check",
]

__getattr__, __dir__ = lazy(__name__)
