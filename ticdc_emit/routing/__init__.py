"""Routing: which topic and which partitions each event goes to, and which columns appear in messages."""

from __future__ import annotations

from ticdc_emit.delivery.base import Target
from ticdc_emit.routing.partitions import Hashed, PartitionRule, partition_of, partitions_of, table_hash
from ticdc_emit.routing.selectors import ColumnSelectors
from ticdc_emit.routing.topics import Router

__all__ = [
    "ColumnSelectors",
    "Hashed",
    "PartitionRule",
    "Router",
    "Target",
    "partition_of",
    "partitions_of",
    "table_hash",
]
