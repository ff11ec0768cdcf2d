"""The values of a table's generated columns, computed from other columns.

In: a table, and SQL of the values of its other columns. Out: SQL of stored generated columns, and of those that they
need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ticdc_emit.errors import SchemaError
from ticdc_emit.schema.defaults import column_names
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.traffic.generate.expressions import generated

__all__ = ["add_computed"]


def add_computed(info: TableInfo, values: dict[str, str]) -> None:
    """Add the values of generated columns to ``values``, by name in lower case, in order of dependency.

    Raises :class:`SchemaError` for an expression that cannot be translated, and for cyclic dependencies.
    """
    held = {column.name.lower(): column for column in info.columns}
    waiting = [column for column in info.columns if column.generated is not None and not column.hidden]
    while waiting:
        ready = [each for each in waiting if not (_named(each, held) & {other.name.lower() for other in waiting})]
        if not ready:
            raise SchemaError(
                "generated columns refer to each other in a cycle",
                remedy="Let each refer to columns before it only",
                table=info.full_name,
            )
        for column in ready:
            if column.generated == "stored" or _is_used(column, waiting):
                values[column.name.lower()] = generated(column, held, values, info.full_name)
            waiting.remove(column)


def _named(column: Column, held: Mapping[str, Column]) -> set[str]:
    return {name.lower() for name in column_names(column.generated_expr)} & held.keys()


def _is_used(column: Column, among: Sequence[Column]) -> bool:
    return any(column.name.lower() in _named(other, {column.name.lower(): column}) for other in among)
