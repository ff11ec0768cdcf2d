"""The payloads of Debezium's control messages in any encoding: schema changes and watermarks.

In: a DDL event with the table after the statement, or a TSO. Out: JSON text of key and value, nothing for kinds of DDL
that these protocols do not have. Rule sources: protocol document "DDL" and "WATERMARK"; semantics 2.4; reference
``pingcap/tiflow: pkg/sink/codec/debezium/codec.go`` (EncodeDDLEvent, EncodeCheckpointEvent).
"""

from __future__ import annotations

from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.connect.envelope import opening
from ticdc_emit.protocols.connect.jsontext import json_object, json_string
from ticdc_emit.protocols.connect.table_change import table_description
from ticdc_emit.schema.events import DdlEvent

__all__ = ["ddl_payloads", "is_sent", "watermark_payloads"]

_KINDS = {
    "CREATE": ("create schema", "create table", "create tables", "create view"),
    "ALTER": (
        "add column",
        "modify column",
        "drop column",
        "alter table multi-schema change",
        "add partition",
        "alter table remove partitioning",
        "alter table reorganize partition",
        "exchange partition",
        "alter table partition by",
        "truncate partition",
        "drop partition",
        "rebase auto_increment ID",
        "set default value",
        "modify table comment",
        "modify table charset and collate",
        "modify schema charset and collate",
        "add index",
        "alter index visibility",
        "rename index",
        "rename table",
        "rename tables",
        "add primary key",
        "drop primary key",
    ),
    "DROP": ("drop schema", "drop table", "drop index", "drop view", "truncate table"),
}
_KIND_OF_ACTION = {action: kind for kind, actions in _KINDS.items() for action in actions}


def is_sent(event: DdlEvent) -> bool:
    """Return whether a kind of DDL has a message."""
    return event.action in _KIND_OF_ACTION


def ddl_payloads(event: DdlEvent, build_ts: int, cluster_id: str) -> tuple[bytes, bytes] | None:
    """Return key and value of a DDL, ``None`` if its kind is not sent; ``build_ts`` is the wall clock in ms.

    Raises :class:`SchemaError` where TiCDC fails at the statement.
    """
    kind = _KIND_OF_ACTION.get(event.action)
    if kind is None:
        return None
    database = json_object(("databaseName", event.schema))
    value = opening(cluster_id, event.schema, event.table, event.commit_ts, build_ts)
    value += b",%s," % database[1:-1]
    value += b'"schemaName":null,"ddl":%s,"tableChanges":[%s]}' % (json_string(event.query), _change(event, kind))
    return database, value


def watermark_payloads(ts: int, build_ts: int, cluster_id: str) -> tuple[bytes, bytes]:
    """Return key and value of the watermark of the TSO ``ts``; ``build_ts`` is the wall clock in ms."""
    return b"{}", opening(cluster_id, "", "", ts, build_ts) + b',"transaction":null,"op":"m"}'


def _change(event: DdlEvent, kind: str) -> bytes:
    """Return the only element of ``tableChanges``; databases and truncations have none."""
    if not event.table or event.action == "truncate table":
        return b""
    table = None
    if event.action != "drop table":
        if event.table_info is None:
            raise SchemaError(
                "the DDL event has no table",
                remedy="Give the event its table_info",
                table=f"{event.schema}.{event.table}",
            )
        table = table_description(event.table_info, event.query)
    return json_object(("type", kind), ("id", _identity(event)), ("table", table))


def _identity(event: DdlEvent) -> str:
    """Return the table's quoted name; for a renamed table, after the old one."""
    now = f'"{event.schema}"."{event.table}"'
    before, after = event.pre_table_info, event.table_info
    if event.action == "exchange partition" and after is not None:  # whichever of the two the event has
        return f'"{after.schema}"."{after.name}"'
    if event.action != "rename table":
        return now
    if before is None:
        raise SchemaError(
            "the DDL event lacks the table before it was renamed",
            remedy="Give the event its pre_table_info",
            table=f"{event.schema}.{event.table}",
        )
    return f'"{before.schema}"."{before.name}",{now}'
