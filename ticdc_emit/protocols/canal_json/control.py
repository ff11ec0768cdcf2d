"""Canal-JSON DDL and TIDB_WATERMARK messages.

Rule sources: protocol document, "DDL Event" and "WATERMARK Event"; semantics 2.6; reference ``pingcap/tiflow:
pkg/sink/codec/canal/canal_entry.go`` (convertDdlEventType). These two are Go structs, so ``data`` comes before ``old``.
"""

from __future__ import annotations

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.protocols.canal_json.layout import json_string
from ticdc_emit.protocols.ddl_kinds import ddl_kind
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.tso import physical_ms

__all__ = ["ddl_message", "watermark_message"]


def ddl_message(event: DdlEvent, build_ts: int, *, extension: bool) -> ControlMessage:
    """Return a DDL's message. The statement is printed as given."""
    return ControlMessage(
        None,
        _envelope(
            event.schema,
            event.table,
            is_ddl=True,
            kind=ddl_kind(event.action),
            ts=event.commit_ts,
            build_ts=build_ts,
            sql=event.query,
            extension=b'"commitTs":%d' % event.commit_ts if event.commit_ts else b"",
            with_extension=extension,
        ),
        event.commit_ts,
    )


def watermark_message(ts: int, build_ts: int) -> ControlMessage:
    """Return the watermark for the TSO ``ts`` (sent with ``enable-tidb-extension`` only)."""
    value = _envelope(
        "",
        "",
        is_ddl=False,
        kind="TIDB_WATERMARK",
        ts=ts,
        build_ts=build_ts,
        sql="",
        extension=b'"watermarkTs":%d' % ts if ts else b"",
        with_extension=True,
    )
    return ControlMessage(None, value, ts)


def _envelope(
    database: str,
    table: str,
    *,
    is_ddl: bool,
    kind: str,
    ts: int,
    build_ts: int,
    sql: str,
    extension: bytes,
    with_extension: bool,
) -> bytes:
    return (
        b'{"id":0,"database":%s,"table":%s,"pkNames":null,"isDdl":%s,"type":"%s","es":%d,"ts":%d,"sql":%s,'
        b'"sqlType":null,"mysqlType":null,"data":null,"old":null%s}'
    ) % (
        json_string(database),
        json_string(table),
        b"true" if is_ddl else b"false",
        kind.encode(),
        physical_ms(ts),
        build_ts,
        json_string(sql),
        b',"_tidb":{%s}' % extension if with_extension else b"",
    )
