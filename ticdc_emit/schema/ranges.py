"""RANGE partitions over one value, and INTERVAL partitions spelled out (pingcap/tidb: ``pkg/ddl/partition.go``)."""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.defaults import parse_moment
from ticdc_emit.schema.store import TableState
from ticdc_emit.sql.nodes.alter import AddPartitions, AlterSpec, ChangePartitions, IntervalChange
from ticdc_emit.sql.nodes.base import Node
from ticdc_emit.sql.nodes.expressions import Constant, MaxValue, Parenthesised, Unary
from ticdc_emit.sql.nodes.statements import AlterTable
from ticdc_emit.sql.nodes.tables import (
    MAX_PARTITIONS,
    Interval,
    PartitionDefinition,
    Partitioning,
    PartitionKey,
    PartitionValues,
)
from ticdc_emit.sql.types import INTEGER_TYPES, MySQLType

MAXVALUE = "MAXVALUE"
Bound: TypeAlias = Any  # int, or datetime without a zone
_SECONDS = {"SECOND": 1, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


@dataclass(frozen=True)
class RangeKind:
    """Bounds: integers, dates (``fsp`` -1) or date-times with ``fsp`` digits."""

    is_integer: bool
    fsp: int = -1

    def read(self, node: Node) -> Bound:
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
        if self.is_integer:
            return int(text)
        try:
            moment = parse_moment(text, max(self.fsp, 0))
            return dt.datetime.fromisoformat(moment.date_text() if self.fsp < 0 else moment.text(self.fsp and 6))
        except ValueError:
            raise DdlError(f"the bound {text!r} is not a date") from None

    def text(self, bound: Bound) -> str:
        if self.is_integer:
            return str(bound)
        if self.fsp < 0:
            return str(bound.date())
        return str(bound.isoformat(" ", "microseconds"))[: 19 + (self.fsp and self.fsp + 1)]

    def node(self, text: str) -> Node:
        if not self.is_integer:
            return Constant("string", text, "utf8mb4")
        number: Node = Constant("integer", text.removeprefix("-"))
        return Unary("-", number) if text.startswith("-") else number

    def after(self, bound: Bound, amount: int, unit: str) -> Bound:
        """Return the bound plus an amount of a unit ("" for integers); a day that a month lacks becomes its last."""
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
    column = state.column(key.columns[0].name) if key.columns else None
    if column is None or column.type in INTEGER_TYPES:
        return RangeKind(True)
    if column.type is MySQLType.DATE:
        return RangeKind(False)
    return RangeKind(False, column.fraction_digits) if column.type is MySQLType.DATETIME else None


def _shown(kind: RangeKind, bound: Node) -> str:
    if isinstance(bound, MaxValue):
        return MAXVALUE
    try:
        return kind.text(kind.read(bound))
    except DdlError:
        return ""


_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "SECOND")
_MAXVALUE, _PREFIX = "P_MAXVALUE", "P_LT_"
_UNSUPPORTED = {"MERGE FIRST": "MERGE FIRST PARTITION", "SPLIT MAXVALUE": "SPLIT MAXVALUE PARTITION"}
_SPELL_OUT = "Write the partitions out"


def alter_spelled_out(
    statement: AlterTable, query: str, state: TableState, quote: Callable[[str], str]
) -> tuple[AlterTable, str]:
    """Return the statement as TiDB runs it, and the text of its job; both as given without INTERVAL."""
    clauses: list[AlterSpec] = []
    for clause in reversed(statement.clauses):  # so that inserted text does not move other clauses
        if isinstance(clause, ChangePartitions) and clause.by is not None and clause.by.key.interval is not None:
            by, query = spelled_out(clause.by, query, state, quote)
            clause = replace(clause, by=by)
        elif isinstance(clause, IntervalChange):
            changed = _convert_change(clause, state)
            if isinstance(changed, AddPartitions):
                words = f"ADD PARTITION ({_definitions_text(changed.definitions, quote)})"
            else:
                words = f"DROP PARTITION {', '.join(map(quote, changed.names))}"
            query, clause = query[: clause.start] + words + query[clause.end :], changed
        clauses.insert(0, clause)
    return replace(statement, clauses=tuple(clauses)), query


def _definitions_text(definitions: tuple[PartitionDefinition, ...], quote: Callable[[str], str]) -> str:
    parts = []
    for definition in definitions:
        assert definition.values is not None
        ((bound,),) = definition.values.rows
        text = bound.restore()
        if isinstance(bound, Constant) and isinstance(bound.value, str) and bound.kind == "string":
            text = f"'{bound.value}'"
        parts.append(f"PARTITION {quote(definition.name)} VALUES LESS THAN ({text})")
    return ",\n ".join(parts)


# -- CREATE TABLE and PARTITION BY -------------------------------------------------------------------------------------


def spelled_out(
    by: Partitioning, query: str, state: TableState, quote: Callable[[str], str]
) -> tuple[Partitioning, str]:
    """Return INTERVAL partitions as definitions, and the text of the job. ``state``: the table."""
    interval = by.key.interval
    assert interval is not None
    try:
        definitions = _definitions(by, interval, state)
    except DdlError as error:
        raise DdlError(error.message, position=interval.start, remedy=error.remedy or _SPELL_OUT) from None
    text = query[: interval.start] + f"({_definitions_text(definitions, quote)})" + query[interval.end :]
    return replace(by, key=replace(by.key, interval=None), definitions=definitions), text


