"""Columns of rows as operands of SQL expressions, and values of expressions as columns hold them.

In: a version of a table, and the accepted values of its columns (``columnar/values.py``). Out: the values with which
:func:`ticdc_emit.sql.expressions.evaluate` computes, also those of generated columns, which rows may lack; the accepted
form of a value that is assigned to a column. Rule source: pingcap/tidb ``pkg/table/column.go`` (``CastValue``,
``FillVirtualColumnValue``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.schema.expression_types import operand_of
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.call_tree import Reference, parse_call_tree
from ticdc_emit.sql.evaluation.values import (
    EvaluationError,
    Kind,
    NotExactError,
    Value,
    column_value,
    to_integer,
    to_text,
)
from ticdc_emit.sql.expressions import evaluate
from ticdc_emit.sql.types import FLOAT_TYPES, INTEGER_TYPES, INTEGERS_AND_YEAR, STRING_TYPES, MySQLType
from ticdc_emit.sql.words import to_lower


class ColumnValues:
    """The columns of ``count`` rows of a table version as values of expressions, each made once.

    ``held``: returns the accepted values of a column, ``None`` for a generated column that is to be computed.
    """

    def __init__(self, info: TableInfo, held: Callable[[Column], pa.Array | None], count: int, how: Rendering) -> None:
        self._info = info
        self._held = held
        self._count = count
        self._how = how
        self._accepted: dict[str, pa.Array] = {}
        self._values: dict[str, Value] = {}
        self._pending: set[str] = set()

    def accepted(self, column: Column) -> pa.Array:
        """Return the accepted values of a column; those of a generated one as its expression gives them.

        Raises :class:`NotExactError` for an expression that cannot be evaluated exactly, :class:`EvaluationError` for
        one at which TiDB fails, or whose value the column cannot hold.
        """
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
            self._values[column.name] = column_value(operand_of(column), self.accepted(column))
        return self._values[column.name]

    def _compute(self, column: Column) -> pa.Array:
        if column.name in self._pending:
            raise NotExactError(f"the column {column.name} is computed from itself")
        self._pending.add(column.name)
        try:
            value = evaluate(parse_call_tree(column.generated_expr), self._resolve)
        finally:
            self._pending.discard(column.name)
        return assign(column, value, self._count, self._how)

    def _resolve(self, reference: Reference) -> Value:
        wanted = to_lower(reference.name)
        column = next((each for each in self._info.columns if to_lower(each.name) == wanted), None)
        if column is None:
            raise NotExactError(f"it names {reference.name}, which has no value here")
        return self.value(column)


def assign(column: Column, value: Value, count: int, how: Rendering) -> pa.Array:
    """Return ``value`` in each of ``count`` rows as a column holds it when it is assigned, in its accepted form.

    Raises :class:`NotExactError` if how MySQL converts it is not known here, :class:`EvaluationError` if the column
    cannot hold it.
    """
    try:
        return accept(column, _convert(column, value, count), how)
    except ValueRefused as fault:
        raise EvaluationError(fault.reason) from None
    except pa.ArrowInvalid as fault:
        raise EvaluationError(str(fault)) from None


def _convert(column: Column, value: Value, count: int) -> pa.Array:
    if isinstance(value.data, pa.Scalar):
        value = replace(value, data=pa.repeat(value.data, count))
    kind, data = column.type, value.data
    if value.kind is Kind.NULL:
        return pa.nulls(count, pa.string())
    if value.kind is Kind.INT and (kind in INTEGERS_AND_YEAR or kind is MySQLType.NEWDECIMAL):
        return data.cast(pa.int64()) if pa.types.is_boolean(data.type) else data
    if value.kind is Kind.DECIMAL and (kind in INTEGER_TYPES or kind is MySQLType.NEWDECIMAL):
        scale = 0 if kind in INTEGER_TYPES else column.fraction_digits
        rounded = pc.round(data, scale, "half_towards_infinity") if data.type.scale > scale else data
        return rounded if kind is MySQLType.NEWDECIMAL else rounded.cast(pa.decimal128(38, 0))
    if value.kind is Kind.REAL and kind in FLOAT_TYPES and column.decimal < 0:
        return data
    if kind in STRING_TYPES:
        text = to_text(value).data
        return text.cast(pa.binary()) if column.is_binary else text
    if value.kind is Kind.LABEL and kind in INTEGER_TYPES:
        return to_integer(value)
    if value.kind is Kind.JSON and kind is MySQLType.JSON:
        return data
    if value.kind is Kind.DATETIME and _holds_date(column, value.fsp):
        return data
    raise NotExactError(f"{value.kind.value} in a column of {kind.name}")


def _holds_date(column: Column, fsp: int) -> bool:
    """Return whether a column holds a date, or a date and time, without a conversion."""
    if column.type is MySQLType.DATETIME:
        return 0 <= fsp <= column.fraction_digits
    return column.type is MySQLType.DATE and fsp < 0
