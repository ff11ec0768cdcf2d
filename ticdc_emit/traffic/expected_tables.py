"""The expected tables: a history folded into the final rows of its tables, DDL included.

In: a catalog, row changes in canonical text, statements with their commit_ts. Out: rows by handle key, optionally as a
protocol's messages show them. Nothing is read from messages: this is the independent judge of every consumer.

A DDL changes the rows that exist as TiDB shows them afterwards. A column is the same if it has the same id or, if
MODIFY COLUMN gave it a new id, the same name. Rule sources: pingcap/tidb ``pkg/table/column.go``
(``GetColOriginDefaultValue``, ``GetZeroValue``), ``pkg/types`` (casts).
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from itertools import groupby
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import pyarrow as pa

from ticdc_emit.changes.model import Op
from ticdc_emit.columnar.binary_text import go_quoted_json
from ticdc_emit.columnar.escape import GO_STD
from ticdc_emit.columnar.strings import label_number
from ticdc_emit.config.protocols import BinaryForm, ProtocolSpec, spec_of
from ticdc_emit.errors import HistoryError, MissingColumnError, MissingImageError, SchemaError
from ticdc_emit.pipeline.ddl import current_database
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.defaults import float_text
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import (
    BLOB_TYPES,
    FLOAT_TYPES,
    FSP_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    STRING_TYPES,
    TEMPORAL_TYPES,
    TYPES,
    MySQLType,
)

Row: TypeAlias = "dict[str, str | None]"
"""The values of a row's columns in canonical text, ``None`` for NULL."""

_Cast: TypeAlias = Callable[[str], str]
_SAME_TEXT = frozenset({MySQLType.YEAR, MySQLType.JSON, MySQLType.DATE, MySQLType.NEWDATE, MySQLType.DOUBLE})
_DIGITS = Context(prec=65)  # of a DECIMAL
_REPLACEMENT = "\ufffd"  # TiDB's replacement in a default that is not UTF-8
_ZERO_DAY = "0000-00-00"


def rows_after_ddl(rows: Iterable[Row], before: TableInfo, after: TableInfo, time_zone: str) -> Iterator[Row]:
    """Yield each row with the columns of ``after``, in their order.

    Raises :class:`SchemaError` if a column's values cannot be known and there are rows.
    """
    makers: list[tuple[str, Callable[[Row], str | None]]] | None = None
    for row in rows:
        if makers is None:
            makers = [(column.name, _maker(column, before, after, time_zone)) for column in after.row_columns]
        yield {name: make(row) for name, make in makers}


def _maker(column: Column, before: TableInfo, after: TableInfo, zone: str) -> Callable[[Row], str | None]:
    old = next((other for other in before.row_columns if other.id == column.id), None)
    if old is None:
        ids_after = {other.id for other in after.columns}
        gone = (other for other in before.row_columns if other.id not in ids_after)
        old = next((other for other in gone if other.name.lower() == column.name.lower()), None)
    if old is None:
        value = value_of_old_rows(column, zone)
        return lambda row: value
    source, cast = old.name, _cast(old, column)

    def converted(row: Row) -> str | None:
        text = row[source]
        return None if text is None else cast(text)

    return converted


# -- MODIFY COLUMN ---------------------------------------------------------------------------------------------------


def _cast(old: Column, new: Column) -> _Cast:
    """Return the conversion of a value of ``old`` to ``new``, if its text stays or only gains zeros."""
    kinds = {old.type, new.type}
    if kinds <= INTEGER_TYPES or (old.type is new.type and new.type in _SAME_TEXT):
        return _same
    if kinds <= STRING_TYPES and old.is_binary == new.is_binary:
        return _characters(new)
    if old.type is MySQLType.FLOAT and new.type in FLOAT_TYPES:
        return _same if new.type is old.type else lambda text: float_text(_single(float(text)))
    if old.type is new.type:
        if new.type is MySQLType.NEWDECIMAL and new.decimal >= old.decimal:
            return lambda text: _with_fraction(text, new.decimal)
        if new.type in FSP_TYPES and new.fraction_digits >= old.fraction_digits:
            return lambda text: _with_fraction(text, new.fraction_digits)
        if new.type in LABEL_TYPES and new.elems[: len(old.elems)] == old.elems:
            return _same
        if new.type in (MySQLType.BIT, MySQLType.VECTOR_FLOAT32):
            return _same
    raise SchemaError(
        "existing rows get values of another kind, which the history does not contain",
        remedy="Give the column a wider type of the same kind, or the rows' new values as updates of a new column",
        column=new.name,
    )


