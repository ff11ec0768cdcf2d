"""The common part of every Debezium value: the ``source`` block and the time of the message.

Rule sources: protocol document "Payload"; semantics 2.4; reference ``pingcap/tiflow:
pkg/sink/codec/debezium/codec.go`` (EncodeValue, EncodeDDLEvent, EncodeCheckpointEvent).
"""

from __future__ import annotations

from ticdc_emit.protocols.connect.jsontext import json_string
from ticdc_emit.tso import physical_ms

__all__ = ["message", "opening", "source_parts"]


def source_parts(cluster_id: str, schema: str, table: str) -> tuple[bytes, bytes, bytes]:
    """Return the text before the commit time (ms), before the TSO, and before the message's time (ms)."""
    cluster = json_string(cluster_id)
    return (
        b'{"source":{"version":"2.4.0.Final","connector":"TiCDC","name":%s,"ts_ms":' % cluster,
        b',"snapshot":"false","db":%s,"table":%s,"server_id":0,"gtid":null,"file":"","pos":0,"row":0,"thread":0,'
        b'"query":null,"commit_ts":' % (json_string(schema), json_string(table)),
        b',"cluster_id":%s},"ts_ms":' % cluster,
    )


def opening(cluster_id: str, schema: str, table: str, ts: int, build_ts: int) -> bytes:
    """Return the payload of a control message up to its time; ``ts`` is its TSO, ``build_ts`` its time in ms."""
    first, second, third = source_parts(cluster_id, schema, table)
    return first + b"%d" % physical_ms(ts) + second + b"%d" % ts + third + b"%d" % build_ts


def message(payload: bytes, schema: bytes | None) -> bytes:
    """Return a key or value: a payload, and its schema unless ``debezium-disable-schema`` is on."""
    return b'{"payload":%s}' % payload if schema is None else b'{"payload":%s,"schema":%s}' % (payload, schema)
