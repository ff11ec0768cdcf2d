"""How Debezium's protocols read values: the time zone of TIMESTAMP values, and differences of the lineages."""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.config.lineages import DebeziumSwitches

__all__ = ["Reading"]


@dataclass(frozen=True)
class Reading:
    """``zone``: the changefeed's time zone, an IANA name."""

    zone: str = "UTC"
    switches: DebeziumSwitches = DebeziumSwitches()
