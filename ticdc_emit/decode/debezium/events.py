"""Debezium records as neutral events, and their images in canonical text."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ticdc_emit.decode.connect.events import event_of
from ticdc_emit.decode.connect.records import DebeziumRow
from ticdc_emit.decode.connect.text import debezium_column, debezium_convert
from ticdc_emit.decode.debezium.reader import DebeziumReader
from ticdc_emit.decode.event_reader import EventReader, ReaderInputs
from ticdc_emit.decode.events import Event, Image, RowEvent
from ticdc_emit.decode.members import in_any_order
from ticdc_emit.decode.text_values import Convert, by_column, converted, per_object
from ticdc_emit.schema.model import Column, TableInfo

__all__ = ["DebeziumEvents"]


class DebeziumEvents(EventReader):
    """A reader of Debezium messages with and without schema.

    Without a schema and without a table, values stay as JSON prints them.
    """

    def __init__(self, inputs: ReaderInputs) -> None:
        codec = inputs.config.codec
        has_schema = not codec.debezium_disable_schema
        self._reader = DebeziumReader(
            has_schema,
            codec.large_message_handle.compression,
            typed=False,
            max_decompressed_bytes=inputs.max_decompressed_bytes,
        )
        self._zone = inputs.config.time_zone
        self._converts = per_object(self._converts_of_table)

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return the event of a record."""
        return event_of(self._reader.read(key, value))

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        """Return the content of the row, without the time of encoding."""
        row: DebeziumRow = event.message
        images = in_any_order(row.key), in_any_order(row.before), in_any_order(row.after)
        return repr((row.op, row.source, images))

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        """Return one image of the event in canonical text."""
        if image is None:
            return None
        if table is not None:
            return converted(image, self._converts(table), table=event.table)
        message: DebeziumRow = event.message
        if message.fields is None:
            return {name: None if value is None else str(value) for name, value in image.items()}
        columns = [debezium_column(field) for field in message.fields if field.name in image]
        return converted(image, self._converts_of(columns), table=event.table)

    def _converts_of_table(self, table: TableInfo) -> dict[str, Convert]:
        return self._converts_of(table.columns)

    def _converts_of(self, columns: Iterable[Column]) -> dict[str, Convert]:
        return by_column(columns, lambda column: debezium_convert(column, self._zone))