def _same(text: str) -> str:
    return text


def _characters(new: Column) -> _Cast:
    if new.type is not MySQLType.STRING:
        return _same
    if new.is_binary:
        return lambda text: _base64(base64.b64decode(text).ljust(new.flen, b"\0"))
    return lambda text: text.rstrip(" ")  # CHAR loses trailing blanks


def _with_fraction(text: str, digits: int) -> str:
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.ljust(digits, '0')}" if digits else whole


def _single(value: float) -> float:
    single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return single


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


# -- ADD COLUMN ------------------------------------------------------------------------------------------------------


def value_of_old_rows(column: Column, time_zone: str) -> str | None:
    """Return the value of a new column in existing rows: its DEFAULT, else NULL or the zero of its type.

    TIMESTAMP is in ``time_zone``. Raises :class:`SchemaError` for a default that only TiDB knows.
    """
    if column.default is None:
        return None if column.nullable else _zero(column)
    if isinstance(column.default, bytes):
        return str(int.from_bytes(column.default, "big"))
    text, kind = column.default, column.type
    if kind in INTEGER_TYPES:
        return str(int(text))
    if kind in FLOAT_TYPES:
        return float_text(float(text), single=kind is MySQLType.FLOAT)
    if kind is MySQLType.NEWDECIMAL:
        scale = Decimal(1).scaleb(-column.fraction_digits)
        return format(Decimal(text.strip()).quantize(scale, ROUND_HALF_UP, _DIGITS), "f")
    if kind is MySQLType.YEAR:
        return str(_year(text))
    if kind in TEMPORAL_TYPES and not text.lstrip("-")[:1].isdigit():
        raise _unknown(column)  # an expression: the clock of TiDB
    if kind is MySQLType.TIMESTAMP and not text.startswith(_ZERO_DAY):
        return _in_zone(text, column.fraction_digits, time_zone)
    if kind in STRING_TYPES and column.is_binary:
        if _REPLACEMENT in text:
            raise _unknown(column)
        return _base64(text.encode())
    if kind in (MySQLType.JSON, MySQLType.VECTOR_FLOAT32):
        raise _unknown(column)
    return text


def _unknown(column: Column) -> SchemaError:
    return SchemaError(
        "existing rows get a value that only TiDB knows",
        remedy="Give the new column a constant DEFAULT or none",
        column=column.name,
    )


def _zero(column: Column) -> str:
    kind, zero = column.type, TYPES[column.type].zero
    if kind is MySQLType.ENUM:
        return column.elems[0]
    if zero is None:
        raise _unknown(column)
    if kind is MySQLType.STRING and column.is_binary:
        return _base64(bytes(column.flen))
    return _with_fraction(zero, column.fraction_digits) if kind in FSP_TYPES or kind is MySQLType.NEWDECIMAL else zero


def _year(text: str) -> int:
    """Read a YEAR default as TiDB does, which stores it as text: DEFAULT 0 is DEFAULT '0' and means 2000; only '0000'
    means 0.

    MySQL distinguishes the number from the text, and reads DEFAULT 0 as 0.
    """
    number = int(text)
    if number >= 100 or (number == 0 and len(text) == 4):
        return number
    return number + (2000 if number < 70 else 1900)


