"""Tables from Debezium's messages in Avro: rows come with their schemas, DDL only in tests.

A column that a newer schema lacks is removed. A new column is missing in older rows until they change, because the
schemas have no defaults. The newest schema follows from the rows' commit_ts. A table that the catalog lacks is defined
by its first message.
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.decode.connect.records import DebeziumRow
from ticdc_emit.decode.connect.text import debezium_column
from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.event_reader import EventReader
from ticdc_emit.decode.events import DdlEvent, RowEvent
from ticdc_emit.decode.table_rows import TableRows
from ticdc_emit.decode.tables import Lookup, Outcome, TableName, Tables
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.types import ColumnFlag

__all__ = ["DebeziumAvroTables"]

_KEYED = ColumnFlag.PRIMARY_KEY | ColumnFlag.NOT_NULL


class DebeziumAvroTables(Tables):
    """``catalog``: the tables before the first message."""

    def __init__(self, catalog: Catalog, reader: EventReader, zone: str, lookup: Lookup | None = None) -> None:
        super().__init__(catalog, reader, zone, lookup)
        self._newest: dict[TableName, tuple[int, frozenset[str]]] = {}

    def row(self, event: RowEvent, commit: int | None, place: tuple[str, int]) -> Outcome:
        """Apply a row event. One without a key is :attr:`Outcome.UNKNOWN`."""
        if not event.key:
            return Outcome.UNKNOWN
        name = event.schema, event.table
        if name not in self._tables:
            self._tables[name] = TableRows(_described(event))
        table = self._tables[name]
        key_row = self._reader.image(event, event.key, table.info) or {}
        before = self._reader.image(event, event.before, table.info)
        after = self._reader.image(event, event.after, table.info)
        try:
            key = table.key(key_row)
            old_key = key if before is None else table.key({**key_row, **before})
        except KeyError as fault:
            raise DecodeError(
                "the message does not show the handle key", table=table.info.full_name, field=fault.args[0]
            ) from None
        self._note(event, commit or 0)
        return self._write(event.op, table, (old_key, before or key_row), (key, after), commit, place)

    def ddl(self, event: DdlEvent, commit: int | None) -> None:
        """Apply a statement, which only ``avro-enable-watermark`` sends."""
        super().ddl(event, commit)
        self._newest.clear()

    def finish(self) -> None:
        """Remove columns that the newest schema of a table lacks."""
        for name, (_, shape) in self._newest.items():
            rows = self._tables[name].rows
            for key, row in rows.items():
                if not row.keys() <= shape:
                    rows[key] = {column: value for column, value in row.items() if column in shape}

    def _note(self, event: RowEvent, stamp: int) -> None:
        image = event.after if event.after is not None else event.before
        name = event.schema, event.table
        known = self._newest.get(name)
        if image is not None and (known is None or stamp >= known[0]):
            self._newest[name] = stamp, frozenset(image)


def _described(event: RowEvent) -> TableInfo:
    """Return the table that a message describes."""
    message: DebeziumRow = event.message
    made = map(debezium_column, message.fields or ())
    columns = tuple(
        replace(column, id=number, flags=column.flags | (_KEYED if column.name in message.key else ColumnFlag.NONE))
        for number, column in enumerate(made, 1)
    )
    return TableInfo(event.schema, event.table, 0, columns)
