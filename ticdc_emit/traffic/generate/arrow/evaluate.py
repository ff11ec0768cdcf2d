"""Evaluate trees of Spark SQL over Arrow, with Spark's results.

In: :class:`~ticdc_emit.traffic.generate.arrow.parse.Node` and a record batch. Out: Arrow arrays of the types in which
Spark hands the same values to a Python worker: int is int32, bigint int64, timestamp_ntz timestamp[us], timestamp
timestamp[us, UTC]. A NULL condition chooses the second value; ``and`` and ``or`` have three-valued logic.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import COMPARISONS, UNCHECKED_ARITHMETIC
from ticdc_emit.traffic.generate.arrow.functions import FUNCTIONS
from ticdc_emit.traffic.generate.arrow.integers import INTEGERS, ints, xxhash64
from ticdc_emit.traffic.generate.arrow.parse import Node
from ticdc_emit.traffic.needs_spark import NeedsSparkError

__all__ = ["Layer"]

Value = Any
"""An Arrow array, or a scalar if the value is the same in every row."""

_TYPES = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "float": pa.float32(),
    "double": pa.float64(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamp": pa.timestamp("us", "UTC"),
    "array<bigint>": pa.list_(pa.int64()),
}
_KERNELS: dict[str, Callable[..., Value]] = {
    **COMPARISONS,
    **UNCHECKED_ARITHMETIC,
    "and": pc.and_kleene,
    "or": pc.or_kleene,
    "not": pc.invert,
    "negative": pc.negate,
    "is null": pc.is_null,
}


class Layer:
    """One ``SELECT``: expressions by name. Raises :class:`NeedsSparkError` for expressions that only Spark computes."""

    def __init__(self, expressions: Mapping[str, Node]) -> None:
        self._expressions = expressions
        uses: Counter[int] = Counter()
        nodes = list(expressions.values())
        while nodes:
            node = nodes.pop()
            uses[id(node)] += 1
            if uses[id(node)] == 1:
                nodes += node.parts
        self._shared = {node for node, count in uses.items() if count > 1}

    def __call__(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        evaluation = _Evaluation(rows, self._shared)
        return pa.record_batch({name: evaluation.array(node) for name, node in self._expressions.items()})


class _Evaluation:
    def __init__(self, rows: pa.RecordBatch, shared: set[int]) -> None:
        self._rows = rows
        self._shared = shared
        self._known: dict[int, Value] = {}

    def array(self, node: Node) -> pa.Array:
        value = self.of(node)
        return pa.repeat(value, self._rows.num_rows) if isinstance(value, pa.Scalar) else value

    def of(self, node: Node) -> Value:
        known = self._known.get(id(node))
        if known is None:
            known = self._computed(node)
            if id(node) in self._shared:
                self._known[id(node)] = known
        return known

    def _computed(self, node: Node) -> Value:
        kind = node.kind
        if kind == "column":
            return self._rows.column(node.value)
        if kind in _LITERALS:
            return _LITERALS[kind](node.value)
        if kind == "cast":
            return _cast(self.of(node.parts[0]), node.value)
        if kind in ("case", "if"):
            return self._case(node.parts)
        if kind == "named_struct":
            return self._struct(node.parts)
        values = [self.of(part) for part in node.parts]
        if kind in _KERNELS:
            return _KERNELS[kind](*values)
        if kind == "/":
            return pc.divide(*(value.cast(pa.float64()) for value in values))
        count = self._rows.num_rows
        if kind == "xxhash64":
            return xxhash64(values, count)
        if kind in INTEGERS:
            return self._integers(INTEGERS[kind], values)
        if kind in FUNCTIONS:
            return FUNCTIONS[kind](count, *values)
        raise NeedsSparkError(f"{kind} is not known here")

    def _integers(self, function: Callable[..., Any], values: list[Value]) -> pa.Array:
        """Apply a function of NumPy to integers: NULL for a NULL. The result is as wide as the widest of them."""
        count = self._rows.num_rows
        is_null = np.zeros(count, np.bool_)
        for value in values:
            if value.type not in (pa.int32(), pa.int64()):
                raise NeedsSparkError(f"{value.type} is not an integer")
            if isinstance(value, pa.Scalar):
                is_null |= not value.is_valid
            elif value.null_count:
                is_null |= value.is_null().to_numpy(zero_copy_only=False)
        widest = pa.int64() if any(value.type == pa.int64() for value in values) else pa.int32()
        with np.errstate(all="ignore"):
            result = function(*(ints(value, count) for value in values))
        return pa.array(result, widest, mask=is_null if is_null.any() else None)

    def _case(self, parts: tuple[Node, ...]) -> Value:
        """Return the value after the first condition that is true, else the last one."""
        values = [self.of(part) for part in parts]
        conditions, choices = values[:-1:2], _alike([*values[1:-1:2], values[-1]])
        chosen = choices[-1]
        for condition, choice in zip(reversed(conditions), reversed(choices[:-1]), strict=True):
            chosen = _chosen(condition, choice, chosen, self._rows.num_rows)
        return chosen

    def _struct(self, parts: tuple[Node, ...]) -> pa.StructArray:
        names = [self.of(part).as_py() for part in parts[::2]]
        return pa.StructArray.from_arrays([self.array(part) for part in parts[1::2]], names)


def _chosen(condition: Value, one: Value, other: Value, count: int) -> Value:
    if isinstance(condition, pa.Scalar):
        return one if condition.as_py() else other
    if not pa.types.is_struct(one.type):
        return pc.if_else(pc.fill_null(condition, False), one, other)
    is_one = pc.fill_null(condition, False).to_numpy(zero_copy_only=False)
    if isinstance(other, pa.Scalar) and not other.is_valid:
        return _masked(one, ~is_one)
    if isinstance(one, pa.Scalar) and not one.is_valid:
        return _masked(other, is_one)
    raise NeedsSparkError("a choice between two structs")


def _masked(struct: pa.StructArray, is_null: np.ndarray[Any, np.dtype[np.bool_]]) -> pa.StructArray:
    return pa.StructArray.from_arrays(struct.flatten(), fields=list(struct.type), mask=pa.array(is_null))


def _alike(values: list[Value]) -> list[Value]:
    """Return the values in one type: NULLs in that of the others, int32 beside int64 as int64."""
    types = {value.type for value in values if not pa.types.is_null(value.type)}
    if types == {pa.int32(), pa.int64()}:
        types = {pa.int64()}
    if len(types) != 1:
        raise NeedsSparkError(f"values of {len(types)} types")
    (common,) = types
    return [value if value.type == common else value.cast(common) for value in values]


def _cast(value: Value, name: str) -> Value:
    if name.startswith("decimal("):
        digits, scale = map(int, name[8:-1].split(","))
        target = pa.decimal128(digits, scale)
    elif name in _TYPES:
        target = _TYPES[name]
    else:
        raise NeedsSparkError(f"cast to {name}")
    source = value.type
    if source == target:
        return value
    from_text = pa.types.is_string(source) and not pa.types.is_timestamp(target) and not pa.types.is_binary(target)
    from_number = pa.types.is_integer(source) or pa.types.is_decimal(source)
    to_number = pa.types.is_integer(target) or pa.types.is_floating(target) or pa.types.is_decimal(target)
    is_known = (
        pa.types.is_null(source)
        or pa.types.is_list(source)
        or from_text
        or (from_number and (to_number or (pa.types.is_string(target) and pa.types.is_integer(source))))
        or (pa.types.is_floating(source) and (pa.types.is_floating(target) or target == pa.int64()))
    )
    if not is_known:
        raise NeedsSparkError(f"cast from {source} to {target}")
    return value.cast(target)


def _number(text: str) -> pa.Scalar:
    if text.endswith("BD"):
        digits = Decimal(text[:-2])
        return pa.scalar(digits)
    if text.endswith("L"):
        return pa.scalar(int(text[:-1]), pa.int64())
    if text.endswith("D"):
        return pa.scalar(float(text[:-1]))
    if not text.lstrip("-").isdigit():
        raise NeedsSparkError(f"number {text}")
    return pa.scalar(int(text), pa.int32())


def _typed(text: str) -> pa.Scalar:
    kind, inside = text[:-1].split("'", 1)
    if kind == "X":
        return pa.scalar(bytes.fromhex(inside))
    if kind == "date":
        return pa.scalar(dt.date.fromisoformat(inside))
    return pa.scalar(dt.datetime.fromisoformat(inside), pa.timestamp("us"))


def _string(text: str) -> pa.Scalar:
    escaped = text[1:-1]
    return pa.scalar(escaped.replace("\\'", "'").replace("\\\\", "\\") if "\\" in escaped else escaped)


_LITERALS: dict[str, Callable[[str], pa.Scalar]] = {
    "number": _number,
    "string": _string,
    "typed": _typed,
    "null": lambda _: pa.scalar(None),
}
