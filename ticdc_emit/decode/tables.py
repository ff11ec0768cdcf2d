"""Tables from messages. In: row events and DDL. Out: rows in canonical text.

A catalog follows the DDL, so a row is read with the version of its table at its commit, and converted to the current
version if there was DDL in between. Row events must come in the order in which to apply them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from ticdc_emit.decode.carried import Carrier
from ticdc_emit.decode.errors import OTHER_TABLES, PARTITIONS_UNKNOWN, DecodeError
from ticdc_emit.decode.events import DdlEvent, Image, RowEvent, RowOp
from ticdc_emit.decode.table_rows import Change, Row, RowKey, TableRows
from ticdc_emit.errors import SchemaError, UnknownTableError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent as SchemaEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.words import to_lower

if TYPE_CHECKING:
    from ticdc_emit.decode.event_reader import EventReader

__all__ = ["Lookup", "Outcome", "TableName", "Tables"]

TableName: TypeAlias = tuple[str, str]
Lookup: TypeAlias = Callable[[RowEvent], "Mapping[str, str | None]"]

_RANKS = {"delete": 0, "update": 1, "insert": 2}  # inside a commit, deletes make room for inserts
_LOSES_ROWS = frozenset({"drop partition", "truncate partition", "exchange partition"})
_EMPTIES = frozenset({"create table", "truncate table"})


class Outcome(Enum):
    """The outcome of a row event: done, done before, or of a table or column that no DDL has shown yet."""

    APPLIED = "applied"
    REPEATED = "repeated"
    UNKNOWN = "unknown"


class Tables:
    """``catalog``: the tables before the first event; it is changed. ``zone``: the changefeed's."""

    def __init__(self, catalog: Catalog, reader: EventReader, zone: str, lookup: Lookup | None = None) -> None:
        self._catalog = catalog
        self._reader = reader
        self._zone = zone
        self._lookup = lookup
        self._tables = {(info.schema, info.name): TableRows(info) for info in catalog.tables() if not info.is_view}
        self._carriers: dict[tuple[int, int], tuple[TableInfo, TableInfo, Carrier]] = {}

    def rows(self) -> dict[TableName, dict[RowKey, Row]]:
        """Return the rows by table and key; later events change these objects."""
        return {name: table.rows for name, table in self._tables.items()}

    def has_handle_key(self, event: RowEvent) -> bool:
        """Return whether the row's table is known to have a handle key."""
        table = self._tables.get((event.schema, event.table))
        return table is None or bool(table.handle)

    # -- rows ----------------------------------------------------------------------------------------------------

    def row(self, event: RowEvent, commit: int | None, place: tuple[str, int]) -> Outcome:
        """Apply a row event. ``commit``: its TSO, or the last one of its millisecond; ``None`` if it is not known.

        Raises :class:`DecodeError` for a message with only the handle key, unless the row is deleted or can be looked
        up, and for values that do not fit their columns.
        """
        table = self._tables.get((event.schema, event.table))
        version = None if table is None else table.info
        if commit is not None and (table is None or commit <= table.since):
            version = self._version(event, commit)
            table = None if version is None else self._with_id(version.id)
        if version is None:
            return Outcome.UNKNOWN
        if table is None:
            return Outcome.REPEATED  # the table is gone
        if not table.handle and not _says_which(event):
            return Outcome.UNKNOWN
        current = version is table.info
        shown = event.after if event.after is not None else event.before or {}
        if not shown.keys() <= (table.names if current else {column.name for column in version.columns}):
            return Outcome.UNKNOWN
        return self._apply(
            event, table, version, None if current else self._carrier(version, table.info), commit, place
        )

    def _version(self, event: RowEvent, commit: int) -> TableInfo | None:
        """Return the version of the table for rows of a commit; a DDL takes effect after its own commit."""
        try:
            return self._catalog.at(event.schema, event.table, commit - 1)
        except UnknownTableError:
            return None

    def _with_id(self, number: int) -> TableRows | None:
        return next((table for table in self._tables.values() if table.info.id == number), None)

    def _carrier(self, before: TableInfo, after: TableInfo) -> Carrier:
        place = id(before), id(after)
        if place not in self._carriers:
            self._carriers[place] = before, after, Carrier(before, after, self._zone)
        return self._carriers[place][2]

    def _apply(
        self,
        event: RowEvent,
        table: TableRows,
        version: TableInfo,
        carrier: Carrier | None,
        commit: int | None,
        place: tuple[str, int],
    ) -> Outcome:
        def text(image: Image) -> Row:
            shown = self._reader.image(event, image, version) or {}
            return shown if carrier is None else carrier.part(shown)

        after = None
        if event.after is not None:
            after = self._whole(event) or self._reader.image(event, event.after, version) or {}
            after = after if carrier is None else carrier.row(after)
        before = after if event.before is None else None
        if event.before is not None:
            before = text(_needed(event, table, version))
        try:
            key = table.key(before if after is None else after)  # type: ignore[arg-type]
            old_key = key if before is None else table.key({**(after or {}), **before})
        except KeyError as fault:
            raise DecodeError(
                "the message does not show the handle key",
                remedy=OTHER_TABLES,
                table=version.full_name,
                field=fault.args[0],
            ) from None
        return self._write(event.op, table, (old_key, before), (key, after), commit, place)

    def _write(
        self,
        op: RowOp,
        table: TableRows,
        old: tuple[RowKey, Row | None],
        new: tuple[RowKey, Row | None],
        commit: int | None,
        place: tuple[str, int],
    ) -> Outcome:
        """Replace the row ``old`` by ``new``, unless a later commit has changed it."""
        (old_key, before), (key, after) = old, new
        rank = _RANKS[op]
        change = None if commit is None else Change(commit, rank, place)
        repeated = False
        if change is not None and table.handle:
            last = table.last(key)
            if last is not None and last.commit >= change.commit:
                if last.commit > change.commit or (last.rank > rank and last.place != place):
                    return Outcome.REPEATED
                repeated = last == change
        if after is None:
            table.remove(before, key, change)
            return Outcome.REPEATED if repeated else Outcome.APPLIED
        if op == "update" and (old_key != key or not table.handle):
            table.remove(before, old_key, change)
        table.put(after, key, change)
        return Outcome.REPEATED if repeated else Outcome.APPLIED

    def _whole(self, event: RowEvent) -> Row | None:
        """Return the row of a message that was too large, ``None`` for any other message."""
        if not event.handle_key_only:
            return None
        if self._lookup is None:
            raise DecodeError(
                "the message has only the handle key of its row",
                remedy="Give claims= for a claim check, or lookup= to read the row from its source",
                table=f"{event.schema}.{event.table}",
                claim_check=event.claim_check,
            )
        return dict(self._lookup(event))

    def finish(self) -> None:
        """Complete the tables when no event follows."""

    # -- DDL -----------------------------------------------------------------------------------------------------

    def ddl(self, event: DdlEvent, commit: int | None) -> None:
        """Apply a statement. Raises :class:`~ticdc_emit.errors.SchemaError` for one that the tables do not allow, and
        :class:`DecodeError` for one that removes rows which the messages do not name.
        """
        for change in self._made(event, commit or 0):
            self._follow(change, commit or 0)
        self._carriers.clear()

    def _made(self, event: DdlEvent, commit: int) -> tuple[SchemaEvent, ...]:
        try:
            return self._catalog.apply(event.query, schema=event.schema or None, commit_ts=commit)
        except SchemaError as fault:
            try:  # a table that moves to another database: the message names the new one
                return self._catalog.apply(event.query, commit_ts=commit)
            except SchemaError:
                raise fault from None

    def _follow(self, event: SchemaEvent, commit: int) -> None:
        info, before = event.table_info, event.pre_table_info
        if event.action == "drop schema":
            schema = to_lower(event.schema)  # after RENAME a table may name its database in lower case
            self._tables = {name: table for name, table in self._tables.items() if to_lower(name[0]) != schema}
        if info is None or info.is_view:
            return
        name = info.schema, info.name
        source = name if before is None else (before.schema, before.name)
        if event.action in _LOSES_ROWS:
            self._change_partitions(event, {name, source}, commit)
            return
        table = self._tables.pop(source, None)
        if event.action == "drop table":
            return
        if table is None or event.action in _EMPTIES:
            self._tables[name] = TableRows(info, commit)
            return
        carrier = Carrier(table.info, info, self._zone)
        rows = map(carrier.row, table.rows.values())
        self._tables[name] = table.refilled(info, commit, rows, same_keys=_same_keys(table.info, info))

    def _change_partitions(self, event: SchemaEvent, names: set[TableName], commit: int) -> None:
        """Apply DROP, TRUNCATE or EXCHANGE PARTITION, which would need the partition of each row."""
        if any(name in self._tables and self._tables[name].rows for name in names):
            raise DecodeError(
                "the messages do not show which rows are in a partition",
                remedy=PARTITIONS_UNKNOWN,
                table=f"{event.schema}.{event.table}",
                sql=event.query,
            )
        self._tables |= {name: TableRows(self._catalog.table(*name), commit) for name in names}


def _says_which(event: RowEvent) -> bool:
    """Return whether a message has the whole previous row; an update without columns has changed none."""
    return event.op == "insert" or (event.before is not None if event.op == "update" else bool(event.before))


def _needed(event: RowEvent, table: TableRows, version: TableInfo) -> Image:
    """Return the needed part of the previous row: its handle key, or all of it in a table without one.

    Messages with only the changed columns do not repeat the others.
    """
    assert event.before is not None
    if not table.handle:
        return {**(event.after or {}), **event.before}
    if version is not table.info:
        return event.before
    return {name: event.before[name] for name in table.handle if name in event.before}


def _same_keys(before: TableInfo, after: TableInfo) -> bool:
    return [column.id for column in before.whole_handle_key] == [column.id for column in after.whole_handle_key]
