"""A schema as registered: its id, and the first bytes of its messages. Rule source: pingcap/tiflow
``pkg/sink/codec/avro`` (getMsgHeader of both registries).
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True)
class RegisteredSchema:
    """``id``: a number (Confluent) or a UUID (AWS Glue); ``header``: the first bytes of every message of the schema."""

    id: int | str
    header: bytes


def confluent_schema(number: int) -> RegisteredSchema:
    """Return the schema of a Confluent id: a zero byte and the id in four bytes, big-endian."""
    return RegisteredSchema(number, b"\x00" + number.to_bytes(4, "big"))


def glue_schema(version_id: str) -> RegisteredSchema:
    """Return the schema of an AWS Glue SchemaVersionId: ``03 00`` (no compression) and the 16 bytes of the UUID."""
    return RegisteredSchema(version_id, b"\x03\x00" + UUID(version_id).bytes)
