"""Canal-JSON records as neutral events, and their images in canonical text."""

from __future__ import annotations

from collections.abc import Hashable

from ticdc_emit.decode.canal_json.reader import CanalDdl, CanalJsonReader, CanalRow, CanalWatermark
from ticdc_emit.decode.canal_json.text import canal_convert, canal_type_converts
from ticdc_emit.decode.claim_check import Claims
from ticdc_emit.decode.event_reader import EventReader, ReaderInputs
from ticdc_emit.decode.events import DdlEvent, Event, Image, RowEvent, RowOp, WatermarkEvent
from ticdc_emit.decode.text_values import Convert, by_column, converted, per_object
from ticdc_emit.schema.model import TableInfo

__all__ = ["CanalEvents"]

_OPS: dict[str, RowOp] = {"INSERT": "insert", "UPDATE": "update", "DELETE": "delete"}


class CanalEvents(EventReader):
    """A reader of Canal-JSON."""

    def __init__(self, inputs: ReaderInputs) -> None:
        handle = inputs.config.codec.large_message_handle
        self._reader = CanalJsonReader(handle.compression, max_decompressed_bytes=inputs.max_decompressed_bytes)
        self._claims = Claims(inputs.claims, self._reader.read, raw_value=handle.claim_check_raw_value)
        self._converts = per_object(_converts_of)

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return the event of a record."""
        message = self._reader.read(key, value)
        if isinstance(message, CanalRow):
            return _row(self._claims.whole(message))
        if isinstance(message, CanalDdl):
            return DdlEvent(message.sql, message.commit_ts, message.database, message.table, message.es, message)
        assert isinstance(message, CanalWatermark)
        return WatermarkEvent(message.commit_ts, message)

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        """Return one image of the event in canonical text."""
        if image is None:
            return None
        if table is None:
            message: CanalRow = event.message
            return converted(image, _shown(image, canal_type_converts(message.mysql_type)), table=event.table)
        return converted(image, self._converts(table), table=event.table)

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        """Return the columns of the handle key."""
        message: CanalRow = event.message
        return message.pk_names if event.key is None else super().key_names(event)

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        """Return the content of the row, without the time of encoding."""
        row: CanalRow = event.message
        old = None if row.old is None else frozenset(row.old.items())
        parts = row.handle_key_only, row.claim_check is not None
        return row.op, row.es, row.commit_ts, frozenset(row.data.items()), old, parts


def _converts_of(table: TableInfo) -> dict[str, Convert]:
    return by_column(table.columns, canal_convert)


def _shown(image: Image, converts: dict[str, Convert]) -> dict[str, Convert]:
    return {name: convert for name, convert in converts.items() if name in image}


def _row(message: CanalRow) -> RowEvent:
    deleted = message.op == "DELETE"
    return RowEvent(
        message.database,
        message.table,
        _OPS[message.op],
        message.commit_ts,
        message.data if deleted else message.old,
        None if deleted else message.data,
        None,
        message.es,
        None,
        message.handle_key_only,
        message.claim_check,
        message,
    )
