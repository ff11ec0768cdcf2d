"""Scenarios that break consumers: small histories, delivered legally, as in real incidents, and the expected tables."""

from __future__ import annotations

from ticdc_emit.traffic.scenarios.comparison import Difference
from ticdc_emit.traffic.scenarios.files import FileScenario, Stage, file_scenario, file_scenarios
from ticdc_emit.traffic.scenarios.library import scenario, scenarios
from ticdc_emit.traffic.scenarios.model import FEEDS, FileScenarioKind, Scenario, ScenarioKind

__all__ = [
    "FEEDS",
    "Difference",
    "FileScenario",
    "FileScenarioKind",
    "Scenario",
    "ScenarioKind",
    "Stage",
    "file_scenario",
    "file_scenarios",
    "scenario",
    "scenarios",
]
