"""Debezium's records in Avro as neutral events, and their images in canonical text.

In: records. Out: rows, and the DDL and watermarks of ``avro-enable-watermark``. The types in a message suffice, except
for fraction digits and for a FLOAT with a scale. These come from a table, as long as the message's type is still the
table's.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ticdc_emit.decode.connect.events import event_of
from ticdc_emit.decode.connect.records import DebeziumField, DebeziumRow
from ticdc_emit.decode.connect.text import debezium_column, debezium_convert
from ticdc_emit.decode.debezium_avro.reader import DebeziumAvroReader
from ticdc_emit.decode.debezium_avro.tables import DebeziumAvroTables
from ticdc_emit.decode.event_reader import EventReader
from ticdc_emit.decode.events import Event, Image, RowEvent
from ticdc_emit.decode.schemas import SchemaSource
from ticdc_emit.decode.tables import Lookup, Tables
from ticdc_emit.decode.text_values import Convert, converted, decimal_text, raw_text
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import (
    DATE_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    MOMENT_TYPES,
    MySQLType,
)

__all__ = ["DebeziumAvroEvents"]

_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_ALIKE = (INTEGER_TYPES, DATE_TYPES, FLOAT_TYPES)


class DebeziumAvroEvents(EventReader):
    """A reader of Debezium's messages in Avro."""

    def __init__(self, schemas: SchemaSource, zone: str = "UTC") -> None:
        self._reader = DebeziumAvroReader(schemas)
        self._zone = zone
        self._converts: dict[tuple[int, int], tuple[object, object, dict[str, Convert]]] = {}

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return the event of a record."""
        return event_of(self._reader.read(key, value))

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        """Return the content of the row, without the time of encoding."""
        row: DebeziumRow = event.message
        return repr((row.op, row.source, row.key, row.before, row.after))

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        """Return one image of the event in canonical text."""
        if image is None:
            return None
        message: DebeziumRow = event.message
        fields = message.key_fields if image is message.key else message.fields
        return converted(image, self._converts_of(fields or (), table), table=event.table)

    def make_tables(self, catalog: Catalog, zone: str, lookup: Lookup | None) -> Tables:
        """Return tables that learn from the rows' schemas."""
        return DebeziumAvroTables(catalog, self, zone, lookup)

    def _converts_of(self, fields: tuple[DebeziumField, ...], table: TableInfo | None) -> dict[str, Convert]:
        place = id(fields), id(table)
        if place not in self._converts:
            own = {} if table is None else {column.name: column for column in table.columns}
            converts = {field.name: _convert(field, own.get(field.name), self._zone) for field in fields}
            known = {name: convert for name, convert in converts.items() if convert is not None}
            self._converts[place] = fields, table, known  # an object that is kept alive keeps its id
        return self._converts[place][2]


def _convert(field: DebeziumField, own: Column | None, zone: str) -> Convert | None:
    if field.semantic_type == _DECIMAL:
        scale = int(field.parameters["scale"])
        return lambda value: decimal_text(value, scale)
    if field.type == "bytes":
        return _bits if field.semantic_type else raw_text
    if field.semantic_type is None and field.type == "string":
        return None  # also DECIMAL and BIGINT UNSIGNED in text modes
    shown = debezium_column(field)
    return debezium_convert(shown if own is None or not _is_alike(shown, own) else own, zone)


def _is_alike(shown: Column, own: Column) -> bool:
    kind = own.type
    if kind in MOMENT_TYPES or kind is MySQLType.DURATION:
        return kind is shown.type and own.decimal <= shown.decimal
    return kind is shown.type or any(kind in kinds and shown.type in kinds for kinds in _ALIKE)


def _bits(value: Any) -> str:
    return str(int.from_bytes(value, "little"))
