"""Scenarios that break consumers: small histories, delivered legally, as in real incidents.

In: a name, a protocol, a seed. Out: messages in the order of arrival, and the expected tables of a correct consumer.
"""

from __future__ import annotations

from ticdc_emit.traffic.scenarios.comparison import Difference
from ticdc_emit.traffic.scenarios.library import scenario, scenarios
from ticdc_emit.traffic.scenarios.model import FEEDS, Scenario, ScenarioKind, feed_of

__all__ = ["FEEDS", "Difference", "Scenario", "ScenarioKind", "feed_of", "scenario", "scenarios"]
