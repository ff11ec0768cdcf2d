"""The options of Debezium in Avro from the sink URI, the changefeed, its profile and the server."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ticdc_emit.config.lineages import DebeziumSwitches
from ticdc_emit.protocols.connect.reading import Reading

__all__ = ["DebeziumAvroOptions"]


@dataclass(frozen=True)
class DebeziumAvroOptions:
    """``cluster_id``: TiCDC's own, the first part of every record's namespace. ``zone``: the time zone of TIMESTAMP
    values.
    """

    cluster_id: str = "default"
    zone: str = "UTC"
    enable_tidb_extension: bool = False
    enable_watermark: bool = False
    output_old_value: bool = True
    decimal_handling_mode: Literal["precise", "string"] = "precise"
    bigint_unsigned_handling_mode: Literal["long", "string"] = "long"
    switches: DebeziumSwitches = DebeziumSwitches()

    @cached_property
    def reading(self) -> Reading:
        """How values are read."""
        return Reading(self.zone, self.switches)
