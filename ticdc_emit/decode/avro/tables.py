"""Tables from Avro messages: rows come with their schemas, without DDL.

A column that is new in a newer schema has its default in older rows; a column that the schema lacks is removed. The
newest schema follows from the rows' commit_ts or, without it, from their order. A table that the catalog lacks is
defined by its first message, with Avro's names.
"""

from __future__ import annotations

from typing import Any

from ticdc_emit.decode.avro.reader import column_fields
from ticdc_emit.decode.avro.text import avro_default, avro_name, avro_names, avro_table, avro_virtual
from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.event_reader import EventReader
from ticdc_emit.decode.events import DdlEvent, Image, RowEvent
from ticdc_emit.decode.table_rows import Row, TableRows
from ticdc_emit.decode.tables import Lookup, Outcome, TableName, Tables
from ticdc_emit.schema.catalog import Catalog

__all__ = ["AvroTables"]


class AvroTables(Tables):
    """``catalog``: the tables before the first message; its names replace those of Avro."""

    def __init__(self, catalog: Catalog, reader: EventReader, zone: str, lookup: Lookup | None = None) -> None:
        super().__init__(catalog, reader, zone, lookup)
        self._names = self._shown_names()
        self._newest: dict[TableName, tuple[int, Any]] = {}
        self._arrived = 0

    def has_handle_key(self, event: RowEvent) -> bool:
        """Return whether the row has a key."""
        return bool(event.key)

    def row(self, event: RowEvent, commit: int | None, place: tuple[str, int]) -> Outcome:
        """Apply a row event. A delete in a table without handle key has no data, and is :attr:`Outcome.UNKNOWN`."""
        name = self._names.get((event.schema, event.table))
        if name is None or name not in self._tables:
            name = self._learn(event)
        table = self._tables[name]
        shown: Image | None = event.key
        if not shown and not table.info.whole_primary_key:
            # in the new architecture a unique key has no message key, so it is read from the row, if there is one
            shown = event.after if event.after is not None else event.before
            if shown is None:
                return Outcome.UNKNOWN
        if event.after is None and not table.handle:
            return Outcome.UNKNOWN
        key_row = self._reader.image(event, shown, table.info) or {}
        after = self._reader.image(event, event.after, table.info)
        try:
            key = table.key(key_row)
        except KeyError as fault:
            raise DecodeError(
                "the message does not show the handle key", table=table.info.full_name, field=fault.args[0]
            ) from None
        self._note(name, event, commit)
        return self._write(event.op, table, (key, key_row), (key, after), commit, place)

    def ddl(self, event: DdlEvent, commit: int | None) -> None:
        """Apply a statement, which only ``avro-enable-watermark`` sends."""
        super().ddl(event, commit)
        self._names = self._shown_names()
        self._newest.clear()

    def finish(self) -> None:
        """Convert all rows to the newest schema of their table."""
        for name, (_, message) in self._newest.items():
            table = self._tables[name]
            own = avro_names(table.info)
            virtual = avro_virtual(table.info)
            fields = [field for field in column_fields(message.schema) if field["name"] not in virtual]
            names = [own.get(field["name"], field["name"]) for field in fields]
            shape = frozenset(names)
            if all(row.keys() == shape for row in table.rows.values()):
                continue
            defaults: Row = {shown: avro_default(field) for shown, field in zip(names, fields, strict=True)}
            for key, row in table.rows.items():
                table.rows[key] = {shown: row.get(shown, default) for shown, default in defaults.items()}

    def _shown_names(self) -> dict[TableName, TableName]:
        return {(avro_name(schema), avro_name(table)): (schema, table) for schema, table in self._tables}

    def _learn(self, event: RowEvent) -> TableName:
        name = event.schema, event.table
        schema = event.message.schema or event.message.key_schema
        self._tables[name] = TableRows(avro_table(schema, event.key or (), event.schema))
        self._names[name] = name
        return name

    def _note(self, name: TableName, event: RowEvent, commit: int | None) -> None:
        if event.after is None:
            return
        self._arrived += 1
        stamp = self._arrived if commit is None else commit
        known = self._newest.get(name)
        if known is None or stamp >= known[0]:
            self._newest[name] = stamp, event.message
