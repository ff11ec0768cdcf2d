"""The tables of a consumer: rows by handle key, in canonical text, which events and DDL change, in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeAlias

from ticdc_emit.errors import SchemaError, UnknownTableError
from ticdc_emit.protocols.events import FAULTS, OTHER_TABLES, DdlEvent, DecodeError, Image, RowEvent, RowOp
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent as SchemaEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.schema.row_versions import Row, RowConversion
from ticdc_emit.sql.types import FLOAT_TYPES
from ticdc_emit.sql.words import to_lower


class Images(Protocol):
    """Reads the images of events, as :class:`~ticdc_emit.protocols.decoder.EventReader` does."""

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None: ...

    def named(self, event: RowEvent, table: TableInfo) -> RowEvent: ...


class Carrier(RowConversion):
    """Converts the rows of a consumer. A text that is not a value of its column is a :class:`DecodeError`."""

    def converted(self, text: str, name: str, cast: Callable[[str], str]) -> str:
        try:
            return cast(text)
        except FAULTS as fault:
            raise DecodeError(
                f"{text!r:.100} is not a value of the column: {type(fault).__name__}",
                remedy=OTHER_TABLES,
                table=self.table,
                field=name,
            ) from fault


class Redelivery:
    """Knows the rows of a table that one partition has sent."""

    def __init__(self) -> None:
        self._sent: dict[int, Counter[Any]] = {}
        self._run: dict[int, Counter[Any]] = {}
        self._newest = -1

    def is_repeated(self, event: RowEvent, commit: int) -> bool:
        """Return whether the partition has sent the next row before."""
        if commit < self._newest:
            self._run = {}
        self._newest = commit
        row = event.op, _items(event.before), _items(event.after)
        run, sent = self._run.setdefault(commit, Counter()), self._sent.setdefault(commit, Counter())
        run[row] += 1
        if run[row] <= sent[row]:
            return True
        sent[row] = run[row]
        return False

    def begin_again(self) -> None:
        """Treat the next row as the first of a run: the partition went back with messages that are not passed here."""
        self._run = {}

    def forget(self, commit: int) -> None:
        """Forget commits up to this one: later rows at or below it are known repetitions."""
        for known in (self._sent, self._run):
            for old in [each for each in known if each <= commit]:
                del known[old]


def _items(image: Any) -> Any:
    """Return a comparable form: a repetition may have the columns in another order (Simple Avro)."""
    return None if image is None else frozenset(image.items())


RowKey: TypeAlias = "tuple[Any, ...]"


class Change(NamedTuple):
    """The last change of a row: its commit, the rank of its kind in the commit, its partition."""

    commit: int
    rank: int
    place: tuple[str, int]


class TableRows:
    """Rows of the version ``info``; ``since``: the commit_ts (TSO) of its DDL. As in TiDB, 0 and -0 are one key."""

    def __init__(self, info: TableInfo, since: int = 0) -> None:
        self.info = info
        self.since = since
        self.rows: dict[RowKey, Row] = {}
        self.handle = info.handle_key_names
        self.names = frozenset(column.name for column in info.columns)
        self._columns = tuple(column.name for column in info.row_columns)
        self._equal: dict[RowKey, int] = {}
        self._last: dict[RowKey, Change] = {}
        self._floats = [at for at, column in enumerate(info.whole_handle_key) if column.type in FLOAT_TYPES]
        self._float_keys: dict[RowKey, RowKey] = {}  # of the rows, by what is equal in TiDB

    def key(self, row: Mapping[str, Any]) -> RowKey:
        """Return the handle key of a row; :class:`DecodeError` if the row does not show it."""
        try:
            return tuple([row[name] for name in self.handle])
        except KeyError as fault:
            raise DecodeError(
                "the message does not show the handle key",
                remedy=OTHER_TABLES,
                table=self.info.full_name,
                field=fault.args[0],
            ) from None

    def last(self, key: RowKey) -> Change | None:
        """Return the last change of the row of a handle key, including deletes."""
        return self._last.get(self._identity(key))

    def put(self, row: Row, key: RowKey, change: Change | None = None) -> None:
        """Add a row, or replace that of its handle key (``()`` in a table without)."""
        if not self.handle:
            texts = self._texts(row)
            number = self._equal.get(texts, 0)
            self._equal[texts] = number + 1
            place = (*texts, number)
            self.rows[place] = row
            return
        identity = self._identity(key)
        if self._floats:
            self.rows.pop(self._float_keys.get(identity, key), None)
            self._float_keys[identity] = key
        self.rows[key] = row
        if change is not None:
            self._last[identity] = change

    def remove(self, row: Mapping[str, Any] | None, key: RowKey, change: Change | None = None) -> None:
        """Remove a row; one from before the beginning does not exist."""
        if not self.handle:
            texts = self._texts(row or {})
            number = self._equal.get(texts, 0)
            if number:
                self._equal[texts] = number - 1
                place = (*texts, number - 1)
                del self.rows[place]
            return
        identity = self._identity(key)
        self.rows.pop(self._float_keys.pop(identity, key), None)
        if change is not None:
            self._last[identity] = change

    def refilled(self, info: TableInfo, since: int, rows: Iterable[Row], *, same_keys: bool) -> TableRows:
        """Return the rows under another version. ``same_keys``: whether its handle keys are those of this one."""
        refilled_rows = TableRows(info, since)
        for row in rows:
            refilled_rows.put(row, tuple([row.get(name) for name in refilled_rows.handle]))
        if same_keys and refilled_rows.handle:
            refilled_rows._last = self._last
        return refilled_rows

    def _identity(self, key: RowKey) -> RowKey:
        """Return what is equal for keys that are equal in TiDB."""
        if not self._floats:
            return key
        return tuple(["0" if at in self._floats and text == "-0" else text for at, text in enumerate(key)])

    def _texts(self, row: Mapping[str, Any]) -> RowKey:
        return tuple([row.get(name) for name in self._columns])


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

    def __init__(self, catalog: Catalog, reader: Images, zone: str, lookup: Lookup | None = None) -> None:
        self._catalog = catalog
        self._reader = reader
        self._zone = zone
        self._lookup = lookup
        self._tables = {(info.schema, info.name): TableRows(info) for info in catalog.tables() if not info.is_view}
        self._carriers: dict[tuple[int, int], tuple[TableInfo, TableInfo, Carrier]] = {}

    def rows(self) -> dict[TableName, dict[RowKey, Row]]:
        """Return the rows by table and key; later events change these objects."""
        return {name: table.rows for name, table in self._tables.items()}

    def version(self, schema: str, table: str) -> TableInfo:
        return self._tables[schema, table].info

    def has_handle_key(self, event: RowEvent) -> bool:
        """Return whether the row's table is known to have a handle key."""
        table = self._tables.get((event.schema, event.table))
        return table is None or bool(table.handle)

    # -- rows ----------------------------------------------------------------------------------------------------

    def row(self, event: RowEvent, commit: int | None, place: tuple[str, int]) -> Outcome:
        """Apply a row event. ``commit``: its TSO, or the last one of its millisecond, if known. Raises
        :class:`DecodeError`.
        """
        version = self._version(event, commit)
        if version is None:
            return Outcome.UNKNOWN
        table = self._tables.get((event.schema, event.table))
        if table is None or table.info is not version:
            table = next((each for each in self._tables.values() if each.info.id == version.id), None)
        if table is None:
            return Outcome.REPEATED  # the table is gone
        says_which = event.op == "insert" or (event.before is not None if event.op == "update" else bool(event.before))
        if not (table.handle or says_which):
            return Outcome.UNKNOWN
        current = version is table.info
        shown = event.after if event.after is not None else event.before or {}
        if not shown.keys() <= (table.names if current else {column.name for column in version.columns}):
            return Outcome.UNKNOWN
        return self._apply(event, table, version, commit, place)

    def _version(self, event: RowEvent, commit: int | None) -> TableInfo | None:
        """Return the version of the table for rows of a commit; a DDL takes effect after its own commit."""
        table = self._tables.get((event.schema, event.table))
        if commit is None or (table is not None and commit > table.since):
            return None if table is None else table.info
        try:
            return self._catalog.at(event.schema, event.table, commit - 1)
        except UnknownTableError:
            return None

    def _carrier(self, before: TableInfo, after: TableInfo) -> Carrier:
        place = id(before), id(after)
        if place not in self._carriers:
            self._carriers[place] = before, after, Carrier(before, after, self._zone)
        return self._carriers[place][2]

    def _apply(
        self, event: RowEvent, table: TableRows, version: TableInfo, commit: int | None, place: tuple[str, int]
    ) -> Outcome:
        carrier = None if version is table.info else self._carrier(version, table.info)
        after = None
        if event.after is not None:
            after = self._whole(event) or self._reader.image(event, event.after, version) or {}
            after = after if carrier is None else carrier.row(after)
        before = after
        if event.before is not None:
            before = self._reader.image(event, _needed(event, table, version), version) or {}
            before = before if carrier is None else carrier.part(before)
        key = table.key(before if after is None else after)  # type: ignore[arg-type]
        old_key = key if before is None else table.key({**(after or {}), **before})
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
        """Apply a statement. Raises :class:`DecodeError` where it removes rows that the messages do not name."""
        for change in self._made(event, commit or 0):
            self._follow(change, commit or 0)
        self._carriers.clear()

    def _made(self, event: DdlEvent, commit: int) -> tuple[SchemaEvent, ...]:
        try:
            return self._catalog.apply(event.query, schema=event.schema or None, commit_ts=commit, of_job=True)
        except SchemaError as fault:
            try:  # a table that moves to another database: the message names the new one
                return self._catalog.apply(event.query, commit_ts=commit, of_job=True)
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
        old_key, key = ([column.id for column in each.whole_handle_key] for each in (table.info, info))
        self._tables[name] = table.refilled(info, commit, rows, same_keys=old_key == key)

    def _change_partitions(self, event: SchemaEvent, names: set[TableName], commit: int) -> None:
        if any(name in self._tables and self._tables[name].rows for name in names):
            raise rows_unknown(event)
        self._tables |= {name: TableRows(self._catalog.table(*name), commit) for name in names}


