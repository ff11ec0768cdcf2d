"""The common part of Debezium's messages: the ``source`` block, and the payloads of DDL and watermarks.

In: a DDL event or a TSO. Out: JSON payloads, which Debezium-Avro encodes by their schemas. Rule sources: protocol
document "Payload"; semantics 2.4; reference ``pingcap/tiflow: pkg/sink/codec/debezium/codec.go`` (EncodeValue,
EncodeDDLEvent, EncodeCheckpointEvent).
"""

from __future__ import annotations

from ticdc_emit.columnar.escape import JSONITER, quoted
from ticdc_emit.protocols.debezium_common.schema import CONNECTOR, VERSION
from ticdc_emit.protocols.debezium_common.table_changes import table_change
from ticdc_emit.protocols.json_values import json_value
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.sql.actions import ACTIONS
from ticdc_emit.tso import physical_ms


def source_parts(cluster_id: str, schema: str, table: str) -> tuple[bytes, bytes, bytes]:
    """Return the text before the commit time (ms), before the TSO, and before the message's time (ms)."""
    cluster = quoted(cluster_id, JSONITER)
    return (
        b'{"source":{"version":%s,"connector":%s,"name":%s,"ts_ms":'
        % (quoted(VERSION, JSONITER), quoted(CONNECTOR, JSONITER), cluster),
        b',"snapshot":"false","db":%s,"table":%s,"server_id":0,"gtid":null,"file":"","pos":0,"row":0,"thread":0,'
        b'"query":null,"commit_ts":' % (quoted(schema, JSONITER), quoted(table, JSONITER)),
        b',"cluster_id":%s},"ts_ms":' % cluster,
    )


def _opening(cluster_id: str, schema: str, table: str, ts: int, build_ts: int) -> bytes:
    first, second, third = source_parts(cluster_id, schema, table)
    return first + b"%d" % physical_ms(ts) + second + b"%d" % ts + third + b"%d" % build_ts


def is_sent(event: DdlEvent) -> bool:
    """Return whether a kind of DDL has a message."""
    return bool(ACTIONS[event.action].debezium)


def ddl_payloads(event: DdlEvent, build_ts: int, cluster_id: str) -> tuple[bytes, bytes] | None:
    """Return key and value of a DDL, ``None`` if its kind is not sent; ``build_ts`` is the wall clock in ms.

    Raises :class:`SchemaError` where TiCDC fails at the statement.
    """
    kind = ACTIONS[event.action].debezium
    if not kind:
        return None
    # DROP TABLE names the database as its table did, which RENAME may have put in lower case
    dropped = event.pre_table_info if event.action == "drop table" else None
    database = json_value({"databaseName": dropped.schema if dropped else event.schema}, JSONITER)
    value = _opening(cluster_id, event.schema, event.table, event.commit_ts, build_ts)
    value += b",%s," % database[1:-1]
    value += b'"schemaName":null,"ddl":%s,"tableChanges":[%s]}' % (
        quoted(event.query, JSONITER),
        table_change(event, kind),
    )
    return database, value


def watermark_payloads(ts: int, build_ts: int, cluster_id: str) -> tuple[bytes, bytes]:
    """Return key and value of the watermark of the TSO ``ts``; ``build_ts`` is the wall clock in ms."""
    return b"{}", _opening(cluster_id, "", "", ts, build_ts) + b',"transaction":null,"op":"m"}'
