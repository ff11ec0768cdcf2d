"""For tests: servers without servers, the check of a consumer, and an emulator that tests drive.

Every test run loads the plugin, so names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.check.run import Failure as Failure
    from ticdc_emit.check.run import Outcome as Outcome
    from ticdc_emit.check.run import Verdict as Verdict
    from ticdc_emit.check.run import check as check
    from ticdc_emit.emulator.emulator import Emulator as Emulator
    from ticdc_emit.emulator.emulator import PartitionSent as PartitionSent
    from ticdc_emit.emulator.emulator import Sent as Sent
    from ticdc_emit.emulator.emulator import TrafficState as TrafficState
    from ticdc_emit.emulator.fixtures import EmulatorMaker as EmulatorMaker
    from ticdc_emit.emulator.server import ControlServer as ControlServer
    from ticdc_emit.testing.embedded_kafka import EmbeddedKafka as EmbeddedKafka
    from ticdc_emit.testing.embedded_registry import EmbeddedRegistry as EmbeddedRegistry
    from ticdc_emit.testing.memory_topics import MemoryTopics as MemoryTopics
    from ticdc_emit.traffic.scenarios.files import FileScenario as FileScenario
    from ticdc_emit.traffic.scenarios.files import Stage as Stage
    from ticdc_emit.traffic.scenarios.model import Scenario as Scenario

__getattr__, __dir__ = lazy(__name__)
