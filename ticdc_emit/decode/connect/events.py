"""Debezium's messages as neutral events, in any encoding."""

from __future__ import annotations

from ticdc_emit.decode.connect.records import DebeziumDdl, DebeziumMessage, DebeziumRow
from ticdc_emit.decode.events import DdlEvent, Event, RowEvent, RowOp, WatermarkEvent

__all__ = ["event_of"]

_OPS: dict[str, RowOp] = {"c": "insert", "u": "update", "d": "delete"}


def event_of(message: DebeziumMessage) -> Event:
    """Return the event of a message, whose record is the event's ``message``."""
    if isinstance(message, DebeziumRow):
        return _row_event(message)
    source = message.source
    if isinstance(message, DebeziumDdl):
        return DdlEvent(message.ddl, source.commit_ts, source.db, source.table, source.ts_ms, message)
    return WatermarkEvent(source.commit_ts, message)


def _row_event(row: DebeziumRow) -> RowEvent:
    source = row.source
    return RowEvent(
        source.db,
        source.table,
        _OPS[row.op],
        source.commit_ts,
        row.before,
        row.after,
        row.key,
        source.ts_ms,
        message=row,
    )
