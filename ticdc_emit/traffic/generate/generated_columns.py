"""Values of stored generated columns, by the evaluator of filter expressions.

In: a table, and the values of its other columns. Out: the values of its stored generated columns, in the order of their
dependencies. An expression that cannot be evaluated exactly (:mod:`ticdc_emit.expressions`) is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.errors import DdlError, SchemaError
from ticdc_emit.expressions import evaluate
from ticdc_emit.expressions.values import EvaluationError, Kind, NotExactError, Value, of_column, to_integer, to_text
from ticdc_emit.schema.defaults import column_names
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.call_tree import CallTree, Reference, parse_call_tree
from ticdc_emit.sql.types import FLOAT_TYPES, INTEGER_TYPES, STRING_TYPES, MySQLType
from ticdc_emit.traffic.generate.arrays import native_values

__all__ = ["GeneratedColumns"]

_HOW = Rendering("UTC")
_FAULTS = (NotExactError, EvaluationError, ValueRefused, ArithmeticError, TypeError, pa.ArrowException)


@dataclass(frozen=True)
class _Computed:
    column: Column
    tree: CallTree


class GeneratedColumns:
    """The generated columns of a table that rows hold, and those that they need.

    Raises :class:`SchemaError` for an expression that cannot be read, and for columns that refer to each other.
    """

    def __init__(self, info: TableInfo) -> None:
        self._info = info
        self._columns = {column.name.lower(): column for column in info.columns}
        self._ordered = list(self._in_order())

    @property
    def operands(self) -> frozenset[str]:
        """The names of the other columns from which they are computed."""
        names = {name for each in self._ordered for name in _named(each.column, self._columns)}
        return frozenset(name for name in names if self._columns[name].generated is None)

    def add(self, values: dict[str, pa.Array], count: int) -> None:
        """Add their values to ``values`` of ``count`` rows, by name in lower case.

        Raises :class:`SchemaError` for an expression that cannot be evaluated, or fails at a value.
        """
        known: dict[str, Value] = {}
        for each in self._ordered:
            try:
                value = evaluate(each.tree, lambda reference: self._value(reference, values, known))
                accepted = accept(each.column, _converted(each.column, value, count), _HOW)
                values[each.column.name.lower()] = native_values(each.column, accepted)
            except _FAULTS as fault:
                raise self._refusal(each.column, getattr(fault, "reason", None) or str(fault)) from None

    def _value(self, reference: Reference, values: Mapping[str, pa.Array], known: dict[str, Value]) -> Value:
        name = reference.name.lower()
        if name not in known:
            if name not in values:
                raise NotExactError(f"it names {reference.name}, which has no value here")
            column = self._columns[name]
            known[name] = of_column(column, accept(column, values[name], _HOW))
        return known[name]

    def _in_order(self) -> Iterator[_Computed]:
        info = self._info
        waiting = [column for column in info.columns if column.generated is not None and not column.hidden]
        while waiting:
            names = {column.name.lower() for column in waiting}
            ready = [each for each in waiting if not _named(each, self._columns) & names]
            if not ready:
                raise SchemaError(
                    "generated columns refer to each other in a cycle",
                    remedy="Let each refer to columns before it only",
                    table=info.full_name,
                )
            for column in ready:
                if column.generated == "stored" or _is_used(column, waiting):
                    try:
                        yield _Computed(column, parse_call_tree(column.generated_expr))
                    except DdlError as fault:
                        raise self._refusal(column, fault.message) from None
                waiting.remove(column)

    def _refusal(self, column: Column, why: str) -> SchemaError:
        return SchemaError(
            f"the generated column cannot be computed: {why}",
            remedy="Leave the column out of the schema, write another expression (docs/filters.md lists what can be "
            "evaluated), or give the columns in it smaller values with the option columns",
            table=self._info.full_name,
            column=column.name,
        )


def _converted(column: Column, value: Value, count: int) -> pa.Array:
    """Return values as MySQL converts them to a column's type; :class:`NotExactError` if that is not known here."""
    kind, data = column.type, value.data
    if isinstance(data, pa.Scalar):
        data = pa.repeat(data, count)
    if value.kind is Kind.NULL:
        return pa.nulls(count, pa.string())
    if value.kind is Kind.INT and (kind in INTEGER_TYPES or kind in (MySQLType.NEWDECIMAL, MySQLType.YEAR)):
        return data.cast(pa.int64()) if pa.types.is_boolean(data.type) else data
    if value.kind is Kind.DECIMAL and (kind in INTEGER_TYPES or kind is MySQLType.NEWDECIMAL):
        scale = 0 if kind in INTEGER_TYPES else max(column.decimal, 0)
        rounded = pc.round(data, scale, "half_towards_infinity") if data.type.scale > scale else data
        return rounded if kind is MySQLType.NEWDECIMAL else rounded.cast(pa.decimal128(38, 0))
    if value.kind is Kind.REAL and kind in FLOAT_TYPES and column.decimal < 0:
        return data
    if kind in STRING_TYPES and not column.is_binary:
        text = to_text(value).data
        return pa.repeat(text, count) if isinstance(text, pa.Scalar) else text
    if value.kind is Kind.LABEL and kind in INTEGER_TYPES:
        return to_integer(value)
    same = {Kind.DATETIME: (MySQLType.DATE, MySQLType.DATETIME), Kind.JSON: (MySQLType.JSON,)}
    if kind in same.get(value.kind, ()) and (value.kind is Kind.JSON or (value.fsp < 0) is (kind is MySQLType.DATE)):
        return data
    raise NotExactError(f"{value.kind.value} in a column of {kind.name}")


def _named(column: Column, held: Mapping[str, Column]) -> set[str]:
    return {name.lower() for name in column_names(column.generated_expr)} & held.keys()


def _is_used(column: Column, among: Sequence[Column]) -> bool:
    return any(column.name.lower() in _named(other, {column.name.lower(): column}) for other in among)
