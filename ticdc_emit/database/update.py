"""UPDATE, DELETE and ON DUPLICATE KEY UPDATE: the rows for which WHERE is true, and what becomes of them.

TiDB checks the keys of one changed row after the other, in the order in which it reads them: where keys change places
among the rows of one statement, it is refused. Rule source: pingcap/tidb
``pkg/executor/{update,delete,write,insert}.go``, ``pkg/planner/core/point_get_plan.go``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from typing import Any

from ticdc_emit.columnar.assignment import BEYOND_RANGE, NOT_NULL, assign, assign_each
from ticdc_emit.columnar.expressions import ColumnValues
from ticdc_emit.database.expressions import Scope, expression_errors, matching, unsupported, value_of
from ticdc_emit.database.insert import default_text, new_rows
from ticdc_emit.database.partitions import partitions_of
from ticdc_emit.database.row_values import canonical_texts, column_values
from ticdc_emit.database.statement import RunningStatement
from ticdc_emit.database.transaction import Stored, StoredTable
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.row_versions import Row
from ticdc_emit.sql import nodes
from ticdc_emit.sql.call_tree import Call, CallTree, Constant, Reference
from ticdc_emit.sql.evaluation.values import OUT_OF_RANGE, EvaluationError
from ticdc_emit.sql.types import FLOAT_TYPES, INTEGER_TYPES, ColumnFlag, MySQLType

_OVERFLOWING = INTEGER_TYPES | FLOAT_TYPES | {MySQLType.NEWDECIMAL}
_ONE_TABLE = "Write one statement for each table, with the values themselves"


def update(statement: nodes.Update, running: RunningStatement) -> int:
    table, scope = _only_table(statement, running, "UPDATE")
    assignments = _assignments(statement.assignments, scope)
    condition = None if statement.where is None else scope.bind(statement.where)
    rows = _matching_rows(table, condition, running)
    changed = _changed_rows(table, rows, assignments, condition, running) if rows else []
    if changed:
        _write(table, changed, running)
    return len(changed)


def delete(statement: nodes.Delete, running: RunningStatement) -> int:
    table, scope = _only_table(statement, running, "DELETE")
    condition = None if statement.where is None else scope.bind(statement.where)
    rows = _matching_rows(table, condition, running)
    for row in running.stored(table, rows):
        running.write(table, row, None)
    return len(rows)


def _only_table(
    statement: nodes.Update | nodes.Delete, running: RunningStatement, word: str
) -> tuple[StoredTable, Scope]:
    found = list(nodes.sources(statement.tables))
    if len(found) != 1:
        raise unsupported(f"{word} of several tables, a join,", _ONE_TABLE)
    (source,) = found
    if not isinstance(source.origin, nodes.TableName):
        raise unsupported(f"{word} of a subquery", _ONE_TABLE)
    if source.partitions or source.as_of is not None or source.sample is not None:
        raise unsupported(f"PARTITION, AS OF or TABLESAMPLE in {word}", "Leave it out")
    if "IGNORE" in statement.options:
        raise unsupported(f"{word} IGNORE", "Leave IGNORE out")
    if statement.tail.order is not None:
        raise unsupported(f"ORDER BY in {word}", "Name the rows in WHERE")
    if statement.tail.limit is not None:
        raise unsupported(f"LIMIT in {word}", "Name the rows in WHERE")
    table = running.table(source.origin)
    return table, Scope(running.values, table.info, source.alias)


# -- which rows --------------------------------------------------------------------------------------------------------


def _matching_rows(table: StoredTable, condition: CallTree | None, running: RunningStatement) -> list[Row]:
    if condition is None:
        return list(table.rows.values())
    rows = _by_key(table, condition, running)
    if rows is None:
        rows = list(table.rows.values())
    columns = column_values(table.info, rows, running.rendering)
    return [rows[place] for place in matching(condition, columns, len(rows))]


def _by_key(table: StoredTable, condition: CallTree, running: RunningStatement) -> list[Row] | None:
    handle = table.info.whole_handle_key
    if not handle or any(column.type not in INTEGER_TYPES for column in handle):
        return None
    wanted = dict(_equalities(condition))
    numbers = [wanted.get(column.name) for column in handle]
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        return None
    row = table.rows.get(tuple(map(str, numbers)))
    return [] if row is None else [row]


def _equalities(condition: CallTree) -> Iterator[tuple[str, Any]]:
    """Yield what a condition compares with columns, and ("", None) for each part of it that does something else."""
    match condition:
        case Call("and", (left, right)):
            yield from _equalities(left)
            yield from _equalities(right)
        case Call("=", (Reference(name), Constant(value))) | Call("=", (Constant(value), Reference(name))):
            yield name, value
        case Call("=", (Reference(name), Call("negated", (Constant(int() as number),)))):
            yield name, -number
        case _:
            yield "", None


def _is_point(table: StoredTable, condition: CallTree | None) -> bool:
    """Whether TiDB reads one row by a unique key, and then casts what is assigned first."""
    if condition is None:
        return False
    names = {name for name, _ in _equalities(condition)}
    return any({column.name for column in key.columns} == names for key in table.keys.keys)


# -- UPDATE ------------------------------------------------------------------------------------------------------------


def _assignments(assigned: Sequence[nodes.Assigned], scope: Scope) -> dict[Column, CallTree | Column]:
    assignments: dict[Column, CallTree | Column] = {}
    for each in assigned:
        column = scope.column(each.column)
        if column in assignments:
            raise unsupported(f"UPDATE that assigns to {column.name} twice", "Assign to each column once")
        value: CallTree | Column
        if isinstance(each.value, nodes.Default):
            if column.generated and each.value.column is None:
                continue
            value = column if each.value.column is None else scope.column(each.value.column)
        else:
            value = scope.bind(each.value)
        scope.refuse_generated(column)
        assignments[column] = value
    return assignments


def _changed_rows(
    table: StoredTable,
    rows: list[Row],
    assignments: dict[Column, CallTree | Column],
    condition: CallTree | None,
    running: RunningStatement,
) -> list[tuple[Row, Row]]:
    columns = column_values(table.info, rows, running.rendering)
    overflowing = {MySQLType.NEWDECIMAL} if _is_point(table, condition) else set()
    assigned = {
        column.name: _assigned_texts(column, value, columns, len(rows), running, overflowing)
        for column, value in assignments.items()
    }
    changed: list[tuple[Row, Row]] = []
    for place, row in enumerate(rows):
        new = {**row, **{name: texts[place] for name, texts in assigned.items()}}
        is_changed = any(differs(column, row[column.name], new[column.name]) for column in assignments)
        if is_changed or running.writes_unchanged:
            changed.append((row, new | _moments_of_update(table, assignments, running)))
    completed = running.completed(table, [new for _, new in changed])
    return [(old, new) for (old, _), new in zip(changed, completed, strict=True)]


def _assigned_texts(
    column: Column,
    value: CallTree | Column,
    columns: ColumnValues,
    count: int,
    running: RunningStatement,
    overflowing: Set[MySQLType],
) -> list[str | None]:
    """Return what a column is assigned. ``overflowing``: types beyond whose range TiDB has another error."""
    if isinstance(value, Column):
        return [default_text(value, column, running)] * count
    operand = value_of(value, columns, running.values)
    rules = replace(running.rules, casts=True)
    with expression_errors(column.name):
        try:
            if operand.is_constant:
                return canonical_texts(column, assign_each(column, [operand], running.rendering, rules)) * count
            return canonical_texts(column, assign(column, operand, count, running.rendering, rules))
        except EvaluationError as fault:
            if fault.number == BEYOND_RANGE and column.type in overflowing:
                raise EvaluationError(str(fault), OUT_OF_RANGE) from None
            if fault.number == NOT_NULL:
                raise EvaluationError(f"Column '{column.name}' cannot be null", NOT_NULL) from None
            raise


def differs(column: Column, old: str | None, new: str | None) -> bool:
    """Return whether two values of a column, in canonical text, are different ones to TiDB."""
    if old == new:
        return False
    if old is None or new is None:
        return True
    if column.type in FLOAT_TYPES:
        return float(old) != float(new)
    return column.type is not MySQLType.JSON or not _is_same_json(json.loads(old), json.loads(new))


def _is_same_json(old: Any, new: Any) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_is_same_json(old[name], new[name]) for name in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_is_same_json, old, new))
    return isinstance(old, bool) == isinstance(new, bool) and bool(old == new)


def _moments_of_update(
    table: StoredTable, assignments: dict[Column, CallTree | Column], running: RunningStatement
) -> Row:
    return {
        column.name: running.moment(column)
        for column in table.info.row_columns
        if column.flags & ColumnFlag.ON_UPDATE_NOW and column not in assignments
    }


def _write(table: StoredTable, changed: Sequence[tuple[Row, Row]], running: RunningStatement) -> None:
    refuse_moves(table, changed, running)
    olds, news = (running.stored(table, rows) for rows in zip(*changed, strict=True))
    leaving = {
        (place, key)
        for old, new in zip(olds, news, strict=True)
        for place, key in enumerate(old.keys)
        if key is not None and key != new.keys[place]
    }
    for old, new in zip(olds, news, strict=True):
        if any((place, key) in leaving and key != old.keys[place] for place, key in enumerate(new.keys)):
            fault = "an UPDATE in which keys change places"
            raise unsupported(fault, "Write one UPDATE for each row, in an order that fits")
        _change(table, old, new, running)


def _change(table: StoredTable, old: Stored, new: Stored, running: RunningStatement) -> None:
    running.database.last_number(table.state)  # those of rows that exist, before the change
    running.database.raise_counter(table.info, new.row)
    running.write(table, old, new)


def refuse_moves(table: StoredTable, changed: Sequence[tuple[Row, Row]], running: RunningStatement) -> None:
    """Refuse changes that move a row to another partition: TiCDC reads two partitions as two tables, side by side."""
    state = table.state
    moved = [each for each in changed if any(each[0].get(key) != each[1].get(key) for key in state.partition_columns)]
    with expression_errors():
        places = [partitions_of(state, rows, running.rendering) for rows in zip(*moved, strict=True)]
    if moved and places[0] != places[1]:
        raise unsupported("an UPDATE that moves a row to another partition", "Delete the row, and insert it again")


# -- ON DUPLICATE KEY UPDATE -------------------------------------------------------------------------------------------


class _BothRows(Scope):
    def _bound(self, node: Any) -> Any:
        if isinstance(node, nodes.Values | nodes.ColumnName):
            column = self.column(node.column if isinstance(node, nodes.Values) else node)
            if column.is_virtual:
                raise unsupported(f"the virtual column {column.name} in ON DUPLICATE KEY UPDATE")
            return nodes.ColumnName((_inserted(column.name) if isinstance(node, nodes.Values) else column.name,))
        return super()._bound(node)


def _inserted(name: str) -> str:
    return f"VALUES({name})"


def insert_or_update(statement: nodes.Insert, running: RunningStatement) -> tuple[int, int | None]:
    """As ``insert``, but change the row that has a key of a new one, which counts twice. An assignment sees those
    before it.
    """
    table, rows, first_id = new_rows(statement, running)
    assigned, id_columns = list(statement.duplicate), set()
    for place, each in enumerate(assigned):
        if isinstance(each.value, nodes.Call) and each.value.name.upper() == "LAST_INSERT_ID" and each.value.arguments:
            assigned[place] = replace(each, value=each.value.arguments[0])
            id_columns.add(each.column.parts[-1].lower())
    scope = _BothRows(running.values, table.info)
    assignments = _assignments(assigned, scope)
    stored = table.info.row_columns
    both = replace(table.info, columns=(*stored, *(replace(each, name=_inserted(each.name)) for each in stored)))
    affected, last_id = 0, None
    for row, keys in running.stored(table, rows):
        found = table.keys.conflicts(keys)
        if not found:
            running.write(table, None, Stored(row, keys))
            affected, last_id = affected + 1, first_id if first_id is not None else last_id
            continue
        old = table.rows[found[0][1]]
        values = old | {_inserted(name): text for name, text in row.items()}
        for column, value in assignments.items():
            if value == Reference(_inserted(column.name)):
                values[column.name] = row[column.name]
                continue
            columns = column_values(both, [values], running.rendering)
            (values[column.name],) = _assigned_texts(column, value, columns, 1, running, _OVERFLOWING)
            if column.name.lower() in id_columns:
                last_id = int(values[column.name] or 0)
        if any(differs(column, old[column.name], values[column.name]) for column in assignments):
            changed = {name: values[name] for name in old} | _moments_of_update(table, assignments, running)
            (new,) = running.completed(table, [changed])
            refuse_moves(table, [(old, new)], running)
            before, after = running.stored(table, [old, new])
            _change(table, before, after, running)
            affected += 2
    return affected, last_id