def _in_zone(text: str, fsp: int, time_zone: str) -> str:
    clock = dt.datetime.fromisoformat(text.partition(".")[0]).replace(tzinfo=dt.timezone.utc)
    shown = clock.astimezone(ZoneInfo(time_zone)).strftime("%Y-%m-%d %H:%M:%S")
    return _with_fraction(f"{shown}.{text.partition('.')[2]}", fsp)


Rows: TypeAlias = "dict[tuple[Any, ...], Row]"
"""Rows by the texts of the handle key, in table order; without one, by all texts and the number among equal rows."""

Tables: TypeAlias = "dict[tuple[str, str], Rows]"
"""Rows by (schema, table), including tables without rows."""

_Change: TypeAlias = Mapping[str, Any]
_LOSES_ROWS = frozenset({"drop partition", "truncate partition", "exchange partition"})
_FIRST_INSERT = "Insert the row first, or give begins_empty=False if it was there before the history"
_OTHER_KEY = "Use another key, or delete the row first"
_EMPTIES = frozenset({"create table", "truncate table"})


class TableFold:
    """Follows a history in commit order; ``tables``: the tables so far, ``catalog``: their versions.

    ``checks``: an insert of a row that exists raises :class:`~ticdc_emit.errors.HistoryError`; so does an update or
    delete of one that does not exist, if all tables begin empty (``begins_empty``).
    """

    def __init__(self, catalog: Catalog, time_zone: str, *, checks: bool = False, begins_empty: bool = True) -> None:
        self._refuses_existing = checks
        self._refuses_missing = checks and begins_empty
        self.catalog = catalog
        self.tables: Tables = {(info.schema, info.name): {} for info in catalog.tables() if not info.is_view}
        self._zone = time_zone
        self._database = current_database(None, catalog)

    def follow(self, rows: Iterable[_Change], ddl: Iterable[tuple[int, str]]) -> Tables:
        """Take a whole history, in any order, and return its final tables."""
        statements = sorted(ddl, key=_first)
        applied = 0
        for (commit_ts, *_), transaction in groupby(sorted(rows, key=_transaction_of), key=_transaction_of):
            while applied < len(statements) and statements[applied][0] < commit_ts:
                self.apply(*statements[applied])
                applied += 1
            self.commit(list(transaction))
        for commit_ts, query in statements[applied:]:
            self.apply(commit_ts, query)
        return self.tables

    def commit(self, changes: Sequence[_Change]) -> None:
        """Take the changes of one transaction in one table."""
        info = self.catalog.table(changes[0]["schema"], changes[0]["table"])
        rows = self.tables[info.schema, info.name]
        steps = [(_image(change, "before", info), _image(change, "after", info)) for change in changes]
        moves = any(old and new and handle_of(info, old) != handle_of(info, new) for old, new in steps)
        if moves or any(change.get("seq") is None for change in changes):
            moments = [steps]
        else:
            in_order = sorted(zip((change["seq"] for change in changes), steps, strict=True), key=_first)
            moments = [[step] for _, step in in_order]
        for moment in moments:
            for old, _ in moment:
                if not _remove(rows, info, old) and self._refuses_missing:
                    raise _misfit("updates or deletes a row that does not exist", _FIRST_INSERT, info, old, changes)
            for _, new in moment:
                if not _add(rows, info, new) and self._refuses_existing:
                    raise _misfit("adds a row whose key exists", _OTHER_KEY, info, new, changes)

    def apply(self, commit_ts: int, query: str) -> None:
        """Take a statement that comes after everything so far; raises the family of :class:`SchemaError` if it cannot
        be applied.
        """
        for event in self.catalog.apply(query, schema=self._database, commit_ts=commit_ts):
            self._follow(event)

    def _follow(self, event: DdlEvent) -> None:
        info, before = event.table_info, event.pre_table_info
        if event.action == "drop schema":
            self.tables = {name: rows for name, rows in self.tables.items() if name[0] != event.schema}
        if info is None or info.is_view:
            return
        name = info.schema, info.name
        source = name if before is None else (before.schema, before.name)
        if event.action in _LOSES_ROWS:
            if self.tables[name] or self.tables[source]:
                raise SchemaError(
                    "a history does not record which rows are in a partition",
                    remedy="Give the rows that the statement removes as deletes, or leave the statement out",
                    table=info.full_name,
                    statement=event.query,
                )
            return
        rows = self.tables.pop(source, {})
        if event.action == "drop table":
            return
        self.tables[name] = {}
        if event.action not in _EMPTIES and before is not None:
            for row in rows_after_ddl(rows.values(), before, info, self._zone):
                _add(self.tables[name], info, row)


