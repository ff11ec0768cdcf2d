"""Names of Kafka Connect schemas: ``<cluster>.<database>.<table>.Envelope`` and others.

Rule sources: protocol document "Schema"; reference ``pingcap/tiflow: pkg/sink/codec/common/helper.go`` (SanitizeName,
SanitizeTopicName), ``pkg/sink/codec/debezium/helper.go`` (getSchemaTopicName).
"""

from __future__ import annotations

import re

from ticdc_emit.protocols.naming import sanitize
from ticdc_emit.schema.model import TableInfo

__all__ = ["table_prefix", "watermark_prefix"]

_NO_TOPIC_CHARACTER = re.compile(r"[^A-Za-z0-9_.]")


def table_prefix(cluster_id: str, table: TableInfo) -> str:
    """Return the prefix of a table's schema names; the table's name keeps its dots and leading digits."""
    return f"{sanitize(cluster_id)}.{sanitize(table.schema)}.{_NO_TOPIC_CHARACTER.sub('_', table.name)}"


def watermark_prefix(cluster_id: str) -> str:
    """Return the prefix of a watermark's schema names."""
    return f"{sanitize(cluster_id)}.watermark"
