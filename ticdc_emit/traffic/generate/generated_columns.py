"""Values of stored generated columns, and of the model's expressions and functions, from those of other columns; what
cannot be evaluated exactly is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from ticdc_emit.columnar.expressions import ColumnValues
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.errors import DdlError, SchemaError
from ticdc_emit.schema.defaults import column_names
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.traffic.generate.arrays import native_type, native_values

_RENDERING = Rendering("UTC")
_EVALUATION_ERRORS = (DdlError, ValueError, ArithmeticError, TypeError, pa.ArrowException)


class GeneratedColumns:
    """A table's stored generated columns. ``expressions``: of other columns, which are computed like these."""

    def __init__(self, info: TableInfo, expressions: Mapping[str, str]) -> None:
        computed = [
            replace(each, generated="stored", generated_expr=expressions[each.name])
            if each.name in expressions
            else each
            for each in info.columns
        ]
        self._info = replace(info, columns=tuple(computed))
        self._expressions = expressions
        self._stored = [column for column in self._info.row_columns if column.generated == "stored"]

    @cached_property
    def operands(self) -> frozenset[str]:
        """The names of the other columns from which they are computed."""
        columns = {column.name.lower(): column for column in self._info.columns}
        waiting, names = list(self._stored), set()
        for column in waiting:
            for name in map(str.lower, column_names(column.generated_expr)):
                if columns[name].generated is None:
                    names.add(name)
                else:
                    waiting.append(columns[name])
        return frozenset(names)

    def add(self, values: dict[str, pa.Array], count: int) -> None:
        """Add their values to ``values`` of ``count`` rows, by name in lower case. Raises :class:`SchemaError`."""

        def held(column: Column) -> pa.Array | None:
            return None if column.generated is not None else accept(column, values[column.name.lower()], _RENDERING)

        columns = ColumnValues(self._info, held, count, _RENDERING)
        for column in self._stored:
            try:
                values[column.name.lower()] = native_values(column, columns.accepted(column))
            except _EVALUATION_ERRORS as fault:
                what = "expression" if column.name in self._expressions else "generated column"
                why = fault.message if isinstance(fault, DdlError) else str(fault)
                raise SchemaError(
                    f"the {what} cannot be computed: {why}",
                    remedy="Leave the column out, write another expression (docs/config.md lists what can be "
                    "evaluated), or give the columns in it smaller values with a model",
                    table=self._info.full_name,
                    column=column.name,
                ) from None


def called(
    function: Callable[[dict[str, pa.Array]], Any], info: TableInfo, column: Column, rows: Mapping[str, pa.Array]
) -> pa.Array:
    """Return the values of a column that the user's function makes of those of other columns. Raises
    :class:`SchemaError` for a fault in it, and for what the column cannot hold.
    """
    count, kind = len(next(iter(rows.values()))), native_type(column)
    if not count:
        return pa.array([], kind)
    try:
        made = function(dict(rows))
        made = made.combine_chunks() if isinstance(made, pa.ChunkedArray) else pa.array(made)
        if len(made) == count:
            accepted = accept(column, made, _RENDERING)
            return made if made.type == kind else native_values(column, accepted)
        why = f"it returned {len(made)} values for {count} rows"
    except ValueRefused as fault:
        why = f"it returned {made[fault.index].as_py()!r}: {fault.reason}"
    except Exception as fault:  # of the user's code
        why = f"{type(fault).__name__}: {fault}"
    raise SchemaError(
        f"the function of values failed: {why}",
        remedy="Return an Arrow array with a value for each row, of the column's type, from arrays of any length",
        table=info.full_name,
        column=column.name,
    )
