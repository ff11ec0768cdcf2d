"""Routing: which topic and which partitions each event goes to."""

from __future__ import annotations

from ticdc_emit.routing.partition import partition_of, table_hash
from ticdc_emit.routing.topic import Router, Target

__all__ = ["Router", "Target", "partition_of", "table_hash"]
