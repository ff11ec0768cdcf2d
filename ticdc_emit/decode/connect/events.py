"""Debezium's rows as neutral events, whatever they are encoded in."""

from __future__ import annotations

from ticdc_emit.decode.connect.records import DebeziumRow
from ticdc_emit.decode.events import RowEvent, RowOp

__all__ = ["row_event"]

_OPS: dict[str, RowOp] = {"c": "insert", "u": "update", "d": "delete"}


def row_event(row: DebeziumRow) -> RowEvent:
    """Return what a row says; its record is the event's ``message``."""
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
