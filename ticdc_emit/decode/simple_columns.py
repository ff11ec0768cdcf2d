"""Rows of a table as a DDL leaves them, as far as the DDL's message says it.

In: rows, a :class:`SimpleDdl`. Out: the same rows with the columns of the new schema. A column whose value the message
does not tell is missing in the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Context, Decimal
from typing import Any

from ticdc_emit.decode.simple_ddl import renamed_columns
from ticdc_emit.decode.simple_records import SimpleColumn, SimpleDdl, SimpleTableSchema, SimpleTimestamp
from ticdc_emit.decode.simple_values import BINARY, FLOATS, INTEGERS, TEXTS

__all__ = ["converted"]

_UNKNOWN: Any = object()
_FAMILIES = (INTEGERS - {"bit", "year"}, TEXTS)  # MODIFY COLUMN inside one of them leaves values as they are
_TIMES = frozenset({"date", "datetime", "time", "timestamp"})
_DIGITS = Context(prec=65)  # of a DECIMAL
_REPLACEMENT = "\ufffd"  # what TiDB stores for bytes that are not UTF-8


def converted(rows: Iterable[Mapping[str, Any]], ddl: SimpleDdl) -> Iterator[dict[str, Any]]:
    """Yield each row with the columns of the DDL's ``table_schema``; without a schema before it, unchanged rows."""
    table, pre_table = ddl.table_schema, ddl.pre_table_schema
    if table is None or pre_table is None:
        yield from map(dict, rows)
        return
    sources = _sources(table, pre_table, ddl.sql)
    added = {column.name: _added(column) for column in table.columns if column.name not in sources}
    for row in rows:
        kept = {name: row[old] for name, old in sources.items() if old is not None and old in row}
        yield kept | {name: value for name, value in added.items() if value is not _UNKNOWN}


def _sources(table: SimpleTableSchema, pre_table: SimpleTableSchema, sql: str) -> dict[str, str | None]:
    """Return the old column of each column that is not new; ``None`` where its values are not those of the old one."""
    renamed = renamed_columns(sql)
    old_names = {renamed.get(column.name.lower(), column.name).lower(): column for column in pre_table.columns}
    found: dict[str, str | None] = {}
    for column in table.columns:
        old = old_names.get(column.name.lower())
        if old is not None:
            found[column.name] = old.name if _same_values(old, column) else None
    return found


def _same_values(old: SimpleColumn, new: SimpleColumn) -> bool:
    if any(old.mysql_type in family and new.mysql_type in family for family in _FAMILIES):
        return True
    return _value_type(old) == _value_type(new)


def _value_type(column: SimpleColumn) -> tuple[Any, ...]:
    kind = column.mysql_type
    fixed_length = column.length if kind in _TIMES or kind in ("binary", "bit") else 0
    return kind, column.decimal, column.elements, fixed_length


def _added(column: SimpleColumn) -> Any:
    """Return what a new column holds in rows that were there before it."""
    default, kind = column.default, column.mysql_type
    if default is None:
        return None if column.nullable else _zero(column)
    if kind in INTEGERS:
        return int(default)
    text = str(default)
    if kind in FLOATS:
        return float(text)
    if kind == "decimal":
        return Decimal(text).quantize(Decimal(1).scaleb(-column.decimal), context=_DIGITS)
    if kind in BINARY:
        return _UNKNOWN if _REPLACEMENT in text else text.encode()
    if kind in _TIMES and not text[:1].isdigit() and text[:1] != "-":
        return _UNKNOWN  # an expression
    return SimpleTimestamp("UTC", text) if kind == "timestamp" else text  # TiDB keeps such defaults in UTC


def _zero(column: SimpleColumn) -> Any:
    kind = column.mysql_type
    if kind in INTEGERS:
        return 0
    if kind in FLOATS:
        return 0.0
    if kind in TEXTS or kind == "set":
        return ""
    if kind in BINARY:
        return bytes(column.length) if kind == "binary" else b""
    if kind == "decimal":
        return Decimal(0).scaleb(-column.decimal)
    return column.elements[0] if kind == "enum" else _UNKNOWN
