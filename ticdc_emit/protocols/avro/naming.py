"""Names in Avro messages: records, namespaces, fields and subjects.

In: names of tables, columns and topics. Out: what Avro allows of them. Rule sources: semantics 2.1 "Naming"; reference
``pingcap/tiflow: pkg/sink/codec/common/helper.go`` (SanitizeName), ``pkg/sink/codec/avro/avro.go`` (sanitizeTopic).
"""

from __future__ import annotations

import re

__all__ = ["namespace", "sanitize", "subject"]

_OTHER = re.compile(r"[^A-Za-z0-9_]")
_LEADING_DIGIT = re.compile(r"[0-9]")
_CHANGEFEED_NAMESPACE = "default"


def sanitize(name: str) -> str:
    """Return the name with an underscore for every character that Avro refuses, and before a leading digit."""
    clean = _OTHER.sub("_", name)
    return "_" + clean if _LEADING_DIGIT.match(clean) else clean


def namespace(schema: str) -> str:
    """Return the namespace of a record: that of the changefeed, then the database."""
    return f"{_CHANGEFEED_NAMESPACE}.{sanitize(schema)}"


def subject(topic: str, part: str) -> str:
    """Return the subject of a topic's ``key`` or ``value``; dots of the topic would mean something to connectors."""
    return f"{topic.replace('.', '_')}-{part}"
