"""Debezium's DDL messages and its watermarks (``op`` m; only with ``enable-tidb-extension``): payloads with their
schemas.

In: a DDL event or a TSO. Out: a message. Rule sources: protocol document "DDL" and "WATERMARK"; semantics 2.4.
"""

from __future__ import annotations

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.protocols.connect.change_schema import KEY_SCHEMA, change_value_schema
from ticdc_emit.protocols.connect.control import ddl_payloads, watermark_payloads
from ticdc_emit.protocols.connect.envelope import message
from ticdc_emit.protocols.debezium.connect import key_schema, source_schema, watermark_schema
from ticdc_emit.protocols.debezium.naming import watermark_prefix
from ticdc_emit.protocols.debezium.options import DebeziumOptions
from ticdc_emit.schema.events import DdlEvent

__all__ = ["ddl_message", "watermark_message"]


def ddl_message(event: DdlEvent, build_ts: int, options: DebeziumOptions) -> ControlMessage | None:
    """Return the message of a DDL, ``None`` if its kind is not sent; ``build_ts`` is the wall clock in ms.

    Raises :class:`~ticdc_emit.errors.SchemaError` where TiCDC fails at the statement.
    """
    payloads = ddl_payloads(event, build_ts, options.cluster_id)
    if payloads is None:
        return None
    schemas = (None, None) if options.disable_schema else (KEY_SCHEMA, change_value_schema(source_schema(options)))
    return ControlMessage(message(payloads[0], schemas[0]), message(payloads[1], schemas[1]), event.commit_ts)


def watermark_message(ts: int, build_ts: int, options: DebeziumOptions) -> ControlMessage:
    """Return the watermark of the TSO ``ts``; ``build_ts`` is the wall clock in ms."""
    prefix = watermark_prefix(options.cluster_id)
    key, value = watermark_payloads(ts, build_ts, options.cluster_id)
    schemas = (None, None) if options.disable_schema else (key_schema(prefix, []), watermark_schema(prefix, options))
    return ControlMessage(message(key, schemas[0]), message(value, schemas[1]), ts)
