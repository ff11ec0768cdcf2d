"""DDL and watermark messages of Avro, which exist for tests only (``avro-enable-watermark``).

Rule sources: semantics 2.1 "Message"; reference ``pingcap/tiflow: pkg/sink/codec/avro/avro.go`` (EncodeDDLEvent,
EncodeCheckpointEvent). A leading byte distinguishes them from rows, whose first byte is 0.
"""

from __future__ import annotations

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.protocols.gojson import json_text
from ticdc_emit.schema.events import DdlEvent

__all__ = ["ddl_message", "watermark_message"]

_DDL, _WATERMARK = b"\x01", b"\x02"


def ddl_message(event: DdlEvent) -> ControlMessage:
    """Return a DDL's message. The statement is printed as given."""
    members = {
        "query": json_text(event.query),
        "type": event.action_code,
        "schema": json_text(event.schema),
        "table": json_text(event.table),
        "commitTs": event.commit_ts,
    }
    text = ",".join(f'"{name}":{value}' for name, value in members.items())
    return ControlMessage(None, _DDL + f"{{{text}}}".encode(), event.commit_ts)


def watermark_message(ts: int) -> ControlMessage:
    """Return the watermark for the TSO ``ts``."""
    return ControlMessage(None, _WATERMARK + ts.to_bytes(8, "big"), ts)