def rows_unknown(event: DdlEvent | SchemaEvent) -> DecodeError:
    """Return the error of a statement that takes the rows of partitions away."""
    return DecodeError(
        "the messages do not show which rows are in a partition",
        remedy="Start a new consumer after this statement, or take the table's rows from their source",
        table=f"{event.schema}.{event.table}",
        sql=event.query,
    )


class LearnedTables(Tables):
    """Tables that rows describe where no DDL has. ``catalog``: those before the first message."""

    def __init__(self, catalog: Catalog, reader: Images, zone: str, lookup: Lookup | None = None) -> None:
        super().__init__(catalog, reader, zone, lookup)
        self._newest: dict[TableName, tuple[int, Any]] = {}

    def ddl(self, event: DdlEvent, commit: int | None) -> None:
        super().ddl(event, commit)
        self._newest.clear()

    def _note(self, name: TableName, stamp: int, shape: Any) -> None:
        known = self._newest.get(name)
        if known is None or stamp >= known[0]:
            self._newest[name] = stamp, shape


def _needed(event: RowEvent, table: TableRows, version: TableInfo) -> Image:
    """Return the previous row's handle key, or all of it without one: messages may have only the changed columns."""
    assert event.before is not None
    if not table.handle:
        return {**(event.after or {}), **event.before}
    if version is not table.info:
        return event.before
    return {name: event.before[name] for name in table.handle if name in event.before}
