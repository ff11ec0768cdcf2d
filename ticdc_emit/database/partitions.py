"""Which partition a row is in (pingcap/tidb: ``pkg/table/tables/partition.go``); how KEY hashes is not known here."""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import pyarrow as pa

from ticdc_emit.columnar.assignment import SqlRules, assign_each
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.database.expressions import expression_errors, no_column
from ticdc_emit.database.row_values import canonical_texts, column_values
from ticdc_emit.errors import StatementError
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.row_versions import Row
from ticdc_emit.schema.store import TableState
from ticdc_emit.sql.call_tree import call_tree
from ticdc_emit.sql.evaluation.comparisons import collation_keys
from ticdc_emit.sql.evaluation.values import Kind, NotExactError, Value
from ticdc_emit.sql.expressions import evaluate
from ticdc_emit.sql.nodes.base import Node
from ticdc_emit.sql.nodes.expressions import Default, MaxValue
from ticdc_emit.sql.nodes.tables import PartitionValues
from ticdc_emit.sql.types import CALENDAR_TYPES, INTEGER_TYPES, STRING_TYPES

NO_PARTITION = 1526
_NULL, _MAXVALUE, _DEFAULT = (0,), (2,), (3,)
"""Parts of keys, by which a row has its partition, in their order; a value is (1, value)."""
_ZERO_DATES = SqlRules(zero_dates=True, zero_in_dates=True)
_Key: TypeAlias = "tuple[tuple[Any, ...], ...]"


def partitions_of(state: TableState, rows: Sequence[Row], how: Rendering) -> list[str | None]:
    """Return the name of each row's partition, ``None`` without one. Raises ``NotExactError``, ``EvaluationError``."""
    key, names = state.partitioning, [partition.name for partition in state.info.partitions]
    if not rows:
        return []
    if key is None or key.method not in ("range", "list", "hash"):
        raise NotExactError(f"the table {state.info.full_name} is not partitioned by RANGE, LIST or HASH")
    columns, own = column_values(state.info, rows, how), tuple(map(state.column, state.partition_columns))
    if key.expression is None:
        parts = [_in_order(column, canonical_texts(column, columns.accepted(column))) for column in own]
    else:
        parts, own = [_numbers(evaluate(call_tree(key.expression.node), columns.resolve))], ()
    keys: list[_Key] = list(zip(*parts, strict=True))
    if key.method == "hash":
        return [names[_hashed(*each[0][1:]) % len(names)] for each in keys]
    held = _held(tuple(state.partition_values[name] for name in names), own, how)
    if key.method == "range":
        bounds = [bound for (bound,) in held]
        return [[*names, None][bisect_right(bounds, each)] for each in keys]
    by_key = {each: name for name, listed in zip(names, held, strict=True) for each in listed}
    return [by_key.get(each, by_key.get((_DEFAULT,))) for each in keys]


def check_partitions(state: TableState, rows: Sequence[Row], how: Rendering) -> None:
    last = state.partition_values.get(state.info.partitions[-1].name) if state.info.partitions else None
    if last is None or isinstance(last.rows[0][0], MaxValue):
        return
    with expression_errors():
        names = partitions_of(state, rows, how)
    if None in names:
        row = rows[names.index(None)]
        raise StatementError(
            f"Table has no partition for value {', '.join(str(row.get(name)) for name in state.partition_columns)}",
            remedy="Add a partition that holds it",
            number=NO_PARTITION,
            table=state.info.full_name,
        )


def _in_order(column: Column, texts: Sequence[str | None]) -> list[tuple[Any, ...]]:
    items: Sequence[Any] = texts
    if column.type in INTEGER_TYPES:
        items = [None if text is None else int(text) for text in texts]
    elif column.is_binary:
        items = [None if text is None else base64.b64decode(text) for text in texts]
    elif column.type in STRING_TYPES:
        items = collation_keys(pa.array(texts, pa.string()), column.collate, ordered=True).to_pylist()
    elif column.type not in CALENDAR_TYPES:
        raise NotExactError(f"partitions by {column.name}")
    return [_NULL if item is None else (1, item) for item in items]


def _numbers(value: Value) -> list[tuple[Any, ...]]:
    if value.kind not in (Kind.INT, Kind.NULL):
        raise NotExactError(f"partitions by {value.kind.value}")
    items = [value.data.as_py()] if value.is_constant else value.data.to_pylist()
    return [_NULL if item is None else (1, int(item)) for item in items]


def _hashed(number: int = 0) -> int:
    return abs((number + (1 << 63)) % (1 << 64) - (1 << 63))


@lru_cache(maxsize=64)
def _held(values: tuple[PartitionValues, ...], columns: tuple[Column, ...], how: Rendering) -> list[list[_Key]]:
    rows = [[[row[0] for row in each.rows]] if each.kind == "LESS THAN" else each.rows for each in values]
    return [[tuple(_constant(n, columns[at : at + 1], how) for at, n in enumerate(row)) for row in own] for own in rows]


def _constant(node: Node, column: Sequence[Column], how: Rendering) -> tuple[Any, ...]:
    if isinstance(node, MaxValue | Default):
        return _MAXVALUE if isinstance(node, MaxValue) else _DEFAULT
    value = evaluate(call_tree(node), no_column)
    parts = [_in_order(own, canonical_texts(own, assign_each(own, [value], how, _ZERO_DATES))) for own in column]
    return (parts or [_numbers(value)])[0][0]
