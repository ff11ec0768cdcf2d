"""Simple records as neutral events, and their images in canonical text."""

from __future__ import annotations

from collections.abc import Hashable

from ticdc_emit.decode.claim_check import Claims
from ticdc_emit.decode.event_reader import EventReader, ReaderInputs
from ticdc_emit.decode.events import BootstrapEvent, DdlEvent, Event, Image, RowEvent, RowOp, WatermarkEvent
from ticdc_emit.decode.members import in_any_order
from ticdc_emit.decode.simple.checksum import check_images
from ticdc_emit.decode.simple.reader import SimpleReader
from ticdc_emit.decode.simple.records import SimpleBootstrap, SimpleDdl, SimpleRow, SimpleTableSchema, SimpleWatermark
from ticdc_emit.decode.simple.tables import SimpleTables
from ticdc_emit.decode.simple.text import simple_convert, simple_table
from ticdc_emit.decode.tables import Lookup, Tables
from ticdc_emit.decode.text_values import Convert, by_column, converted, per_object
from ticdc_emit.errors import UnknownTableError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo

__all__ = ["SimpleEvents"]

_MADE_ANEW = frozenset({"build_ts", "claim_check"})

_OPS: dict[str, RowOp] = {"INSERT": "insert", "UPDATE": "update", "DELETE": "delete"}


class SimpleEvents(EventReader):
    """A reader of either encoding of the Simple protocol.

    Rows do not contain their types. Without a table, the schemas from DDL and BOOTSTRAP messages are used.
    """

    def __init__(self, inputs: ReaderInputs) -> None:
        codec = inputs.config.codec
        handle = codec.large_message_handle
        self._reader = SimpleReader(
            "avro" if codec.encoding_format == "avro" else "json",
            handle.compression,
            max_decompressed_bytes=inputs.max_decompressed_bytes,
        )
        self._claims = Claims(inputs.claims, self._reader.read, raw_value=handle.claim_check_raw_value)
        self._zone = inputs.config.time_zone
        self._handle_key_deletes = codec.delete_only_output_handle_key_columns
        self._shown: dict[tuple[str, str, int], TableInfo] = {}
        self._converts = per_object(self._converts_of)
        self._names = per_object(_names_of)

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return the event of a record."""
        message = self._reader.read(key, value)
        if isinstance(message, SimpleRow):
            return _row(self._claims.whole(message))
        if isinstance(message, SimpleDdl):
            self._learn(message.pre_table_schema)
            self._learn(message.table_schema)
            table = message.table_schema or message.pre_table_schema
            schema, name = ("", "") if table is None else (table.schema, table.table)
            return DdlEvent(message.sql, message.commit_ts, schema, name, None, message)
        if isinstance(message, SimpleBootstrap):
            self._learn(message.table_schema)
            schema_of = message.table_schema
            return BootstrapEvent(schema_of.schema, schema_of.table, schema_of.version, None, message)
        assert isinstance(message, SimpleWatermark)
        return WatermarkEvent(message.commit_ts, message)

    def learn(self, key: bytes | None, value: bytes | None) -> None:
        """Read the table schemas of a record of any kind; raises the errors of :meth:`read`."""
        # a row in JSON is not parsed: most records are rows, and only others contain this name
        if self._reader.encoding == "avro" or self._reader.packed or b"ableSchema" in (value or b""):
            self.read(key, value)

    def knows(self, event: RowEvent) -> bool:
        """Return whether messages have shown the table for the row's version."""
        return self.shown(event) is not None

    def shown(self, event: RowEvent) -> TableInfo | None:
        """Return the table that messages have shown for the row's version, ``None`` if none has."""
        return self._shown.get((event.schema, event.table, event.schema_version or 0))

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        """Return the columns of the handle key; ``()`` for a table without one, or if no message has shown it."""
        return _handle_key(self.shown(event)) if event.key is None else super().key_names(event)

    def likely_key_names(self, event: RowEvent) -> tuple[str, ...]:
        """Return those of the row's version, else of the newest version that messages have shown."""
        versions = [version for *name, version in self._shown if name == [event.schema, event.table]]
        newest = self._shown[event.schema, event.table, max(versions)] if versions else None
        return self.key_names(event) or _handle_key(newest)

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        """Return the content of the row, without the time of encoding."""
        row: SimpleRow = event.message
        members = {name: value for name, value in vars(row).items() if name not in _MADE_ANEW}
        members |= {
            "data": in_any_order(row.data),
            "old": in_any_order(row.old),
            "claimed": row.claim_check is not None,
        }
        return repr(members)

    def check(self, event: RowEvent) -> None:
        """Compare a row with its checksums, if it has all columns and a message has shown its table."""
        stated, table = event.message.checksum, self.shown(event)
        partial = event.handle_key_only or (event.op == "delete" and self._handle_key_deletes)
        if stated is not None and table is not None and not partial:
            check_images(event, stated, table)

    def make_tables(self, catalog: Catalog, zone: str, lookup: Lookup | None) -> Tables:
        """Return tables that follow the schemas in messages."""
        return SimpleTables(catalog, self, zone, lookup)

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        """Return one image of the event in canonical text, in table order: messages show columns by name."""
        if image is None:
            return None
        if table is None:
            table = self.table(event)
        shown = converted(image, self._converts(table), table=event.table)
        ordered = {name: shown[name] for name in self._names(table) if name in shown}
        return ordered if len(ordered) == len(shown) else ordered | shown

    def table(self, event: RowEvent) -> TableInfo:
        """Return the table that messages have shown for the row's version; ``UnknownTableError`` if none has."""
        table = self.shown(event)
        if table is None:
            raise UnknownTableError(
                "no DDL or BOOTSTRAP has shown this version of the table",
                remedy="Read the topic from an earlier offset",
                table=f"{event.schema}.{event.table}",
                version=event.schema_version,
            )
        return table

    def _converts_of(self, table: TableInfo) -> dict[str, Convert]:
        return by_column(table.columns, lambda column: simple_convert(column, self._zone))

    def _learn(self, schema: SimpleTableSchema | None) -> None:
        if schema is not None:
            place = schema.schema, schema.table, schema.version
            if place not in self._shown:
                self._shown[place] = simple_table(schema)


def _handle_key(table: TableInfo | None) -> tuple[str, ...]:
    return () if table is None else tuple(column.name for column in table.whole_handle_key)


def _names_of(table: TableInfo) -> list[str]:
    return [column.name for column in table.row_columns]


def _row(message: SimpleRow) -> RowEvent:
    return RowEvent(
        message.database,
        message.table,
        _OPS[message.op],
        message.commit_ts,
        message.old,
        message.data,
        None,
        None,
        message.schema_version,
        message.handle_key_only,
        message.claim_check,
        message,
    )
