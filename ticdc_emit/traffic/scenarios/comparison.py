"""A consumer's tables beside the expected ones: where they differ, row by row. Values are canonical text
(docs/types.md); numbers are refused, because 1.5 is 1.50 in some columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ticdc_emit.database.tables import Tables
from ticdc_emit.errors import ConfigError, shown
from ticdc_emit.schema.row_versions import Row

GivenRow: TypeAlias = "Mapping[str, str | None]"

GivenTables: TypeAlias = "Mapping[Any, Mapping[Any, GivenRow] | Iterable[GivenRow]]"
"""By (schema, table) or ``schema.table``: rows as a mapping's values, or a list."""

_REMEDY = 'Give {"schema.table": [{"column": "text", ...}, ...]}, with None (null) for NULL'


def rows_by_table(given: GivenTables) -> dict[tuple[str, str], list[GivenRow]]:
    """Return the rows; :class:`ConfigError` for anything else, and for a table that occurs twice."""
    if not isinstance(given, Mapping):
        raise ConfigError(f"{type(given).__name__} is not a mapping of tables", remedy=_REMEDY)
    by_table: dict[tuple[str, str], list[GivenRow]] = {}
    for name, rows in given.items():
        schema, table = _name(name)
        if (schema, table) in by_table:
            raise ConfigError(f"{schema}.{table} is given twice", remedy="Give each table once")
        by_table[schema, table] = _checked_rows(f"{schema}.{table}", rows)
    return by_table


def _name(name: Any) -> tuple[str, str]:
    schema, point, table = name.partition(".") if isinstance(name, str) else ("", "", "")
    if point:
        return schema, table
    if isinstance(name, tuple) and [type(part) for part in name] == [str, str]:
        return name[0], name[1]
    raise ConfigError(f"{name!r} names no table", remedy="Write schema.table")


def _checked_rows(table: str, rows: Any) -> list[GivenRow]:
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise ConfigError(f"{table} has no list of rows", remedy=_REMEDY)
    listed = list(rows.values() if isinstance(rows, Mapping) else rows)
    for number, row in enumerate(listed):
        where = f"row {number} of {table}"
        if not isinstance(row, Mapping):
            raise ConfigError(f"{where} is not a mapping of columns", remedy=_REMEDY)
        for column, value in row.items():
            if not isinstance(column, str):
                raise ConfigError(f"{where}: a column's name is not text", remedy=_REMEDY)
            if value is not None and not isinstance(value, str):
                raise ConfigError(
                    f"{where}: {column} is {shown(value)}, not text",
                    remedy="Give each value as canonical text (docs/types.md), None (null) for NULL",
                )
    return listed


@dataclass(frozen=True, repr=False)
class Difference:
    """``kind``: a row is ``missing``, ``extra`` (``actual`` times too often), or has another value in ``column``.
    ``key``: the texts of the handle key, else of the row. ``no column`` is a column that only one side has.
    """

    table: str
    key: tuple[str | None, ...]
    kind: Literal["missing", "extra", "different", "no column"]
    column: str | None = None
    expected: str | None = None
    actual: str | None = None

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        row = f"{self.table} {', '.join(map(shown_key, self.key))}"
        if self.kind == "missing":
            return f"{row}: the row is missing"
        if self.kind == "extra":
            return f"{row}: a row too many"
        if self.kind == "no column":
            side = "is missing" if self.actual is None else "should not be there"
            return f"{row}: the column {self.column} {side}"
        return f"{row}: {self.column} is {_shown(self.actual)}, must be {_shown(self.expected)}"


def differences(
    expected: Tables, keys: Mapping[tuple[str, str], tuple[str, ...]], given: GivenTables
) -> list[Difference]:
    """Compare tables; ``keys``: of their handle keys. Raises :class:`~ticdc_emit.errors.ConfigError` for non-tables."""
    actual = rows_by_table(given)
    diffs: list[Difference] = []
    for name in sorted(expected.keys() | actual.keys()):
        wanted = list(expected.get(name, {}).values())
        diffs += _rows(".".join(name), keys.get(name, ()), wanted, actual.get(name, []))
    return diffs


def _rows(table: str, key: tuple[str, ...], wanted: list[Row], rows: list[GivenRow]) -> list[Difference]:
    """Return the differences by key; rows of a table without one are compared as a whole."""
    names = key or tuple(dict.fromkeys(name for row in (*wanted, *rows) for name in row))

    def place(row: GivenRow) -> tuple[tuple[str, str | None], ...]:
        return tuple((name, row.get(name)) for name in names if key or name in row)

    def texts(at: tuple[tuple[str, str | None], ...]) -> tuple[str | None, ...]:
        return tuple(text for _, text in at)

    need, have = Counter(map(place, wanted)), Counter(map(place, rows))
    first = {place(row): row for row in reversed(rows)}
    diffs = [
        each
        for row in wanted
        if place(row) in first
        for each in _columns(table, texts(place(row)), row, first[place(row)])
    ]
    diffs += [Difference(table, texts(each), "extra") for each in (have - need).elements()]
    diffs += [Difference(table, texts(each), "missing") for each in (need - have).elements()]
    return sorted(diffs, key=lambda each: [text or "" for text in each.key])


def _columns(table: str, key: tuple[str | None, ...], wanted: Row, row: GivenRow) -> Iterator[Difference]:
    for name in dict.fromkeys((*wanted, *row)):
        need, have = wanted.get(name), row.get(name)
        if name not in row:
            yield Difference(table, key, "no column", name, expected=need or "")
        elif name not in wanted:
            yield Difference(table, key, "no column", name, actual=have or "")
        elif need != have:
            yield Difference(table, key, "different", name, need, have)


def shown_key(text: str | None) -> str:
    return str(text) if text is not None and text.lstrip("-").isdecimal() else _shown(text)


def _shown(text: str | None) -> str:
    return "NULL" if text is None else repr(text)
