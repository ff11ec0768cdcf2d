"""Canal-JSON DDL and TIDB_WATERMARK messages.

Rule sources: protocol document, "DDL Event" and "WATERMARK Event"; semantics 2.6; reference ``pingcap/tiflow:
pkg/sink/codec/canal/canal_entry.go`` (convertDdlEventType). These two are Go structs, so ``data`` stands before
``old``.
"""

from __future__ import annotations

from ticdc_emit.protocols.base import ControlMessage, DdlLike
from ticdc_emit.protocols.canal_json.layout import json_string
from ticdc_emit.tso import physical_ms

__all__ = ["ddl_message", "ddl_type", "watermark_message"]

_TYPES = {
    "CREATE": ("create table",),
    "RENAME": ("rename table", "rename tables"),
    "CINDEX": ("add index", "add foreign key", "add primary key"),
    "DINDEX": ("drop index", "drop foreign key", "drop primary key"),
    "ALTER": (
        "add column",
        "drop column",
        "modify column",
        "add columns",
        "drop columns",
        "rebase auto_increment ID",
        "set default value",
        "modify table comment",
        "rename index",
        "add partition",
        "drop partition",
        "truncate partition",
        "modify table charset and collate",
        "alter index visibility",
        "alter table multi-schema change",
        "alter table reorganize partition",
        "alter table partition by",
        "alter table remove partitioning",
    ),
    "ERASE": ("drop table",),
    "TRUNCATE": ("truncate table",),
}
_TYPE_OF_ACTION = {action: kind for kind, actions in _TYPES.items() for action in actions}


def ddl_type(action: str) -> str:
    """Return the Canal event type of a TiDB DDL action; what has none of its own is ``QUERY``."""
    return _TYPE_OF_ACTION.get(action, "QUERY")


def ddl_message(event: DdlLike, build_ts: int, *, extension: bool) -> ControlMessage:
    """Return a DDL's message. The statement is printed as given."""
    return ControlMessage(
        None,
        _envelope(
            event.schema,
            event.table,
            is_ddl=True,
            kind=ddl_type(event.action),
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
