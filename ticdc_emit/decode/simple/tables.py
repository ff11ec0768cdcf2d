"""Tables from Simple messages, for a consumer that starts anywhere without a catalog.

A table that the catalog lacks is defined by DDL or BOOTSTRAP messages, from the version on that the row or statement
names. Statements are applied as in every protocol. If a statement concerns something that messages do not have
(partitions, foreign keys), the table in the message is used, and columns are matched by name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ticdc_emit.decode.errors import PARTITIONS_UNKNOWN, DecodeError
from ticdc_emit.decode.events import DdlEvent, RowEvent
from ticdc_emit.decode.simple.records import SimpleDdl
from ticdc_emit.decode.simple.text import simple_table
from ticdc_emit.decode.table_rows import TableRows
from ticdc_emit.decode.tables import Lookup, Outcome, Tables
from ticdc_emit.errors import SchemaError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent as SchemaEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.nodes.alter import ChangePartitions, ExchangePartition
from ticdc_emit.sql.nodes.statements import AlterTable
from ticdc_emit.sql.script import parse_ddl

if TYPE_CHECKING:
    from ticdc_emit.decode.simple.events import SimpleEvents

__all__ = ["SimpleTables"]


class SimpleTables(Tables):
    """``catalog``: tables before the first event, if any are known; it is changed."""

    def __init__(self, catalog: Catalog, reader: SimpleEvents, zone: str, lookup: Lookup | None = None) -> None:
        super().__init__(catalog, reader, zone, lookup)
        self._events = reader

    def has_handle_key(self, event: RowEvent) -> bool:
        """Return whether the row's table is known to have a handle key."""
        shown = self._events.shown(event) if (event.schema, event.table) not in self._tables else None
        return super().has_handle_key(event) if shown is None else bool(shown.whole_handle_key)

    def row(self, event: RowEvent, commit: int | None, place: tuple[str, int]) -> Outcome:
        """Apply a row event; :attr:`Outcome.UNKNOWN` for one of a version that no message has shown yet."""
        if (event.schema, event.table) not in self._tables and self._version(event, commit or 0) is None:
            shown = self._events.shown(event)
            if shown is not None:
                self._adopt(_without_hidden_keys(shown, event))
        return super().row(event, commit, place)

    def _made(self, event: DdlEvent, commit: int) -> tuple[SchemaEvent, ...]:
        try:
            return super()._made(event, commit)
        except SchemaError:
            message: SimpleDdl = event.message
            for schema in (message.pre_table_schema, message.table_schema):
                self._catalog.ensure_database("" if schema is None else schema.schema)
            if message.pre_table_schema is not None:
                self._adopt(simple_table(message.pre_table_schema))
        try:
            return super()._made(event, commit)
        except SchemaError:
            return self._as_told(event, message, commit)

    def _adopt(self, info: TableInfo) -> None:
        if (info.schema, info.name) not in self._tables and self._catalog.adopt(info, commit_ts=info.version):
            self._tables[info.schema, info.name] = TableRows(info, info.version)

    def _as_told(self, event: DdlEvent, message: SimpleDdl, commit: int) -> tuple[SchemaEvent, ...]:
        """Return the effect of a statement that the catalog cannot apply, from the table in the message."""
        if message.table_schema is None:
            return ()  # for a database whose tables are not known
        before = self._tables.get((event.schema, event.table))
        info = simple_table(message.table_schema)
        if before is not None:
            if before.rows and _loses_rows(event.query):
                raise DecodeError(
                    "the messages do not show which rows are in a partition",
                    remedy=PARTITIONS_UNKNOWN,
                    table=f"{event.schema}.{event.table}",
                    sql=event.query,
                )
            info = _continuing(before.info, info)
        self._catalog.adopt(info, commit_ts=commit)
        old = None if before is None else before.info
        return (SchemaEvent(event.query, "alter table", info.schema, info.name, info, old, commit),)


def _without_hidden_keys(info: TableInfo, event: RowEvent) -> TableInfo:
    """Return a table without indexes over virtual columns, which rows do not have."""
    image = event.after if event.after is not None else event.before or {}
    if event.handle_key_only:
        return info
    shown = tuple(index for index in info.indexes if image.keys() >= set(index.columns))
    return replace(info, indexes=shown)


def _continuing(before: TableInfo, info: TableInfo) -> TableInfo:
    """Return a version of a table whose columns have the ids of the previous columns of the same name.

    Virtual columns stay virtual: messages list them like others, and no statement makes them stored.
    """
    known = {column.name.lower(): column for column in before.columns}
    last = max((column.id for column in before.columns), default=0)
    columns = []
    for column in info.columns:
        previous = known.get(column.name.lower())
        if previous is None:
            columns.append(replace(column, id=last + column.id))
        elif previous.is_virtual:
            virtual = replace(column, generated=previous.generated, generated_expr=previous.generated_expr)
            columns.append(replace(virtual, id=previous.id))
        else:
            columns.append(replace(column, id=previous.id))
    return replace(info, columns=tuple(columns))


def _loses_rows(query: str) -> bool:
    """Return whether the statement takes rows of a partition away: DROP, TRUNCATE or EXCHANGE PARTITION."""
    try:
        statement = parse_ddl(query)
    except SchemaError:
        return False
    return isinstance(statement, AlterTable) and any(
        isinstance(spec, ExchangePartition)
        or (isinstance(spec, ChangePartitions) and spec.kind in ("drop", "truncate"))
        for spec in statement.specs
    )
