"""The two wire formats: how the first bytes of a message name its schema.

Rule sources: semantics 2.1 "Header"; reference ``pingcap/tiflow: pkg/sink/codec/avro/confluent_schema_registry.go`` and
``glue_schema_registry.go`` (getMsgHeader).
"""

from __future__ import annotations

from uuid import UUID

from ticdc_emit.registry.contract import RegisteredSchema

__all__ = ["confluent_schema", "glue_schema"]

_CONFLUENT_MAGIC = b"\x00"
_GLUE_MAGIC = b"\x03\x00"


def confluent_schema(number: int) -> RegisteredSchema:
    """Return the schema of a Confluent id: a zero byte and the id in four bytes, big-endian."""
    return RegisteredSchema(number, _CONFLUENT_MAGIC + number.to_bytes(4, "big"))


def glue_schema(version_id: str) -> RegisteredSchema:
    """Return the schema of an AWS Glue SchemaVersionId: ``03 00`` (no compression) and the 16 bytes of the UUID."""
    return RegisteredSchema(version_id, _GLUE_MAGIC + UUID(version_id).bytes)
