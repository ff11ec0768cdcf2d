"""Tables whose rows are held in memory: row changes and DDL in, rows by handle key out."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, groupby
from operator import itemgetter
from typing import Any, TypeAlias

from ticdc_emit.changes.model import Op
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.database.expressions import expression_errors
from ticdc_emit.database.partitions import check_partitions, partitions_of
from ticdc_emit.database.row_values import KeyIndex, accepted
from ticdc_emit.errors import (
    HistoryError,
    MissingColumnError,
    MissingImageError,
    SchemaError,
    StatementError,
    UnsupportedStatementError,
)
from ticdc_emit.schema.catalog import Catalog, current_database
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.schema.row_versions import Row, rows_after_ddl
from ticdc_emit.schema.store import TableState
from ticdc_emit.sql.evaluation.values import EvaluationError, NotExactError
from ticdc_emit.sql.nodes.statements import TruncateTable
from ticdc_emit.sql.script import parse_ddl
from ticdc_emit.sql.types import ColumnFlag

Rows: TypeAlias = "dict[tuple[Any, ...], Row]"
"""Rows by the texts of the handle key, in table order; without one, by all texts and the number among equal rows."""

Tables: TypeAlias = "dict[tuple[str, str], Rows]"
"""Rows by (schema, table), including tables without rows."""

_Change: TypeAlias = Mapping[str, Any]
_LOSES_ROWS = frozenset({"drop partition", "truncate partition", "exchange partition"})
_FIRST_INSERT = "Insert the row first, or give begins_empty=False if it was there before the history"
_OTHER_KEY = "Use another key, or delete the row first"
DUPLICATE, IS_REFERRED, OF_OTHER_PARTITION = 1062, 1701, 1737
"""Numbers of TiDB's errors: a unique key that another row has, a table to which a foreign key refers, an exchanged
table with rows of another partition.
"""
_EMPTIES = frozenset({"create table", "truncate table"})


class Database:
    """Holds the rows of tables. ``tables``: the rows so far, ``catalog``: the tables' versions.

    ``checks``: an insert of a row that exists raises :class:`~ticdc_emit.errors.HistoryError`; so does a change of one
    that does not, if all tables begin empty (``begins_empty``).
    """

    def __init__(self, catalog: Catalog, time_zone: str, *, checks: bool = False, begins_empty: bool = True) -> None:
        self._refuses_existing = checks
        self._refuses_missing = checks and begins_empty
        self.catalog = catalog
        self.tables: Tables = {(info.schema, info.name): {} for info in catalog.tables() if not info.is_view}
        self.rendering = Rendering(time_zone)
        self._zone = time_zone
        self._database = current_database(None, catalog)
        self._numbers: dict[int, int] = {}
        self._key_indexes: dict[tuple[str, str], KeyIndex] = {}

    def take(self, changes: Iterable[_Change]) -> None:
        """Take the changes of any number of transactions and tables, in commit order, up to the first error."""
        for _, transaction in groupby(changes, key=itemgetter("commit_ts")):
            by_table: dict[tuple[str, str], list[_Change]] = {}
            for change in transaction:
                by_table.setdefault((change["schema"], change["table"]), []).append(change)
            for own in by_table.values():
                self.commit(own)

    def rows(self, info: TableInfo) -> Rows:
        """Return the rows of a table, also of one that another user of the catalog has created."""
        return self.tables.setdefault((info.schema, info.name), {})

    def last_number(self, state: TableState) -> int:
        """Return the greatest number that a table's AUTO_INCREMENT gave or a row has; from now on it is kept."""
        info = state.info
        if info.id not in self._numbers:
            name = next((each.name for each in info.row_columns if each.flags & ColumnFlag.AUTO_INCREMENT), None)
            rows = self.tables[info.schema, info.name].values() if name is not None else ()
            self._numbers[info.id] = max((int(row[name or ""] or 0) for row in rows), default=0)
        self._numbers[info.id] = max(self._numbers[info.id], state.auto_increment - 1)
        return self._numbers[info.id]

    def reach_number(self, info: TableInfo, number: int) -> None:
        """Let AUTO_INCREMENT give only numbers above this one."""
        self._numbers[info.id] = max(self._numbers[info.id], number)

    def key_index(self, info: TableInfo) -> KeyIndex:
        """Return the rows of a table by their unique keys. Raises ``NotExactError`` and ``EvaluationError``."""
        name = info.schema, info.name
        index = self._key_indexes.get(name)
        if index is None or index.info is not info:
            index = KeyIndex(info, self.rendering)
            rows = self.rows(info)
            for place, identities in zip(rows, index.identities(list(rows.values())), strict=True):
                index.add(identities, place)
            self._key_indexes[name] = index
        return index

    def commit(self, changes: Sequence[_Change]) -> None:
        info = self.catalog.table(changes[0]["schema"], changes[0]["table"])
        rows = self.tables[info.schema, info.name]
        steps = [(_image(change, "before", info), _image(change, "after", info)) for change in changes]
        moves = any(old and new and handle_of(info, old) != handle_of(info, new) for old, new in steps)
        if moves or any(change.get("seq") is None for change in changes):
            moments = [steps]
        else:
            in_order = sorted(zip((change["seq"] for change in changes), steps, strict=True), key=itemgetter(0))
            moments = [[step] for _, step in in_order]
        for moment in moments:
            for old, _ in moment:
                is_missing = old is not None and rows.pop(row_place(rows, info, old, added=True), None) is None
                if is_missing and self._refuses_missing:
                    raise _misfit("updates or deletes a row that does not exist", _FIRST_INSERT, info, old, changes)
            for _, new in moment:
                self.raise_counter(info, new)
                if not add_row(rows, info, new) and self._refuses_existing:
                    raise _misfit("adds a row whose key exists", _OTHER_KEY, info, new, changes)
            self._follow_keys(info, moment)

    def apply(self, commit_ts: int, query: str, *, schema: str | None = None) -> tuple[DdlEvent, ...]:
        """Take a statement that comes after everything so far, and return its events. ``schema``: the current database,
        by default that of all tables. Raises the family of ``SchemaError``.
        """
        before = self._partitioned()
        events = self.catalog.apply(query, schema=schema or self._database, commit_ts=commit_ts)
        for event in events:
            self._follow(event, before)
        return events

    def _partitioned(self) -> dict[int, TableState]:
        return {state.info.id: state for state in self.catalog.states() if state.info.partitions}

    def apply_statement(
        self, query: str, commit_ts: int, *, schema: str | None, sql_mode: str = ""
    ) -> tuple[DdlEvent, ...]:
        """Apply a statement wholly or not at all, and check that the rows that exist fit the tables after it.
        ``schema``: ``None`` for that of the last USE. Raises as :meth:`apply`; ``StatementError`` for a new unique key.
        """
        self._check_referred(query, schema, sql_mode)
        has_rows = any(self.tables.values())
        saved = (copy.deepcopy(self.catalog), dict(self.tables)) if has_rows else None
        try:
            before = self._partitioned()
            events = self.catalog.apply(query, schema=schema, commit_ts=commit_ts, sql_mode=sql_mode)
            for event in events:
                self._follow(event, before)
                self._check_rows(event)
        except (SchemaError, StatementError, UnsupportedStatementError):
            if saved is not None:
                self.catalog, self.tables = saved
                self._key_indexes.clear()
            raise
        return events

    def _check_referred(self, query: str, schema: str | None, sql_mode: str) -> None:
        if "truncate" not in query.lower() or not any(state.foreign_keys for state in self.catalog.states()):
            return
        node = parse_ddl(query, sql_mode)
        if not isinstance(node, TruncateTable):
            return
        own = (node.table.schema or schema or self._database).lower(), node.table.name.lower()
        for state in self.catalog.states():
            named = {(each.lower(), name.lower()) for each, name in (key.parent for key in state.foreign_keys)}
            if own in named and (state.info.schema.lower(), state.info.name.lower()) != own:
                raise StatementError(
                    f"Cannot truncate a table referenced in a foreign key constraint of {state.info.full_name}",
                    remedy="Delete its rows instead, or drop the foreign key first",
                    number=IS_REFERRED,
                )

    def _check_rows(self, event: DdlEvent) -> None:
        info, before = event.table_info, event.pre_table_info
        if info is None or before is None or info.is_view or (info.schema, info.name) not in self.tables:
            return
        rows = list(self.tables[info.schema, info.name].values())
        kinds = {column.name: column.kind for column in before.columns}
        for column in info.row_columns if rows else ():
            if column.kind != kinds.get(column.name):
                try:
                    accepted(column, rows, self.rendering)
                except ValueRefused as fault:
                    raise UnsupportedStatementError(
                        f"a row that exists does not fit the column after it: {fault.reason}",
                        remedy="Change the rows first",
                        table=info.full_name,
                        column=column.name,
                    ) from None
        if rows and info.indexes != before.indexes:
            self._check_new_keys(info, rows)
        if info.partitions != before.partitions:
            check_partitions(self.catalog.state(info.schema, info.name), rows, self.rendering)

    def _check_new_keys(self, info: TableInfo, rows: Sequence[Row]) -> None:
        with expression_errors():
            index = KeyIndex(info, self.rendering)
            identities = index.identities(rows)
        for number, key in enumerate(index.keys):
            found = [own[number] for own in identities if own[number] is not None]
            if len(set(found)) < len(found):
                raise StatementError(
                    f"Duplicate entry for key '{info.name}.{key.name}'",
                    remedy="Change or delete the rows first",
                    number=DUPLICATE,
                    table=info.full_name,
                )

    def _follow_keys(self, info: TableInfo, moment: list[tuple[Row | None, Row | None]]) -> None:
        index = self._key_indexes.pop((info.schema, info.name), None)
        if index is None or index.info is not info or not info.whole_handle_key:
            return
        olds, news = ([row for row in own if row is not None] for own in zip(*moment, strict=True))
        try:
            gone, added = index.identities(olds), index.identities(news)
        except (NotExactError, EvaluationError):
            return  # they are made anew, and refused, when SQL asks again
        for identities in gone:
            index.remove(identities)
        for identities, row in zip(added, news, strict=True):
            index.add(identities, handle_of(info, row))
        self._key_indexes[info.schema, info.name] = index

    def raise_counter(self, info: TableInfo, row: Row | None) -> None:
        for column in info.row_columns if row is not None and info.id in self._numbers else ():
            text = row[column.name] if row is not None and column.flags & ColumnFlag.AUTO_INCREMENT else None
            if text is not None and text.lstrip("-").isdecimal():
                self.reach_number(info, int(text))

    def _change_partitions(
        self, event: DdlEvent, name: tuple[str, str], other: tuple[str, str], before: TableState
    ) -> None:
        after, left, joining = event.table_info, self.tables[name], {} if name == other else self.tables[other]
        assert after is not None
        gone = {partition.name for partition in before.info.partitions if partition not in after.partitions}
        try:
            places, joined = (partitions_of(before, list(rows.values()), self.rendering) for rows in (left, joining))
        except (NotExactError, EvaluationError) as fault:
            raise SchemaError(
                f"it is not known here which rows are in a partition: {fault}",
                remedy="Give the rows that the statement removes as deletes, or leave the statement out",
                table=after.full_name,
                statement=event.query,
            ) from None
        if not gone.issuperset(joined):
            raise StatementError(
                "Found a row that does not match the partition",
                remedy="Change the row, or delete it, first",
                number=OF_OTHER_PARTITION,
            )
        leaving = {key: left[key] for key, place in zip(left, places, strict=True) if place in gone}
        self.tables[name] = {key: row for key, row in left.items() if key not in leaving} | joining
        if name != other:
            self.tables[other] = leaving

    def _follow(self, event: DdlEvent, before_all: Mapping[int, TableState]) -> None:
        info, before = event.table_info, event.pre_table_info
        if event.action == "drop schema":
            self.tables = {name: rows for name, rows in self.tables.items() if name[0] != event.schema}
        if info is None or info.is_view:
            return
        name = info.schema, info.name
        source = name if before is None else (before.schema, before.name)
        if event.action in _LOSES_ROWS:
            self._change_partitions(event, name, source, before_all[info.id])
            return
        rows = self.tables.pop(source, {})
        if event.action == "drop table":
            return
        self.tables[name] = {}
        if event.action not in _EMPTIES and before is not None:
            for row in rows_after_ddl(rows.values(), before, info, self._zone, event.commit_ts):
                add_row(self.tables[name], info, row)


