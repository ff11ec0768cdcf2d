"""Avro records as neutral events, and their images in canonical text.

Rows come with their types, so a table adds only the original names (schemas have ``_`` for characters that Avro does
not allow) and which columns are virtual. Virtual columns are missing from rows or, in one lineage, always NULL.
``avro-enable-watermark``, which exists for tests, also sends DDL and watermarks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticdc_emit.decode.avro.checksum import has_doubtful_labels
from ticdc_emit.decode.avro.reader import AvroReader, AvroRow, column_fields
from ticdc_emit.decode.avro.tables import AvroTables
from ticdc_emit.decode.avro.text import avro_convert, avro_names, avro_virtual
from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.event_reader import EventReader
from ticdc_emit.decode.events import DdlEvent, Event, Image, RowEvent, RowOp, WatermarkEvent
from ticdc_emit.decode.members import document, member, tso
from ticdc_emit.decode.schemas import SchemaSource
from ticdc_emit.decode.tables import Lookup, Tables
from ticdc_emit.decode.text_values import Convert, converted, per_object
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo

__all__ = ["AvroEvents"]

_OPS: dict[str | None, RowOp] = {"c": "insert", "u": "update", "d": "delete", None: "insert"}
_NAMESPACE = "default."
_DDL, _WATERMARK = b"\x01", b"\x02"


class AvroEvents(EventReader):
    """A reader of Avro messages.

    Without the TiDB extension, inserts and updates look alike: both are ``insert``.
    """

    def __init__(self, schemas: SchemaSource, zone: str = "UTC") -> None:
        self._reader = AvroReader(schemas)
        self._zone = zone
        self._converts = per_object(_converts_of)
        self._names = per_object(avro_names)
        self._virtual = per_object(avro_virtual)

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return what a record says."""
        if not key and value and value[:1] in (_DDL, _WATERMARK):
            return _control(value)
        message = self._reader.read(key, value)
        namespace = message.namespace.removeprefix(_NAMESPACE)
        return RowEvent(
            namespace,
            message.table,
            _OPS[message.op],
            message.commit_ts,
            message.key if message.op == "d" and message.before is None else message.before,
            message.value,
            message.key,
            message.commit_physical_ms,
            message=message,
        )

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        """Return one image of the event in canonical text."""
        if image is None:
            return None
        message: AvroRow = event.message
        schema = message.key_schema if image is message.key else message.schema
        assert schema is not None
        shown = converted(image, self._converts(schema), table=event.table)
        if table is None:
            return shown
        names, virtual = self._names(table), self._virtual(table)
        if virtual:
            shown = {name: value for name, value in shown.items() if name not in virtual}
        return {names.get(name, name): value for name, value in shown.items()} if names else shown

    def check(self, event: RowEvent) -> None:
        """Compare a row with its checksum, unless its labels are ambiguous in its schema."""
        message: AvroRow = event.message
        try:
            message.verify(self._zone)
        except DecodeError:
            if message.schema is None or not has_doubtful_labels(message.schema):
                raise

    def make_tables(self, catalog: Catalog, zone: str, lookup: Lookup | None) -> Tables:
        """Return tables that learn from the rows' schemas."""
        return AvroTables(catalog, self, zone, lookup)


def _converts_of(schema: Mapping[str, Any]) -> dict[str, Convert]:
    return {field["name"]: convert for field in column_fields(schema) if (convert := avro_convert(field)) is not None}


def _control(value: bytes) -> Event:
    if value[:1] == _WATERMARK:
        if len(value) != 9:
            raise DecodeError("a watermark has 9 bytes", part="value")
        return WatermarkEvent(int.from_bytes(value[1:], "big"))
    members = document(value[1:], "value")
    query, commit_ts = member(members, "query", str), tso(members, "commitTs")
    return DdlEvent(query, commit_ts, member(members, "schema", str), member(members, "table", str))
