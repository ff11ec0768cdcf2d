"""Columns of rows as operands of SQL expressions, also generated columns, which rows may lack. Rule source:
pingcap/tidb ``pkg/table/column.go`` (``FillVirtualColumnValue``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from ticdc_emit.columnar.assignment import assign
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.schema.defaults import parse_moment, time_zone_of
from ticdc_emit.schema.expression_types import operand_of
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.call_tree import Reference, parse_call_tree
from ticdc_emit.sql.evaluation.values import NotExactError, Value, column_value, map_values
from ticdc_emit.sql.expressions import evaluate
from ticdc_emit.sql.types import MySQLType
from ticdc_emit.sql.words import to_lower


def _in_session(column: Column, how: Rendering, text: str) -> str:
    moment, fsp = parse_moment(text, column.fraction_digits), column.fraction_digits
    if moment.is_zero:
        return text
    return moment.in_zone(time_zone_of(how.zone), time_zone_of(how.session_zone)).text(fsp)


class ColumnValues:
    """Columns as values of expressions. ``held``: a column's accepted values, ``None`` for one to be computed."""

    def __init__(self, info: TableInfo, held: Callable[[Column], pa.Array | None], count: int, how: Rendering) -> None:
        self._info = info
        self._held = held
        self._count = count
        self._how = how
        self._accepted: dict[str, pa.Array] = {}
        self._values: dict[str, Value] = {}
        self._pending: set[str] = set()

    def accepted(self, column: Column) -> pa.Array:
        """Return accepted values. Raises :class:`NotExactError`, and :class:`EvaluationError` where TiDB fails, too."""
        name = column.name
        if name not in self._accepted:
            held = self._held(column)
            self._accepted[name] = self._compute(column) if held is None else held
        return self._accepted[name]

    def value(self, column: Column) -> Value:
        """Return :meth:`accepted` as an operand."""
        if column.type is MySQLType.VECTOR_FLOAT32:
            raise NotExactError(f"{column.name} is a vector")
        if column.name not in self._values:
            data, how = self.accepted(column), self._how
            if column.type is MySQLType.TIMESTAMP and how.session_zone != how.zone:
                data = map_values(partial(_in_session, column, how), pa.string(), data)
            self._values[column.name] = column_value(operand_of(column), data)
        return self._values[column.name]

    def _compute(self, column: Column) -> pa.Array:
        if column.name in self._pending:
            raise NotExactError(f"the column {column.name} is computed from itself")
        self._pending.add(column.name)
        try:
            value = evaluate(parse_call_tree(column.generated_expr), self.resolve)
        finally:
            self._pending.discard(column.name)
        return assign(column, value, self._count, self._how)

    def resolve(self, reference: Reference) -> Value:
        wanted = to_lower(reference.name)
        column = next((each for each in self._info.columns if to_lower(each.name) == wanted), None)
        if column is None:
            raise NotExactError(f"it names {reference.name}, which has no value here")
        return self.value(column)