def _definitions(by: Partitioning, interval: Interval, state: TableState) -> tuple[PartitionDefinition, ...]:
    if by.definitions:
        raise DdlError("INTERVAL together with definitions of partitions", remedy="Leave out one of them")
    if interval.first is None or interval.last is None:
        raise DdlError("INTERVAL partitioning needs FIRST PARTITION and LAST PARTITION")
    if interval.null_partition:
        raise DdlError("INTERVAL partitioning with NULL PARTITION is not understood")
    if interval.unit and interval.unit not in _UNITS:
        raise DdlError(
            f"TiDB does not allow {interval.unit} in INTERVAL partitioning", remedy=f"Use {', '.join(_UNITS)}"
        )
    kind = range_kind(by.key, state)
    if kind is None:
        raise DdlError("INTERVAL partitioning is by one integer, DATE or DATETIME")
    if bool(interval.unit) is kind.is_integer:
        what = "an integer has no time unit" if kind.is_integer else "dates need a time unit, as in INTERVAL (1 MONTH)"
        raise DdlError(f"INTERVAL partitioning: {what}")
    first, last, given = kind.read(interval.first), kind.read(interval.last), interval.amount
    amount = int(str(given.value)) if isinstance(given, Constant) and given.kind == "integer" else 0
    if amount <= 0:
        raise DdlError("INTERVAL partitioning needs a whole number above 0")
    bounds = _steps(kind, first, last, amount, interval.unit)
    definitions = [_definition(kind, bound) for bound in bounds]
    if interval.max_partition:
        definitions.append(_named(_MAXVALUE, MaxValue()))
    return tuple(definitions)


def _steps(kind: RangeKind, first: Bound, last: Bound, amount: int, unit: str) -> list[Bound]:
    bounds: list[Bound] = []
    while not bounds or bounds[-1] < last:
        if len(bounds) > MAX_PARTITIONS:
            raise DdlError(f"more than {MAX_PARTITIONS} partitions")
        bounds.append(kind.after(first, len(bounds) * amount, unit))
    if bounds[-1] != last or len(set(bounds)) < len(bounds):
        raise DdlError(f"the last bound is not the first one and n intervals of {amount}{' ' if unit else ''}{unit}")
    return bounds


def _definition(kind: RangeKind, bound: Bound) -> PartitionDefinition:
    text = kind.text(bound)
    return _named(_PREFIX + text, kind.node(text))


def _named(name: str, bound: Node) -> PartitionDefinition:
    return PartitionDefinition(name, PartitionValues("LESS THAN", ((bound,),)))


# -- FIRST PARTITION and LAST PARTITION --------------------------------------------------------------------------------


def _convert_change(clause: IntervalChange, state: TableState) -> AddPartitions | ChangePartitions:
    if words := _UNSUPPORTED.get(clause.words):
        raise DdlError(f"TiDB does not run {words}", position=clause.start, remedy="Use REORGANIZE PARTITION")
    try:
        return _first_or_last(clause, state)
    except DdlError as error:
        remedy = error.remedy or "Use ADD PARTITION or DROP PARTITION"
        message = f"{clause.words} PARTITION: {error.message}"
        raise DdlError(message, position=clause.start, remedy=remedy, table=state.info.full_name) from None


def _first_or_last(clause: IntervalChange, state: TableState) -> AddPartitions | ChangePartitions:
    if not state.info.partitions or state.partitioning is None:
        raise DdlError("the table is not partitioned")
    kind = range_kind(state.partitioning, state)
    names = [partition.name for partition in state.info.partitions]
    texts = [] if kind is None else [_shown(kind, state.partition_values[name].rows[0][0]) for name in names]
    if kind is None or "" in texts:
        raise DdlError("the bounds of its partitions are not known")
    has_maximum = texts[-1] == MAXVALUE
    bounds = [kind.parsed(text) for text in texts[: len(texts) - has_maximum]]
    amount, unit = _guess_interval(kind, bounds)
    wanted = kind.read(clause.bound)
    if clause.words == "LAST":
        if has_maximum:
            raise DdlError("a MAXVALUE partition exists")
        added = _steps(kind, bounds[-1], wanted, amount, unit)[1:]
        if not added:
            raise DdlError("it is the last partition already")
        if len(names) + len(added) > MAX_PARTITIONS:
            raise DdlError(f"more than {MAX_PARTITIONS} partitions")
        return AddPartitions(tuple(_definition(kind, bound) for bound in added))
    dropped = len(_steps(kind, bounds[0], wanted, amount, unit)) - 1
    if not dropped or dropped + 1 >= len(names):
        raise DdlError("no partition can be dropped, or the new first one would be the only one left")
    return ChangePartitions("drop", tuple(names[:dropped]))


_DAY = 24 * 60 * 60


def _guess_interval(kind: RangeKind, bounds: list[Bound]) -> tuple[int, str]:
    steps = len(bounds) - 1
    apart = kind.distance(bounds[0], bounds[-1]) // steps if steps > 0 else 0
    unit = ""
    if not kind.is_integer:
        unit = "SECOND"
        if apart >= 28 * _DAY:
            apart, unit = apart // ((28 if steps <= 3 else 30) * _DAY), "MONTH"
    if apart < 1 or [kind.after(bounds[0], number * apart, unit) for number in range(len(bounds))] != bounds:
        raise DdlError("the table does not look like one with INTERVAL partitioning")
    return apart, unit
