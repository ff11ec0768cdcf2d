"""Debezium watermark messages: ``op`` m, sent with ``enable-tidb-extension`` only.

Rule sources: protocol document "WATERMARK"; semantics 2.4; reference ``pingcap/tiflow:
pkg/sink/codec/debezium/codec.go`` (EncodeCheckpointEvent).
"""

from __future__ import annotations

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.protocols.debezium.connect import key_schema, watermark_schema
from ticdc_emit.protocols.debezium.envelope import message, opening
from ticdc_emit.protocols.debezium.naming import watermark_prefix
from ticdc_emit.protocols.debezium.options import DebeziumOptions

__all__ = ["watermark_message"]


def watermark_message(ts: int, build_ts: int, options: DebeziumOptions) -> ControlMessage:
    """Return the watermark of the TSO ``ts``; ``build_ts`` is the wall clock in ms."""
    prefix = watermark_prefix(options.cluster_id)
    payload = opening(options.cluster_id, "", "", ts, build_ts) + b',"transaction":null,"op":"m"}'
    schemas = (None, None) if options.disable_schema else (key_schema(prefix, []), watermark_schema(prefix, options))
    return ControlMessage(message(b"{}", schemas[0]), message(payload, schemas[1]), ts)
