"""The changes of a plan as record batches, which are made as they are read, without Spark.

In: a :class:`~ticdc_emit.traffic.generate.changes.TrafficPlan` with an end. Out: for each table its changes in the
typed form, the same as :func:`~ticdc_emit.traffic.generate.on_spark.changes_of_tables` gives as DataFrames.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, reduce

import numpy as np
import pyarrow as pa

from ticdc_emit.traffic.generate.arrow_evaluator import Layer, Parser
from ticdc_emit.traffic.generate.changes import TrafficPlan
from ticdc_emit.traffic.needs_spark import NeedsSparkError

__all__ = ["ArrowChanges", "arrow_changes"]


_BATCH_ROWS = 5_000


class ArrowChanges:
    """The changes of table ``number`` among the plan's first ``rows`` changes. Can be iterated more than once."""

    def __init__(self, plan: TrafficPlan, number: int, rows: int) -> None:
        self._size = plan.cycle.tables[number].size
        self._count = plan.cycle.count(number, rows)
        parser = Parser()
        physical = any(table.hashed_by is not None for table in plan.tables)
        self._layers = [Layer(parser.layer(each)) for each in plan.tables[number].layers(typed=True, physical=physical)]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield self.first
        for at in range(self.first.num_rows, self._count, _BATCH_ROWS):
            yield self._made(at, min(at + _BATCH_ROWS, self._count))

    @cached_property
    def first(self) -> pa.RecordBatch:
        """The first batch, which is kept because its columns are checked before the changes are read."""
        return self._made(0, min(_BATCH_ROWS, self._count))

    def _made(self, first: int, last: int) -> pa.RecordBatch:
        numbers = np.arange(first, last)
        place = {"_c": numbers // self._size, "_i": (numbers % self._size).astype(np.int32)}
        return reduce(lambda rows, layer: layer(rows), self._layers, pa.record_batch(place))


def arrow_changes(plan: TrafficPlan) -> dict[str, ArrowChanges] | None:
    """Return the changes of each table by ``schema.name``; ``None`` if only Spark can compute them.

    That is so for stored generated columns, and for values of the distribution ``zipf``.
    """
    rows = plan.rows or 0
    if any(column.generated == "stored" for table in plan.tables for column in table.info.columns):
        return None
    try:
        changes = {table.info.full_name: ArrowChanges(plan, number, rows) for number, table in enumerate(plan.tables)}
        for each in changes.values():
            each.first  # noqa: B018 - an operation that is not known here shows now
    except NeedsSparkError:
        return None
    return changes
