"""The options of Debezium from the sink URI, the changefeed, its profile and the server."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ticdc_emit.config.lineages import DebeziumSwitches
from ticdc_emit.protocols.connect.reading import Reading

__all__ = ["DebeziumOptions"]


@dataclass(frozen=True)
class DebeziumOptions:
    """``cluster_id``: TiCDC's own, the first part of every schema's name. ``zone``: the time zone of TIMESTAMP
    values.
    """

    cluster_id: str = "default"
    zone: str = "UTC"
    enable_tidb_extension: bool = False
    disable_schema: bool = False
    output_old_value: bool = True
    include_start_ts: bool = False
    switches: DebeziumSwitches = DebeziumSwitches()

    @cached_property
    def reading(self) -> Reading:
        """How values are read."""
        return Reading(self.zone, self.switches)

    @property
    def extends_source_schema(self) -> bool:
        """Whether the schema of ``source`` has the fields of the TiDB extension."""
        return self.enable_tidb_extension and self.switches.source_schema == "extended"
