"""Route the events of a case with the library, as a changefeed with these dispatchers would.

In: the changes of a case and one dispatcher configuration. Out: the :class:`Target` of every row that goes out, and of
every DDL (whose partitions the protocol says, not the dispatchers).
"""

from __future__ import annotations

import pyarrow as pa

from ticdc_emit.conformance.changes import CaseChanges, PlannedChanges
from ticdc_emit.conformance.produce import load_variant
from ticdc_emit.conformance.vectors import DML_KINDS, Route, Target
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.pipeline.partitioner import dispatched
from ticdc_emit.pipeline.plan import Plan, TablePlan
from ticdc_emit.pipeline.row_batch import BlockRows
from ticdc_emit.pipeline.row_reader import read_parts

__all__ = ["RouteDispatcher"]


class RouteDispatcher:
    """Routes the events of one case. Raises :class:`~ticdc_emit.errors.ConfigError` for refused dispatchers."""

    def __init__(self, changes: CaseChanges, route: Route) -> None:
        self._case = changes.case
        self._history = changes.history
        self._planned = PlannedChanges(changes, load_variant(changes.case, route), route.partitions)

    def targets(self, index: int) -> tuple[Target, ...]:
        """Return where an event goes: nowhere if it is neither row nor DDL. A refused row is a target with its error.

        Raises what the library raises where that is not a refusal of a row.
        """
        kind = self._case.events[index]["kind"]
        if kind == "ddl":
            return (self._ddl(index),)
        return self._rows(index) if kind in DML_KINDS else ()

    def _ddl(self, index: int) -> Target:
        event = self._history.ddl[index]
        if isinstance(event, Exception):
            raise event
        return Target(self._planned.plan.router.ddl_topic(event))

    def _rows(self, index: int) -> tuple[Target, ...]:
        plan, table, batch = self._planned.of_event(index)
        try:
            return self._dispatched(plan, table, batch)
        except TicdcEmitError:  # of which row, the rows alone tell
            return tuple(self._alone(plan, table, batch.slice(place, 1)) for place in range(batch.num_rows))

    def _alone(self, plan: Plan, table: TablePlan, row: pa.RecordBatch) -> Target:
        try:
            (target,) = self._dispatched(plan, table, row)
        except TicdcEmitError as fault:
            return Target(table.topic, error=fault.message)
        return target

    def _dispatched(self, plan: Plan, table: TablePlan, batch: pa.RecordBatch) -> tuple[Target, ...]:
        rows = BlockRows.of(batch, f"{table.schema}.{table.name}")
        parts = read_parts(rows, table, plan.rendering, plan.build_ts)
        partitions = dispatched(parts, table, batch.num_rows)
        numbers = [partitions] * batch.num_rows if isinstance(partitions, int) else partitions.to_pylist()
        return tuple(Target(table.topic, number) for number in numbers)
