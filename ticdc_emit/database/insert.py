"""INSERT and REPLACE: values, defaults and AUTO_INCREMENT become complete rows, which are added.

A table without a clustered key draws its row ids from the counter of AUTO_INCREMENT, in a way that depends on TiDB's
caches: there a row needs a value of its own. Rule source: pingcap/tidb ``pkg/executor/{insert_common,replace}.go``,
``pkg/table/column.go`` (``GetColDefaultValue``).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa

from ticdc_emit.columnar.assignment import NOT_NULL, assign_each
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import accept
from ticdc_emit.database.expressions import (
    OF_GENERATED,
    UNKNOWN_COLUMN,
    Scope,
    expression_errors,
    unsupported,
    value_of,
)
from ticdc_emit.database.partitions import NO_PARTITION
from ticdc_emit.database.row_values import canonical_texts
from ticdc_emit.database.statement import RunningStatement
from ticdc_emit.database.transaction import StoredTable
from ticdc_emit.errors import SchemaError, StatementError
from ticdc_emit.schema.model import NOW, Column
from ticdc_emit.schema.row_versions import Row, value_of_old_rows
from ticdc_emit.sql import nodes
from ticdc_emit.sql.evaluation.values import Value, byte_size, check_bytes, constant
from ticdc_emit.sql.lexer import SqlMode, literal_content
from ticdc_emit.sql.types import INTEGER_TYPES, MOMENT_TYPES, ColumnFlag, MySQLType

WRONG_COUNT, TWICE, NO_DEFAULT = 1136, 1110, 1364
_ALWAYS = (WRONG_COUNT, TWICE, UNKNOWN_COLUMN, OF_GENERATED)
_EXPRESSION_DEFAULTS = ("rand(", "uuid(", "uuid_to_bin(", "date_format(", "replace(", "upper(", "str_to_date(", "json_")
_SEQUENCES = ("nextval(", "lastval(", "setval(", "next value")
_DIGITS = frozenset("-0123456789")
_UUID_EPOCH = 0x01B21DD213814000  # the steps of 100 ns from 1582 to 1970

_Given: TypeAlias = "Value | Column | str"
"""A value of a row, the column whose default it is, or the text of a literal."""


def insert(statement: nodes.Insert, running: RunningStatement) -> tuple[int, int | None]:
    """Add rows; return how many are affected, and the first number that AUTO_INCREMENT gave (``None`` for none)."""
    table, rows, first_id = new_rows(statement, running)
    if statement.word == "REPLACE":
        return _replace(table, rows, running), first_id
    added = 0
    for row in running.stored(table, rows):
        if not (running.rules.nearest and table.keys.conflicts(row.keys)):
            running.write(table, None, row)
            added += 1
    return added, first_id if added else None


def new_rows(statement: nodes.Insert, running: RunningStatement) -> tuple[StoredTable, list[Row], int | None]:
    """Return the table, complete rows (but those that IGNORE leaves out), and the first number of AUTO_INCREMENT."""
    if statement.query is not None:
        raise unsupported(f"{statement.word} ... SELECT")
    ignores = "IGNORE" in statement.options
    if statement.duplicate and ignores:
        raise unsupported("INSERT IGNORE with ON DUPLICATE KEY UPDATE", "Leave IGNORE out")
    if statement.partitions:
        raise unsupported("PARTITION in INSERT", "Leave it out")
    running.rules = replace(running.rules, nearest=ignores)
    table = running.table(statement.table)
    columns = _columns(statement, table, running)
    try:
        mode = next((each.mode for each in statement.rows if isinstance(each, nodes.LiteralRows)), SqlMode())
        rows, first_id = _rows(table, _given(statement, table, columns, running), mode, running)
        return table, _with_partition(table, rows, running) if ignores else running.completed(table, rows), first_id
    except StatementError as fault:
        if not ignores or fault.number in _ALWAYS:
            raise
        raise unsupported(f"INSERT IGNORE with an error ({fault.message})", "Give values that fit") from None


def _with_partition(table: StoredTable, rows: list[Row], running: RunningStatement) -> list[Row]:
    for column in (each for each in table.info.row_columns if not (each.nullable or each.generated)):
        for row in (each for each in rows if each[column.name] is None):
            # an ENUM gets no label, unlike one without a value
            is_enum = column.type is MySQLType.ENUM
            row[column.name] = "" if is_enum else _default(replace(column, default=None), running)
    try:
        return [
            row for row in running.completed(table, rows) if not running.without_parent(table, row, to_itself=False)
        ]
    except StatementError as fault:
        if fault.number != NO_PARTITION:
            raise
    half = len(rows) // 2
    return [row for part in (rows[:half], rows[half:]) if half for row in _with_partition(table, part, running)]


def _columns(statement: nodes.Insert, table: StoredTable, running: RunningStatement) -> list[Column]:
    if statement.columns is None:
        return [column for column in table.info.columns if not column.hidden]
    scope = Scope(running.values, table.info)
    columns = [scope.column(name) for name in statement.columns]
    if len(set(columns)) < len(columns):
        twice = next(column.name for column in columns if columns.count(column) > 1)
        raise StatementError(f"Column '{twice}' specified twice", remedy="Name each column once", number=TWICE)
    return columns


def _given(
    statement: nodes.Insert, table: StoredTable, columns: Sequence[Column], running: RunningStatement
) -> dict[Column, list[_Given]]:
    scope = Scope(running.values)
    names = Scope(running.values, table.info)
    filled = {column: list[_Given]() for column in table.info.row_columns if not column.generated}
    number = size = 0
    for members in statement.rows:
        cells = list[list[str] | nodes.Node](members.columns if isinstance(members, nodes.LiteralRows) else members)
        if len(cells) != len(columns) and (cells or statement.columns):
            raise StatementError(
                f"Column count doesn't match value count at row {number + 1}",
                remedy=f"Give {len(columns)} values",
                number=WRONG_COUNT,
            )
        count = 1
        row: dict[Column, Sequence[_Given]] = {}
        for column, cell in zip(columns, cells, strict=False):
            if isinstance(cell, nodes.Default):
                if column.generated and cell.column is None:
                    continue
                row[column] = [column if cell.column is None else names.column(cell.column)]
            elif isinstance(cell, list):  # the literals of several rows
                row[column], count = cell, len(cell)
            else:
                value = value_of(scope.bind(cell), None, running.values)
                row[column], size = [value], size + byte_size(value.data)
                with expression_errors(column.name):
                    check_bytes("values of a statement", size)
            names.refuse_generated(column)
        for column, own in filled.items():
            own += row.get(column) or [column] * count
        number += count
    return filled


def _rows(
    table: StoredTable, values: dict[Column, list[_Given]], mode: SqlMode, running: RunningStatement
) -> tuple[list[Row], int | None]:
    drawn = (each for each in values if each.flags & ColumnFlag.AUTO_INCREMENT or each.name == table.state.auto_random)
    automatic = next(drawn, None)
    texts = {column: _explicit(column, own, mode, running, nulls=column is automatic) for column, own in values.items()}
    for column, own in values.items():
        if column is not automatic:
            texts[column] = [
                default_text(value, column, running) if isinstance(value, Column) else text
                for value, text in zip(own, texts[column], strict=True)
            ]
    first_id = None
    if automatic is not None:  # last, for a value that does not fit takes no number
        texts[automatic], first_id = _numbered(table, automatic, texts[automatic], running)
    names = [column.name for column in values]
    return [dict(zip(names, row, strict=True)) for row in zip(*texts.values(), strict=True)], first_id


def _explicit(
    column: Column, own: list[_Given], mode: SqlMode, running: RunningStatement, *, nulls: bool
) -> list[str | None]:
    literals = [each for each in own if isinstance(each, str)]
    if column.type in INTEGER_TYPES and len(literals) == len(own) and _DIGITS.issuperset("".join(literals)):
        with suppress(ValueRefused):
            return canonical_texts(column, accept(column, pa.array(literals, pa.string()), running.rendering))
    keys = [each if isinstance(each, str) else place for place, each in enumerate(own)]
    given = {
        key: constant(literal_content(each, mode)) if isinstance(each, str) else each
        for key, each in dict(zip(keys, own, strict=True)).items()
        if not isinstance(each, Column)
    }
    nulls = nulls or (running.rules.nearest and not column.nullable)  # filled in later
    values = {key: each for key, each in given.items() if not nulls or each.data.is_valid}
    if not column.nullable and any(not each.data.is_valid for each in values.values()):
        raise _null(column)
    with expression_errors(column.name):
        found = canonical_texts(column, assign_each(column, list(values.values()), running.rendering, running.rules))
    texts = dict(zip(values, found, strict=True))
    return [texts.get(key) for key in keys]


def _null(column: Column) -> StatementError:
    return StatementError(
        f"Column '{column.name}' cannot be null", remedy="Give a value, or leave the column out", number=NOT_NULL
    )


# -- defaults ----------------------------------------------------------------------------------------------------------


def default_text(given: _Given, column: Column, running: RunningStatement) -> str | None:
    assert isinstance(given, Column)
    text = _default(given, running)
    if text is None and not column.nullable:
        raise _null(column)
    if given is not column and (given.type, given.flen, given.decimal) != (column.type, column.flen, column.decimal):
        raise unsupported(f"the DEFAULT of column {given.name} in a column of another type", "Write the value itself")
    return text


def _default(column: Column, running: RunningStatement) -> str | None:
    default = column.default
    if default is None:
        if column.nullable:
            return None
        if column.type is MySQLType.ENUM:
            return column.elems[0]
        if not running.rules.nearest:
            raise StatementError(
                f"Field '{column.name}' doesn't have a default value", remedy="Give it a value", number=NO_DEFAULT
            )
    if default == NOW and column.type in MOMENT_TYPES:
        return running.moment(column)
    if default == "CURRENT_DATE" and column.type not in (MySQLType.VARCHAR, MySQLType.STRING):
        if column.type is not MySQLType.DATE:
            raise unsupported("DEFAULT CURRENT_DATE of a column that is not a DATE", "Give the column a value")
        return running.values.moment(0)[:10]
    if isinstance(default, str) and default.startswith((*_EXPRESSION_DEFAULTS, *_SEQUENCES)):
        if default == "uuid()" and column.type in (MySQLType.VARCHAR, MySQLType.STRING) and not column.is_binary:
            return _uuid(running)
        raise unsupported(f"DEFAULT {default} of column {column.name}", "Give the column a value")
    try:
        return value_of_old_rows(column, running.rendering.zone)
    except SchemaError as fault:
        raise unsupported(f"the DEFAULT of column {column.name} ({fault.message})", "Give the column a value") from None


def _uuid(running: RunningStatement) -> str:
    running.values.uuids += 1
    ticks = int(running.values.now.timestamp() * 10_000_000) + _UUID_EPOCH
    fields = ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48 & 0x0FFF | 0x1000
    return str(
        uuid.UUID(fields=(*fields, 0x80, running.values.uuids >> 48 & 0xFF, running.values.uuids & (1 << 48) - 1))
    )


# -- AUTO_INCREMENT ----------------------------------------------------------------------------------------------------


def _numbered(
    table: StoredTable, column: Column, texts: list[str | None], running: RunningStatement
) -> tuple[list[str | None], int | None]:
    database, info = running.database, table.info
    database.last_number(table.state)  # those of rows that exist
    numbered: list[str | None] = []
    first_id = None
    for text in texts:
        if text is None or (text == "0" and not running.keeps_zero):
            if table.state.auto_random == column.name:
                raise unsupported("AUTO_RANDOM", f"Give {column.name} a value")
            if not (info.pk_is_handle or info.common_handle):
                raise unsupported(
                    "AUTO_INCREMENT in a table without a clustered primary key", f"Give {column.name} a value"
                )
            text = str(database.last_number(table.state) + 1)
            database.reach_number(info, int(text))
            first_id = int(text) if first_id is None else first_id
        elif text.lstrip("-").isdecimal():
            database.reach_number(info, int(text))
        else:
            raise unsupported("AUTO_INCREMENT of a column that is not an integer", f"Give {column.name} a value")
        numbered.append(text)
    if first_id is not None:
        with expression_errors():
            running.check_numbers(column, numbered)
    return numbered, first_id


# -- REPLACE -----------------------------------------------------------------------------------------------------------


def _replace(table: StoredTable, rows: list[Row], running: RunningStatement) -> int:
    affected = 0
    for row in running.stored(table, rows):
        places = dict.fromkeys(place for _, place in table.keys.conflicts(row.keys))
        others = [table.rows[place] for place in places]
        if others == [row.row]:
            affected += 1  # the same row: TiDB writes nothing
            continue
        for other in running.stored(table, others):
            running.write(table, other, None)
        running.write(table, None, row)
        affected += 1 + len(others)
    return affected