def handle_of(info: TableInfo, row: Row) -> tuple[str | None, ...]:
    """Return the texts of a row's handle key, in table order; ``()`` for a table without one."""
    return tuple(row[column.name] for column in info.whole_handle_key)


def _transaction_of(change: _Change) -> tuple[int, str, str]:
    return change["commit_ts"], change["schema"], change["table"]


def _first(entry: tuple[Any, ...]) -> Any:
    return entry[0]


def _image(change: _Change, which: str, info: TableInfo) -> Row | None:
    """Return an image that the change's operation must have, with only the columns of the table's version."""
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


def _add(rows: Rows, info: TableInfo, row: Row | None) -> bool:
    """Add a row, and return whether its key was free."""
    if row is None:
        return True
    key: tuple[Any, ...] = handle_of(info, row) or (*row.values(), _equal_rows(rows, row))
    is_free = key not in rows
    rows[key] = row
    return is_free


def _remove(rows: Rows, info: TableInfo, row: Row | None) -> bool:
    """Remove a row, and return whether it existed."""
    if row is None:
        return True
    key: tuple[Any, ...] = handle_of(info, row)
    return rows.pop(key or (*row.values(), _equal_rows(rows, row) - 1), None) is not None


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


def _equal_rows(rows: Rows, row: Row) -> int:
    count = 0
    while (*row.values(), count) in rows:
        count += 1
    return count


# -- as messages show them -------------------------------------------------------------------------------------------


def shown_tables(tables: Tables, catalog: Catalog, protocol: str) -> Tables:
    """Return the tables with ENUM, SET and binary values, also those in keys, as the protocol's messages show them.

    ``catalog``: the tables' versions. Raises :class:`~ticdc_emit.errors.ConfigError` for an unknown protocol.
    """
    spec = spec_of(protocol)
    shown: Tables = {}
    for name, rows in tables.items():
        info = catalog.table(*name)
        shows = {column.name: show for column in info.row_columns if (show := _show(column, spec)) is not None}
        shown[name] = {}
        for row in rows.values():
            changed: Row = {column: show(text) for column, show in shows.items() if (text := row[column]) is not None}
            _add(shown[name], info, row | changed)
    return shown


def _show(column: Column, spec: ProtocolSpec) -> Callable[[str], str] | None:
    """Return what makes a message's text of canonical text, ``None`` if both are the same."""
    if column.type in LABEL_TYPES:
        return (lambda label: str(label_number(column, label))) if spec.numbers_labels else None
    if column.type not in STRING_TYPES:
        return None
    if spec.binary is BinaryForm.LATIN_1 and column.is_binary:
        return lambda text: base64.b64decode(text).decode("latin-1")
    if spec.binary is BinaryForm.GO_QUOTED and column.is_binary and column.type not in BLOB_TYPES:
        return _go_quoted
    if spec.binary is BinaryForm.GO_QUOTED and column.type in BLOB_TYPES and not column.is_binary:
        return lambda text: base64.b64encode(text.encode()).decode()
    return None


def _go_quoted(text: str) -> str:
    (printed,) = go_quoted_json(pa.array([base64.b64decode(text)]), GO_STD).to_pylist()
    return str(json.loads(f'"{printed}"'))
