"""INTERVAL partitioning, which TiDB expands before it runs a statement. In: a statement. Out: the job's statement and
its text.

``INTERVAL (10) FIRST PARTITION LESS THAN (0) LAST ...`` becomes definitions, ``LAST PARTITION`` an ADD PARTITION,
``FIRST PARTITION`` a DROP PARTITION; partitions are called ``P_LT_`` and their bound. A job's text has only the
expanded form, so changefeeds never see the interval. Rule source: pingcap/tidb ``pkg/ddl/partition.go``
(``generatePartitionDefinitionsFromInterval``, ``GeneratePartDefsFromInterval``, ``getPartitionIntervalFromTable``) and
``pkg/ddl/executor.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.nodes import AddPartitions, AlterSpec, ChangePartitions, Partitioning
from ticdc_emit.schema.nodes.expressions import MaxValue
from ticdc_emit.schema.nodes.literals import Constant
from ticdc_emit.schema.nodes.minor_changes import IntervalChange
from ticdc_emit.schema.nodes.partitions import MAX_PARTITIONS, Interval, PartitionDefinition, PartitionValues
from ticdc_emit.schema.nodes.style import Node
from ticdc_emit.schema.ranges import MAXVALUE, Bound, RangeKind, range_kind, range_kind_of
from ticdc_emit.schema.state import TableState
from ticdc_emit.schema.statements import AlterTable, CreateTable

__all__ = ["alter_spelled_out", "create_spelled_out", "has_interval"]

_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "SECOND")
_NULL, _MAXVALUE, _PREFIX = "P_NULL", "P_MAXVALUE", "P_LT_"
_UNSUPPORTED = {"MERGE FIRST": "MERGE FIRST PARTITION", "SPLIT MAXVALUE": "SPLIT MAXVALUE PARTITION"}
_SPELL_OUT = "Write the partitions out"


def has_interval(statement: CreateTable | AlterTable) -> bool:
    """Return whether the statement uses intervals."""
    if isinstance(statement, CreateTable):
        return statement.partitioning is not None and statement.partitioning.key.interval is not None
    return any(_is_interval(clause) for clause in statement.clauses)


def _is_interval(clause: AlterSpec) -> bool:
    if isinstance(clause, ChangePartitions):
        return clause.by is not None and clause.by.key.interval is not None
    return isinstance(clause, IntervalChange)


def create_spelled_out(
    statement: CreateTable, query: str, state: TableState, quote: Callable[[str], str]
) -> tuple[CreateTable, str]:
    """Return the statement as TiDB runs it, and the text of its job.

    ``state`` is the new table without its partitions; ``quote`` quotes a name. Raises ``DdlError`` with ``position``
    for statements that TiDB refuses, and for bounds that are not constants.
    """
    assert statement.partitioning is not None
    by, text = _defined(statement.partitioning, query, state, quote)
    return replace(statement, partitioning=by), text


def alter_spelled_out(
    statement: AlterTable, query: str, state: TableState, quote: Callable[[str], str]
) -> tuple[AlterTable, str]:
    """Return the statement as TiDB runs it, and the text of its job, like :func:`create_spelled_out`."""
    clauses: list[AlterSpec] = []
    for clause in reversed(statement.clauses):  # so that inserted text does not move other clauses
        if isinstance(clause, ChangePartitions) and clause.by is not None and clause.by.key.interval is not None:
            by, query = _defined(clause.by, query, state, quote)
            clause = replace(clause, by=by)
        elif isinstance(clause, IntervalChange):
            changed = _changed(clause, state)
            if isinstance(changed, AddPartitions):
                words = f"ADD PARTITION ({_listed(changed.definitions, quote)})"
            else:
                words = f"DROP PARTITION {', '.join(map(quote, changed.names))}"
            query, clause = query[: clause.start] + words + query[clause.end :], changed
        clauses.insert(0, clause)
    return replace(statement, clauses=tuple(clauses)), query


def _listed(definitions: tuple[PartitionDefinition, ...], quote: Callable[[str], str]) -> str:
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


def _defined(by: Partitioning, query: str, state: TableState, quote: Callable[[str], str]) -> tuple[Partitioning, str]:
    interval = by.key.interval
    assert interval is not None
    try:
        definitions = _definitions(by, interval, state)
    except DdlError as error:
        raise DdlError(error.message, position=interval.start, remedy=error.remedy or _SPELL_OUT) from None
    text = query[: interval.start] + f"({_listed(definitions, quote)})" + query[interval.end :]
    return replace(by, key=replace(by.key, interval=None), definitions=definitions), text


def _definitions(by: Partitioning, interval: Interval, state: TableState) -> tuple[PartitionDefinition, ...]:
    if by.definitions:
        raise DdlError("INTERVAL together with definitions of partitions", remedy="Leave out one of them")
    if interval.first is None or interval.last is None:
        raise DdlError("INTERVAL partitioning needs FIRST PARTITION and LAST PARTITION")
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
    first, last = kind.read(interval.first), kind.read(interval.last)
    bounds = _steps(kind, first, last, _amount(interval.amount), interval.unit)
    definitions = [_definition(kind, bound) for bound in bounds]
    if interval.null_partition:
        definitions.insert(0, _named(_NULL, kind.least()))
    if interval.max_partition:
        definitions.append(_named(_MAXVALUE, MaxValue()))
    return tuple(definitions)


def _amount(node: Node) -> int:
    if isinstance(node, Constant) and node.kind == "integer" and int(str(node.value)) > 0:
        return int(str(node.value))
    raise DdlError("INTERVAL partitioning needs a whole number above 0")


def _steps(kind: RangeKind, first: Bound, last: Bound, amount: int, unit: str) -> list[Bound]:
    """Return first, first + amount ... last."""
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


def _changed(clause: IntervalChange, state: TableState) -> AddPartitions | ChangePartitions:
    if words := _UNSUPPORTED.get(clause.words):
        raise DdlError(f"TiDB does not run {words}", position=clause.start, remedy="Use REORGANIZE PARTITION")
    try:
        return _first_or_last(clause, state)
    except DdlError as error:
        remedy = error.remedy or "Use ADD PARTITION or DROP PARTITION"
        message = f"{clause.words} PARTITION: {error.message}"
        raise DdlError(message, position=clause.start, remedy=remedy, table=state.info.full_name) from None


def _first_or_last(clause: IntervalChange, state: TableState) -> AddPartitions | ChangePartitions:
    if not state.info.partitions:
        raise DdlError("the table is not partitioned")
    ranges = state.ranges
    kind = range_kind_of(state)
    names = [partition.name for partition in state.info.partitions]
    texts = [] if ranges is None else [ranges.bounds.get(name, "") for name in names]
    if ranges is None or kind is None or "" in texts:
        raise DdlError("the bounds of its partitions are not known")
    has_null, has_maximum = texts[0] == ranges.floor, texts[-1] == MAXVALUE
    bounds = [kind.parsed(text) for text in texts[has_null : len(texts) - has_maximum]]
    amount, unit = _guessed(kind, bounds)
    assert clause.bound is not None
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
    if not dropped or dropped + 1 >= len(names) - has_null:
        raise DdlError("no partition can be dropped, or the new first one would be the only one left")
    return ChangePartitions("drop", tuple(names[has_null : has_null + dropped]))


_DAY = 24 * 60 * 60


def _guessed(kind: RangeKind, bounds: list[Bound]) -> tuple[int, str]:
    """Return the interval between the bounds, guessed as in TiDB, which does not store it."""
    steps = len(bounds) - 1
    apart = kind.distance(bounds[0], bounds[-1]) // steps if steps > 0 else 0
    unit = ""
    if not kind.is_integer:
        unit = "SECOND"
        if apart >= 28 * _DAY:
            apart, unit = apart // ((28 if steps <= 3 else 30) * _DAY), "MONTH"
    if apart < 1 or _ranged(kind, bounds, apart, unit) != bounds:
        raise DdlError("the table does not look like one with INTERVAL partitioning")
    return apart, unit


def _ranged(kind: RangeKind, bounds: list[Bound], amount: int, unit: str) -> list[Bound]:
    return [kind.after(bounds[0], number * amount, unit) for number in range(len(bounds))]
