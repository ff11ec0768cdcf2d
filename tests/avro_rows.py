"""A row of Avro as the tests of checksums look at it: its value, schema and checksum, by the reader of the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticdc_emit.protocols.avro.decoder import AvroMessage, AvroReader, verify_checksum


class AvroRow:
    """One row change. ``value``: the row after it; ``schema`` and ``fields``: those of the message's value."""

    def __init__(self, reader: AvroReader, key: bytes | None, value: bytes | None) -> None:
        event = reader.read(key, value)
        message: AvroMessage = event.message
        self.event, self.value, self.fields, self.schema = event, event.after, message.fields, message.schema
        stated: Mapping[str, Any] = message.fields or {}
        self.checksum: str | None = stated.get("_tidb_row_level_checksum") or None
        self.corrupted: bool | None = stated.get("_tidb_corrupted")
        self.checksum_version: int | None = stated.get("_tidb_checksum_version")

    def verify(self, zone: str = "UTC") -> int | None:
        return None if self.schema is None else verify_checksum(self.fields, self.schema, zone)
