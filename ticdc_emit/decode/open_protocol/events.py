"""Records of Open Protocol as neutral events, and their images in canonical text."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from ticdc_emit.decode.claim_check import Claims
from ticdc_emit.decode.event_reader import EventReader, Part, ReaderInputs
from ticdc_emit.decode.events import DdlEvent, Event, Image, RowEvent, WatermarkEvent
from ticdc_emit.decode.open_protocol.reader import OpenProtocolReader
from ticdc_emit.decode.open_protocol.records import OpenColumn, OpenDdl, OpenRow
from ticdc_emit.decode.open_protocol.text import open_convert, open_type_convert
from ticdc_emit.decode.text_values import Convert, by_column, converted, per_object
from ticdc_emit.schema.model import TableInfo

__all__ = ["OpenEvents"]


class OpenEvents(EventReader):
    """A reader of Open Protocol."""

    def __init__(self, inputs: ReaderInputs) -> None:
        handle = inputs.config.codec.large_message_handle
        self._reader = OpenProtocolReader(handle.compression, max_decompressed_bytes=inputs.max_decompressed_bytes)
        self._claims = Claims(inputs.claims, self._reader.read, raw_value=False)
        self._converts = per_object(_converts_of)
        self._told_converts = per_object(_told_converts_of)

    def parts(self, key: bytes | None, value: bytes | None) -> Sequence[Part]:
        """Return one record per row of a record."""
        return self._reader.parts(key, value)

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return the event of a record with one row, a statement or a watermark."""
        message = self._reader.read(key, value)
        if isinstance(message, OpenRow):
            return _row(self._claims.whole(message))
        if isinstance(message, OpenDdl):
            return DdlEvent(message.query, message.commit_ts, message.schema, message.table, message=message)
        return WatermarkEvent(message.commit_ts, message)

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        """Return one image of the event in canonical text."""
        if image is None:
            return None
        message: OpenRow = event.message
        converts = self._told_converts(message.columns) if table is None else self._converts(table)
        return converted(image, converts, table=event.table)

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        """Return the columns of the handle key."""
        message: OpenRow = event.message
        return tuple(name for name, column in message.columns.items() if column.is_handle_key)

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        """Return the content of the row, without the time of encoding."""
        row: OpenRow = event.message
        old = None if row.old is None else frozenset(row.old.items())
        parts = row.handle_key_only, row.claim_check is not None, row.partition
        return row.op, row.commit_ts, frozenset(row.data.items()), old, parts


def _converts_of(table: TableInfo) -> dict[str, Convert]:
    return by_column(table.columns, open_convert)


def _told_converts_of(columns: Mapping[str, OpenColumn]) -> dict[str, Convert]:
    converts = {name: open_type_convert(column) for name, column in columns.items()}
    return {name: convert for name, convert in converts.items() if convert is not None}


def _row(message: OpenRow) -> RowEvent:
    deleted = message.op == "delete"
    return RowEvent(
        message.schema,
        message.table,
        message.op,
        message.commit_ts,
        message.data if deleted else message.old,
        None if deleted else message.data,
        handle_key_only=message.handle_key_only,
        claim_check=message.claim_check,
        message=message,
    )
