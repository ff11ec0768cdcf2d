"""The upper bounds of RANGE partitions over one value, in the text form that TiDB keeps.

Rule source: pingcap/tidb ``pkg/ddl/partition.go`` (``buildRangePartitionDefinitions``, ``getLowerBoundInt``).
"""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.inference.rewriting import rewritten
from ticdc_emit.schema.inference.typing import type_of
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.nodes.expressions import MaxValue, Parenthesised, Unary
from ticdc_emit.schema.nodes.literals import Constant
from ticdc_emit.schema.nodes.partitions import PartitionDefinition, PartitionKey
from ticdc_emit.schema.nodes.style import Node
from ticdc_emit.schema.state import Ranges, TableState
from ticdc_emit.schema.temporal import parse_moment
from ticdc_emit.schema.types import INTEGER_TYPES, ColumnFlag, MySQLType, integer_range

__all__ = ["MAXVALUE", "Bound", "RangeKind", "Ranges", "range_kind", "range_kind_of", "ranges_of", "with_ranges"]

MAXVALUE = "MAXVALUE"
Bound: TypeAlias = Any  # int, or datetime without a zone
_FIRST_DATE = "0000-01-01"
_LEAST = -(1 << 63)
_SECONDS = {"SECOND": 1, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


@dataclass(frozen=True)
class RangeKind:
    """The kind of bounds: integers, dates (``fsp`` -1) or date-times with ``fsp`` digits.

    ``floor`` is the least value, "" if unknown.
    """

    is_integer: bool
    floor: str
    fsp: int = -1

    def read(self, node: Node) -> Bound:
        """Return the value of a constant; ``DdlError`` if it is not a constant."""
        if isinstance(node, Parenthesised):
            return self.read(node.operand)
        negative = isinstance(node, Unary) and node.operator == "-"
        if isinstance(node, Unary) and node.operator in "+-":
            node = node.operand
        if isinstance(node, Constant) and node.kind == ("integer" if self.is_integer else "string"):
            text = str(node.value)
            return self.parsed(f"-{text}" if negative else text)
        raise DdlError(f"the bound {node.restore()} is not {'an integer' if self.is_integer else 'a date in quotes'}")

    def parsed(self, text: str) -> Bound:
        """Return the value of a bound's text."""
        if self.is_integer:
            return int(text)
        try:
            moment = parse_moment(text, max(self.fsp, 0))
            return dt.datetime.fromisoformat(moment.date_text() if self.fsp < 0 else moment.text(self.fsp and 6))
        except ValueError:
            raise DdlError(f"the bound {text!r} is not a date") from None

    def text(self, bound: Bound) -> str:
        """Return a bound as TiDB prints it."""
        if self.is_integer:
            return str(bound)
        if self.fsp < 0:
            return str(bound.date())
        return str(bound.isoformat(" ", "microseconds"))[: 19 + (self.fsp and self.fsp + 1)]

    def least(self) -> Node:
        """Return the bound of the partition for NULL only; ``DdlError`` if it is not known."""
        if not self.floor:
            raise DdlError("the type of the partitioning's expression is not known")
        if self.fsp < 0:
            return self.node(self.floor)
        return self.node(f"{self.floor} 00:00:00" + (f".{'0' * self.fsp}" if self.fsp else ""))

    def node(self, text: str) -> Node:
        """Return a bound's text as the node of a constant."""
        if not self.is_integer:
            return Constant("string", text, "utf8mb4")
        number: Node = Constant("integer", text.removeprefix("-"))
        return Unary("-", number) if text.startswith("-") else number

    def after(self, bound: Bound, amount: int, unit: str) -> Bound:
        """Return the bound plus an amount of a unit ("" for integers). A day that a month lacks becomes its last
        day.
        """
        if not unit:
            return bound + amount
        try:
            if unit in _SECONDS:
                moved = bound + dt.timedelta(seconds=amount * _SECONDS[unit])
                return moved.replace(hour=0, minute=0, second=0) if self.fsp < 0 else moved
            year, month = divmod(bound.year * 12 + bound.month - 1 + amount * _MONTHS[unit], 12)
            day = min(bound.day, calendar.monthrange(year, month + 1)[1])
            return bound.replace(year=year, month=month + 1, day=day)
        except (ValueError, OverflowError):
            raise DdlError("a bound is after the year 9999") from None

    def distance(self, first: Bound, last: Bound) -> int:
        """Return the distance between two bounds: a number, or whole seconds."""
        return last - first if self.is_integer else int((last - first).total_seconds())


def range_kind(key: PartitionKey, state: TableState) -> RangeKind | None:
    """Return the kind of a table's partitioning; ``None`` for several values, and for kinds without intervals."""
    if key.method != "range" or len(key.columns) > 1:
        return None
    if key.columns:
        return _of_column(state.column(key.columns[0].name))
    assert key.expression is not None
    try:
        unsigned = bool(type_of(rewritten(key.expression.node), state).flags & ColumnFlag.UNSIGNED)
    except DdlError:
        return RangeKind(True, "")
    return RangeKind(True, "0" if unsigned else str(_LEAST))


def _of_column(column: Column) -> RangeKind | None:
    if column.type in INTEGER_TYPES:
        unsigned = bool(column.flags & ColumnFlag.UNSIGNED)
        return RangeKind(True, str(integer_range(column.type, unsigned=unsigned)[0]))
    if column.type is MySQLType.DATE:
        return RangeKind(False, _FIRST_DATE)
    return RangeKind(False, _FIRST_DATE, max(column.decimal, 0)) if column.type is MySQLType.DATETIME else None


def range_kind_of(state: TableState) -> RangeKind | None:
    """Return the kind of a table's partitioning, like :func:`range_kind`."""
    ranges = state.ranges
    return None if ranges is None else RangeKind(ranges.is_integer, ranges.floor, ranges.fsp)


def ranges_of(key: PartitionKey, definitions: Iterable[PartitionDefinition], state: TableState) -> Ranges | None:
    """Return the bounds of a newly partitioned table; ``None`` unless they are of one known value."""
    kind = range_kind(key, state)
    if kind is None:
        return None
    return _with(Ranges(kind.is_integer, kind.floor, kind.fsp), kind, definitions)


def with_ranges(state: TableState, definitions: Iterable[PartitionDefinition]) -> TableState:
    """Return the state with the bounds of more partitions."""
    kind = range_kind_of(state)
    if state.ranges is None or kind is None:
        return state
    return replace(state, ranges=_with(state.ranges, kind, definitions))


def _with(ranges: Ranges, kind: RangeKind, definitions: Iterable[PartitionDefinition]) -> Ranges:
    bounds = dict(ranges.bounds)
    for definition in definitions:
        values = definition.values
        bound = values.rows[0][0] if values is not None and values.rows else None
        if bound is None:
            bounds[definition.name] = ""
        elif isinstance(bound, MaxValue):
            bounds[definition.name] = MAXVALUE
        else:
            bounds[definition.name] = _shown(kind, bound)
    return replace(ranges, bounds=bounds)


def _shown(kind: RangeKind, bound: Node) -> str:
    """Return a bound's text; "" if it is not a constant."""
    try:
        if not kind.is_integer and isinstance(bound, Constant) and str(bound.value).startswith(_FIRST_DATE):
            return str(bound.value)  # of the year 0, which is for NULL
        return kind.text(kind.read(bound))
    except DdlError:
        return ""
