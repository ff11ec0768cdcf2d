"""Which partition a row is in: the value decides.

In: a table's partitioning, and rows in canonical text. Out: the name of each row's partition, or TiDB's error for a
value without one. NULL is below every value of RANGE, and 0 to HASH; how KEY hashes is not known here. Rule source:
pingcap/tidb ``pkg/table/tables/partition.go`` (``locatePartitionCommon``).
"""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import pyarrow as pa

from ticdc_emit.columnar.assignment import SqlRules, assign_each
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.database.refusals import expression_errors
from ticdc_emit.database.row_values import canonical_texts, column_values
from ticdc_emit.database.rows_after_ddl import Row
from ticdc_emit.errors import StatementError
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.store import TableState
from ticdc_emit.sql.call_tree import Reference, call_tree
from ticdc_emit.sql.evaluation.comparisons import collation_keys
from ticdc_emit.sql.evaluation.values import Kind, NotExactError, Value
from ticdc_emit.sql.expressions import evaluate
from ticdc_emit.sql.nodes.base import Node
from ticdc_emit.sql.nodes.expressions import Default, MaxValue
from ticdc_emit.sql.nodes.tables import PartitionValues
from ticdc_emit.sql.types import CALENDAR_TYPES, INTEGER_TYPES, STRING_TYPES

NO_PARTITION = 1526

_Key: TypeAlias = "tuple[tuple[Any, ...], ...]"
"""The values of a row by which it has its partition, in an order: NULL is (0,), a value (1, value), MAXVALUE (2,)."""
_NULL, _MAXVALUE, _ZERO_DATES = (0,), (2,), SqlRules(zero_dates=True, zero_in_dates=True)


def partitions_of(state: TableState, rows: Sequence[Row], how: Rendering) -> list[str | None]:
    """Return the name of each row's partition, ``None`` for a row that has none.

    Raises :class:`NotExactError` and :class:`EvaluationError` where that is not known here.
    """
    if not rows:
        return []
    key, names = state.partitioning, [partition.name for partition in state.info.partitions]
    if key is None or key.method not in ("range", "list", "hash"):
        raise NotExactError(f"the table {state.info.full_name} is not partitioned by RANGE, LIST or HASH")
    columns = column_values(state.info, rows, how)
    own = tuple(map(state.column, state.partition_columns))
    if key.expression is None:
        texts = [canonical_texts(column, columns.accepted(column)) for column in own]
        keys: list[_Key] = list(zip(*map(_in_order, own, texts), strict=True))
    else:
        keys = [((1, each),) if each is not None else (_NULL,) for each in _numbers(key.expression.node, columns)]
    if key.method == "hash":
        return [names[_hashed(*each[0][1:]) % len(names)] for each in keys]
    values = tuple(state.partition_values[name] for name in names)
    compared = own if key.expression is None else ()
    if key.method == "range":
        bounds = _bounds(values, compared, how)
        return [[*names, None][bisect_right(bounds, each)] for each in keys]
    listed, default = _listed(values, compared, how)
    return [[*names, None][listed.get(each, default)] for each in keys]


def check_partitions(state: TableState, rows: Sequence[Row], how: Rendering) -> None:
    """Refuse rows whose values no partition holds."""
    values = [each for p in state.info.partitions[-1:] if (each := state.partition_values.get(p.name)) is not None]
    if not rows or not values or any(isinstance(each.rows[0][0], MaxValue) for each in values):
        return
    with expression_errors():
        found = partitions_of(state, rows, how)
    if None in found:
        row = rows[found.index(None)]
        raise StatementError(
            f"Table has no partition for value {', '.join(str(row.get(name)) for name in state.partition_columns)}",
            remedy="Add a partition that holds it",
            number=NO_PARTITION,
            table=state.info.full_name,
        )


def _in_order(column: Column, texts: Sequence[str | None]) -> list[tuple[Any, ...]]:
    """Return values of a column, in canonical text, as parts of keys."""
    items: Sequence[Any] = texts
    if column.type in INTEGER_TYPES:
        items = [None if text is None else int(text) for text in texts]
    elif column.type in STRING_TYPES and column.is_binary:
        items = [None if text is None else base64.b64decode(text) for text in texts]
    elif column.type in STRING_TYPES:
        items = collation_keys(pa.array(texts, pa.string()), column.collate, ordered=True).to_pylist()
    elif column.type not in CALENDAR_TYPES:
        raise NotExactError(f"partitions by {column.name}")
    return [_NULL if item is None else (1, item) for item in items]


def _numbers(node: Node, columns: Any) -> list[int | None]:
    value = evaluate(call_tree(node), columns.resolve)
    if value.kind is not Kind.INT or value.is_constant:
        raise NotExactError(f"partitions by {value.kind.value}")
    return [None if each is None else int(each) for each in value.data.to_pylist()]


def _hashed(number: int = 0) -> int:
    return abs((number + (1 << 63)) % (1 << 64) - (1 << 63))


# -- what partitions hold ----------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _bounds(values: tuple[PartitionValues, ...], columns: tuple[Column, ...], how: Rendering) -> list[_Key]:
    return [_constants([row[0] for row in each.rows], columns, how) for each in values]


@lru_cache(maxsize=64)
def _listed(
    values: tuple[PartitionValues, ...], columns: tuple[Column, ...], how: Rendering
) -> tuple[dict[_Key, int], int]:
    """Return the number of the partition by what it lists, and that of the DEFAULT one, -1 without one."""
    listed, default = {}, -1
    for number, each in enumerate(values):
        for row in each.rows:
            if isinstance(row[0], Default):
                default = number
            else:
                listed[_constants(row, columns, how)] = number
    return listed, default


def _constants(row: Sequence[Node], columns: Sequence[Column], how: Rendering) -> _Key:
    return tuple(_constant(node, columns[place] if columns else None, how) for place, node in enumerate(row))


def _constant(node: Node, column: Column | None, how: Rendering) -> tuple[Any, ...]:
    if isinstance(node, MaxValue):
        return _MAXVALUE
    value = evaluate(call_tree(node), _no_column)
    if value.kind is Kind.NULL:
        return _NULL
    if column is None:
        if value.kind is not Kind.INT:
            raise NotExactError(f"partitions by {value.kind.value}")
        return (1, int(value.data.as_py()))
    return _in_order(column, canonical_texts(column, assign_each(column, [value], how, _ZERO_DATES)))[0]


def _no_column(reference: Reference) -> Value:
    raise NotExactError(f"the column {reference.name} in a partition's values")
