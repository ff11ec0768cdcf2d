"""How Debezium's protocols read values: whose clocks TIMESTAMP values are of, and where the lineages differ."""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.config.switches import DebeziumSwitches

__all__ = ["Reading"]


@dataclass(frozen=True)
class Reading:
    """``zone``: the changefeed's time zone, an IANA name."""

    zone: str = "UTC"
    switches: DebeziumSwitches = DebeziumSwitches()