def handle_of(info: TableInfo, row: Row) -> tuple[str | None, ...]:
    """Return the texts of a row's handle key, in table order; ``()`` for a table without one."""
    return tuple(row[column.name] for column in info.whole_handle_key)


def _image(change: _Change, which: str, info: TableInfo) -> Row | None:
    if Op.parse(change["op"]) is (Op.INSERT if which == "before" else Op.DELETE):
        return None
    image = change.get(which)
    if image is None:
        raise MissingImageError(
            f"the change has no {which} image",
            remedy=f"Give the row its {which} image",
            table=info.full_name,
            commit_ts=change["commit_ts"],
        )
    try:
        return {column.name: image[column.name] for column in info.row_columns}
    except KeyError as fault:
        raise MissingColumnError(
            f"the {which} image lacks a column",
            remedy="Give every column of the table's version at that time; None is NULL",
            table=info.full_name,
            column=fault.args[0],
            commit_ts=change["commit_ts"],
        ) from None


def row_place(rows: Rows, info: TableInfo, row: Row, *, added: bool = False) -> tuple[Any, ...]:
    """Return the key of a row among the rows of its table; ``added``: the row is one of them."""
    if handle := handle_of(info, row):
        return handle
    texts = tuple(row.values())
    return *texts, next(number for number in count() if (*texts, number) not in rows) - added


def add_row(rows: Rows, info: TableInfo, row: Row | None) -> bool:
    if row is None:
        return True
    place = row_place(rows, info, row)
    is_free = place not in rows
    rows[place] = row
    return is_free


def _misfit(what: str, remedy: str, info: TableInfo, row: Row | None, changes: Sequence[_Change]) -> HistoryError:
    assert row is not None
    if len(changes) > 1:
        remedy += ". If two changes of one transaction build on each other, give them a seq"
    return HistoryError(
        f"a change of the history {what}",
        remedy=remedy,
        table=info.full_name,
        row={column.name: row[column.name] for column in info.whole_handle_key} or row,
        commit_ts=changes[0]["commit_ts"],
    )
