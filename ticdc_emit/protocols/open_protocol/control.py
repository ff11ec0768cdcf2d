"""DDL messages and watermarks ("resolved" in the reference).

Rule source: reference ``pingcap/tiflow: pkg/sink/codec/open/open_protocol_message.go``, ``pingcap/ticdc:
pkg/sink/codec/open/codec.go``. Both have their commit_ts in the key. A DDL has its statement and TiDB's number of its
kind in the value.
"""

from __future__ import annotations

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.config.lineages import OpenSwitches
from ticdc_emit.protocols.open_protocol.framing import framed_key, framed_value
from ticdc_emit.protocols.open_protocol.options import json_string
from ticdc_emit.schema.events import DdlEvent

__all__ = ["ddl_message", "name_members", "watermark_message"]


def name_members(schema: str, table: str, switches: OpenSwitches) -> bytes:
    """Return a key's members with the names of schema and table."""
    names = ((b"scm", schema), (b"tbl", table))
    return b"".join(
        b',"%s":%s' % (member, json_string(name, switches))
        for member, name in names
        if name or switches.empty_names == "shown"
    )


def ddl_message(event: DdlEvent, switches: OpenSwitches) -> ControlMessage:
    """Return a DDL's message. The statement is printed as given."""
    key = b'{"ts":%d%s,"t":2}' % (event.commit_ts, name_members(event.schema, event.table, switches))
    value = b'{"q":%s,"t":%d}' % (json_string(event.query, switches), event.action_code)
    return ControlMessage(framed_key(key), framed_value(value), event.commit_ts)


def watermark_message(ts: int) -> ControlMessage:
    """Return the watermark for the TSO ``ts``."""
    return ControlMessage(framed_key(b'{"ts":%d,"t":3}' % ts), framed_value(b""), ts)
