"""Scenarios that break consumers: small histories, each delivered as it was in some real incident, legally.

In: a name, a protocol, a seed. Out: messages in the order of arrival, and what a correct consumer ends up with.
"""

from __future__ import annotations

from ticdc_emit.traffic.scenarios.compare import Difference
from ticdc_emit.traffic.scenarios.feeds import FEEDS, feed_of
from ticdc_emit.traffic.scenarios.library import scenario, scenarios
from ticdc_emit.traffic.scenarios.model import Scenario, ScenarioKind

__all__ = ["FEEDS", "Difference", "Scenario", "ScenarioKind", "feed_of", "scenario", "scenarios"]
