"""Values of stored generated columns.

In: a table, and the values of its other columns. Out: the values of its stored generated columns, in the order of their
dependencies. An expression that cannot be evaluated exactly (:mod:`ticdc_emit.sql.expressions`) is refused with the
reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa

from ticdc_emit.columnar.expressions import ColumnValues
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.errors import DdlError, SchemaError
from ticdc_emit.schema.defaults import column_names
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.call_tree import parse_call_tree
from ticdc_emit.traffic.generate.arrays import native_values

_RENDERING = Rendering("UTC")
_EVALUATION_ERRORS = (ValueError, ArithmeticError, TypeError, pa.ArrowException)


class GeneratedColumns:
    """The stored generated columns of a table, and the columns that they need.

    Raises :class:`SchemaError` for an expression that cannot be read, and for columns that refer to each other.
    """

    def __init__(self, info: TableInfo) -> None:
        self._info = info
        self._columns = {column.name.lower(): column for column in info.columns}
        self._evaluated = list(self._evaluation_order())

    @cached_property
    def operands(self) -> frozenset[str]:
        """The names of the other columns from which they are computed."""
        names = {name for each in self._evaluated for name in self._operands_of(each)}
        return frozenset(name for name in names if self._columns[name].generated is None)

    def add(self, values: dict[str, pa.Array], count: int) -> None:
        """Add their values to ``values`` of ``count`` rows, by name in lower case.

        Raises :class:`SchemaError` for an expression that cannot be evaluated, or fails at a value.
        """

        def held(column: Column) -> pa.Array | None:
            return None if column.generated is not None else accept(column, values[column.name.lower()], _RENDERING)

        columns = ColumnValues(self._info, held, count, _RENDERING)
        for column in self._evaluated:
            try:
                values[column.name.lower()] = native_values(column, columns.accepted(column))
            except _EVALUATION_ERRORS as fault:
                raise self._refusal(column, str(fault)) from None

    def _evaluation_order(self) -> Iterator[Column]:
        """Return the stored columns and the virtual ones that they name, those first that others name."""
        waiting = [column for column in self._info.columns if column.generated is not None and not column.hidden]
        while waiting:
            names = {column.name.lower() for column in waiting}
            ready = [each for each in waiting if not self._operands_of(each) & names]
            if not ready:
                raise SchemaError(
                    "generated columns refer to each other in a cycle",
                    remedy="Let each refer to columns before it only",
                    table=self._info.full_name,
                )
            for column in ready:
                if column.generated == "stored" or any(
                    column.name.lower() in self._operands_of(other) for other in waiting
                ):
                    try:
                        parse_call_tree(column.generated_expr)
                    except DdlError as fault:
                        raise self._refusal(column, fault.message) from None
                    yield column
                waiting.remove(column)

    def _operands_of(self, column: Column) -> set[str]:
        return {name.lower() for name in column_names(column.generated_expr)} & self._columns.keys()

    def _refusal(self, column: Column, why: str) -> SchemaError:
        return SchemaError(
            f"the generated column cannot be computed: {why}",
            remedy="Leave the column out of the schema, write another expression (docs/filters.md lists what can be "
            "evaluated), or give the columns in it smaller values with the option columns",
            table=self._info.full_name,
            column=column.name,
        )
