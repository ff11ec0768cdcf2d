"""Columns in a DDL message: those that the statement defines, changed by its SQL text.

In: the table after the statement, and the statement. Out: columns. TiCDC takes fsp, YEAR's length and defaults of times
literally from its parser's output, and drops comments. Rule source: reference ``pingcap/tiflow:
pkg/sink/codec/debezium/helper.go`` (parseColumns).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import numpy as np

from ticdc_emit.errors import SchemaError
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.nodes.alter import AddColumn, ChangeColumn, SetColumnDefault
from ticdc_emit.sql.nodes.expressions import DefaultExpression, Literal
from ticdc_emit.sql.nodes.statements import AlterTable, CreateTable, OtherStatement, Statement
from ticdc_emit.sql.nodes.tables import ColumnDef
from ticdc_emit.sql.script import parse_ddl
from ticdc_emit.sql.types import MySQLType

__all__ = ["redefined_columns"]

_REREAD = frozenset({MySQLType.DATETIME, MySQLType.DURATION, MySQLType.TIMESTAMP, MySQLType.YEAR})
_EXPONENT_BELOW, _EXPONENT_FROM = 1e-4, 1e6
_NOTHING = "<nil>"
"""TiCDC's text of ``DEFAULT NULL``, which it prints as null."""


def redefined_columns(table: TableInfo, query: str) -> tuple[Column, ...]:
    """Return the table's columns for the message of ``query``.

    Raises :class:`SchemaError` for a statement that defines a column which the table lacks after it (TiCDC panics), and
    :class:`~ticdc_emit.errors.DdlError` for one that cannot be parsed.
    """
    shown = {column.name: column for column in table.columns}
    for name, definition in _named(parse_ddl(query)):
        if name not in shown:
            raise SchemaError(
                "the statement defines a column that the table does not have after it",
                remedy="Write the column's name as the table has it, or split the statement",
                table=table.full_name,
                column=name,
            )
        column = shown[name] if definition is None else _reread(shown[name], definition)
        shown[name] = replace(column, comment="")
    return tuple(shown.values())


def _named(statement: Statement | OtherStatement) -> Iterator[tuple[str, ColumnDef | None]]:
    """Yield the columns that a statement defines; SET and DROP DEFAULT name one without its definition."""
    if isinstance(statement, CreateTable):
        yield from ((column.name, column) for column in statement.columns)
    if isinstance(statement, AlterTable):
        for spec in statement.specs:
            if isinstance(spec, AddColumn | ChangeColumn):
                yield spec.column.name, spec.column
            elif isinstance(spec, SetColumnDefault):
                yield spec.column, None


def _reread(column: Column, definition: ColumnDef) -> Column:
    kind = definition.type.type
    if kind not in _REREAD:
        return column
    default = column.default
    for option in definition.options:
        if option.kind == "default" and isinstance(option.value, Literal | DefaultExpression):
            default = _literal_text(option.value, default)
    if kind is MySQLType.YEAR:
        return replace(column, flen=definition.type.flen, default=default)
    return replace(column, decimal=definition.type.decimal, default=default)


def _literal_text(value: Literal | DefaultExpression, stored: str | bytes | None) -> str | bytes | None:
    """Return a default as Go prints the parser's value; with a sign it is an expression: ``stored``."""
    if isinstance(value, DefaultExpression):
        if value.kind == "call":
            return value.text.split("(", 1)[0].strip()
        return "CURRENT_TIMESTAMP" if value.kind == "now" else "CURRENT_DATE"
    if value.kind == "null":
        return _NOTHING
    if isinstance(value.value, bytes):
        return "0x" + value.value.hex() if value.value else ""
    if isinstance(value.value, str):
        return value.value
    assert value.value is not None
    if value.value < 0:
        return stored
    if isinstance(value.value, float):
        return _float_text(value.value)
    return f"{value.value:f}" if isinstance(value.value, Decimal) else str(value.value)


def _float_text(value: float) -> str:
    """Return the shortest digits as Go's ``%v`` prints them: with an exponent below 1e-4 and from 1e6 on."""
    text = np.format_float_scientific(value, unique=True, trim="-", exp_digits=2)
    if value >= _EXPONENT_FROM or 0 < value < _EXPONENT_BELOW:
        return text
    return np.format_float_positional(value, unique=True, trim="-")
