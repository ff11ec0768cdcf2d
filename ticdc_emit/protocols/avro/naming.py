"""Names in Avro messages: namespaces and subjects.

Rule sources: semantics 2.1 "Naming"; reference ``pingcap/tiflow: pkg/sink/codec/avro/avro.go`` (getAvroNamespace,
sanitizeTopic).
"""

from __future__ import annotations

from ticdc_emit.protocols.naming import sanitize

__all__ = ["namespace", "subject"]

_CHANGEFEED_NAMESPACE = "default"


def namespace(schema: str) -> str:
    """Return the namespace of a record: that of the changefeed, then the database."""
    return f"{_CHANGEFEED_NAMESPACE}.{sanitize(schema)}"


def subject(topic: str, part: str) -> str:
    """Return the subject of a topic's ``key`` or ``value``; without the topic's dots, which have a meaning for
    connectors.
    """
    return f"{topic.replace('.', '_')}-{part}"
