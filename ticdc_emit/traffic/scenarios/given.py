"""A consumer's tables as arguments of a comparison, often from JSON: checked and normalised.

In: tables by (schema, table) or ``schema.table``, rows as a mapping's values or a list. Out: lists of rows by (schema,
table). Values are canonical text (docs/types.md). Numbers are refused, because 1.5 is 1.50 in some columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from ticdc_emit.errors import ConfigError

__all__ = ["GivenRow", "GivenTables", "rows_by_table"]

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
        by_table[schema, table] = _rows(f"{schema}.{table}", rows)
    return by_table


def _name(name: Any) -> tuple[str, str]:
    schema, point, table = name.partition(".") if isinstance(name, str) else ("", "", "")
    if point:
        return schema, table
    if isinstance(name, tuple) and [type(part) for part in name] == [str, str]:
        return name[0], name[1]
    raise ConfigError(f"{name!r} names no table", remedy="Write schema.table")


def _rows(table: str, rows: Any) -> list[GivenRow]:
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise ConfigError(f"{table} has no list of rows", remedy=_REMEDY)
    listed = list(rows.values() if isinstance(rows, Mapping) else rows)
    for number, row in enumerate(listed):
        place = f"row {number} of {table}"
        if not isinstance(row, Mapping):
            raise ConfigError(f"{place} is not a mapping of columns", remedy=_REMEDY)
        for column, value in row.items():
            if not isinstance(column, str):
                raise ConfigError(f"{place}: a column's name is not text", remedy=_REMEDY)
            if value is not None and not isinstance(value, str):
                raise ConfigError(
                    f"{place}: {column} is {_kind(value)}",
                    remedy="Give each value as canonical text (docs/types.md), None (null) for NULL",
                )
    return listed


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return f"{value}, a truth value"
    if isinstance(value, int):
        return f"{value}, a number; its canonical text is '{value}'"
    return f"{value}, a number" if isinstance(value, float) else "no text"
