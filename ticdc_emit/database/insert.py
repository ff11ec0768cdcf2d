"""INSERT and REPLACE: values, defaults and AUTO_INCREMENT become complete rows, which are added.

In: the statement's tree. Out: added rows (and, of REPLACE, removed ones), or TiDB's error. Rule source: pingcap/tidb
``pkg/executor/{insert_common,replace}.go``, ``pkg/table/column.go`` (``GetColDefaultValue``). A table without a
clustered key draws its row ids from the counter of AUTO_INCREMENT, in a way that depends on TiDB's caches: there a row
needs a value of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ticdc_emit.columnar.assignment import assign_each
from ticdc_emit.database.defaults import default_text, implicit_text, null_refused
from ticdc_emit.database.expressions import UNKNOWN_COLUMN, Scope, value_of
from ticdc_emit.database.refusals import expression_errors, unsupported
from ticdc_emit.database.row_values import canonical_texts
from ticdc_emit.database.rows_after_ddl import Row
from ticdc_emit.database.statement import OF_GENERATED, RunningStatement
from ticdc_emit.database.transaction import StoredTable
from ticdc_emit.database.update import insert_or_update
from ticdc_emit.errors import StatementError
from ticdc_emit.schema.model import Column
from ticdc_emit.sql import nodes
from ticdc_emit.sql.evaluation.values import Value
from ticdc_emit.sql.types import ColumnFlag

WRONG_COUNT, TWICE, NO_PARTITION = 1136, 1110, 1526
_ALWAYS = (WRONG_COUNT, TWICE, UNKNOWN_COLUMN, OF_GENERATED)

_Given: TypeAlias = "Value | Column"
"""A value of a row, or the column whose default it is."""


@dataclass(frozen=True)
class Inserted:
    """What an INSERT or REPLACE did. ``last_insert_id``: the first number that AUTO_INCREMENT gave, ``None`` for
    none.
    """

    affected_rows: int
    last_insert_id: int | None


def insert(statement: nodes.Insert, running: RunningStatement) -> Inserted:
    """Execute an INSERT or REPLACE. Raises :class:`StatementError` and :class:`UnsupportedStatementError`."""
    _refuse_parts(statement)
    table = running.table(statement.table)
    columns = _columns(statement, table, running)
    if "IGNORE" in statement.options:
        return _insert_ignoring(statement, table, columns, running)
    rows, first_id = _rows(table, columns, _given(statement, table, columns, running), running)
    rows = running.completed(table, rows)
    if statement.word == "REPLACE":
        return Inserted(_replace(table, rows, running), first_id)
    if statement.duplicate:
        return Inserted(*insert_or_update(statement, table, rows, first_id, running))
    for row, identities in zip(rows, running.identities(table, rows), strict=True):
        running.add(table, row, identities)
    return Inserted(len(rows), first_id)


def _refuse_parts(statement: nodes.Insert) -> None:
    if statement.query is not None:
        raise unsupported(f"{statement.word} ... SELECT")
    if statement.duplicate and "IGNORE" in statement.options:
        raise unsupported("INSERT IGNORE with ON DUPLICATE KEY UPDATE", "Leave IGNORE out")
    if statement.partitions:
        raise unsupported("PARTITION in INSERT", "Leave it out")


def _columns(statement: nodes.Insert, table: StoredTable, running: RunningStatement) -> list[Column]:
    """Return the columns that the statement gives, in its order."""
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
) -> list[dict[str, _Given]]:
    """Return of each row the values that it has for columns that are not generated."""
    scope = Scope(running.values)
    names = Scope(running.values, table.info)
    rows = []
    for number, members in enumerate(statement.rows, start=1):
        if len(members) != len(columns) and (members or statement.columns):
            raise StatementError(
                f"Column count doesn't match value count at row {number}",
                remedy=f"Give {len(columns)} values",
                number=WRONG_COUNT,
            )
        row: dict[str, _Given] = {}
        for column, node in zip(columns, members, strict=False):
            if isinstance(node, nodes.Default):
                if column.generated and node.column is None:
                    continue
                row[column.name] = column if node.column is None else names.column(node.column)
            else:
                row[column.name] = value_of(scope.bind(node), None, running.values)
            if column.generated:
                raise StatementError(
                    f"The value specified for generated column '{column.name}' is not allowed",
                    remedy="Leave the column out, or write DEFAULT",
                    number=OF_GENERATED,
                )
        rows.append(row)
    return rows


def _rows(
    table: StoredTable, columns: Sequence[Column], given: list[dict[str, _Given]], running: RunningStatement
) -> tuple[list[Row], int | None]:
    """Return the rows in canonical text, without generated columns, and the first number of AUTO_INCREMENT."""
    filled = [column for column in table.info.row_columns if not column.generated]
    values = {column: [row.get(column.name, column) for row in given] for column in filled}
    automatic = next((column for column in filled if _is_automatic(table, column)), None)
    texts = {column: _explicit(column, values[column], running, nulls=column is automatic) for column in filled}
    for column in filled:
        if column is not automatic:
            texts[column] = [
                default_text(value, column, running) if isinstance(value, Column) else text
                for value, text in zip(values[column], texts[column], strict=True)
            ]
    first_id = None
    if automatic is not None:  # last, for a value that does not fit takes no number
        texts[automatic], first_id = _numbered(table, automatic, texts[automatic], running)
    return [{column.name: texts[column][place] for column in filled} for place in range(len(given))], first_id


def _is_automatic(table: StoredTable, column: Column) -> bool:
    return bool(column.flags & ColumnFlag.AUTO_INCREMENT) or column.name == table.state.auto_random


def _explicit(column: Column, own: list[_Given], running: RunningStatement, *, nulls: bool) -> list[str | None]:
    """Return the texts of the values that rows have of their own, ``None`` elsewhere."""
    places = [place for place, value in enumerate(own) if isinstance(value, Value)]
    values = [value for value in own if isinstance(value, Value)]
    if nulls or (running.rules.nearest and not column.nullable):  # filled in later
        places = [place for place, value in zip(places, values, strict=True) if value.data.is_valid]
        values = [value for value in values if value.data.is_valid]
    elif not column.nullable and any(not value.data.is_valid for value in values):
        raise null_refused(column)
    texts: list[str | None] = [None] * len(own)
    with expression_errors(column.name):
        found = canonical_texts(column, assign_each(column, values, running.rendering, running.rules))
    for place, text in zip(places, found, strict=True):
        texts[place] = text
    return texts


# -- AUTO_INCREMENT ----------------------------------------------------------------------------------------------------


def _numbered(
    table: StoredTable, column: Column, texts: list[str | None], running: RunningStatement
) -> tuple[list[str | None], int | None]:
    """Return the texts with the numbers of AUTO_INCREMENT, and the first of these."""
    counter = running.database.counter(table.state)
    numbered: list[str | None] = []
    first_id = None
    for text in texts:
        if text is None or (text == "0" and not running.keeps_zero):
            if table.state.auto_random == column.name:
                raise unsupported("AUTO_RANDOM", f"Give {column.name} a value")
            if not (table.info.pk_is_handle or table.info.common_handle):
                raise unsupported(
                    "AUTO_INCREMENT in a table without a clustered primary key", f"Give {column.name} a value"
                )
            text = str(counter.next())
            first_id = int(text) if first_id is None else first_id
        elif text.lstrip("-").isdecimal():
            counter.reach(int(text))
        else:
            raise unsupported("AUTO_INCREMENT of a column that is not an integer", f"Give {column.name} a value")
        numbered.append(text)
    if first_id is not None:
        with expression_errors():
            running.check_numbers(column, numbered)
    return numbered, first_id


# -- IGNORE ----------------------------------------------------------------------------------------------------------


def _insert_ignoring(
    statement: nodes.Insert, table: StoredTable, columns: Sequence[Column], running: RunningStatement
) -> Inserted:
    """Add the rows that fit, with the nearest values that fit; foreign keys see no other row of the statement."""
    running.rules = replace(running.rules, nearest=True)
    try:
        rows, first_id = _rows(table, columns, _given(statement, table, columns, running), running)
        for column in (each for each in table.info.row_columns if not (each.nullable or each.generated)):
            for row in (each for each in rows if each[column.name] is None):
                row[column.name] = implicit_text(column, running)
        rows = _with_partition(table, rows, running)
    except StatementError as fault:
        if fault.number in _ALWAYS:
            raise
        raise unsupported(f"INSERT IGNORE with an error ({fault.message})", "Give values that fit") from None
    added = 0
    for row, identities in zip(rows, running.identities(table, rows), strict=True):
        if not table.keys.conflicts(identities):
            running.add(table, row, identities)
            added += 1
    return Inserted(added, first_id if added else None)


def _with_partition(table: StoredTable, rows: list[Row], running: RunningStatement) -> list[Row]:
    """Return the complete rows, without those that no partition holds or that refer to no row."""
    try:
        return [row for row in running.completed(table, rows) if running.has_parents(table, row)]
    except StatementError as fault:
        if fault.number != NO_PARTITION:
            raise
    half = len(rows) // 2
    return [row for part in (rows[:half], rows[half:]) if half for row in _with_partition(table, part, running)]


# -- REPLACE -----------------------------------------------------------------------------------------------------------


def _replace(table: StoredTable, rows: list[Row], running: RunningStatement) -> int:
    """Add rows; those in conflict with a row go first. Return how many rows were added or removed."""
    affected = 0
    for row, identities in zip(rows, running.identities(table, rows), strict=True):
        places = dict.fromkeys(place for _, place in table.keys.conflicts(identities))
        others = [table.rows[place] for place in places]
        if len(others) == 1 and others[0] == row:
            affected += 1  # the same row: TiDB writes nothing
            continue
        for other in others:
            running.remove(table, other, running.identities(table, [other])[0])
        running.add(table, row, identities)
        affected += 1 + len(others)
    return affected
