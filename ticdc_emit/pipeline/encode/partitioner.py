"""The partition of each row: the dispatcher's rule of a table, applied to checked changes.

In: a table's plan and its checked rows. Out: a number for each row, in the rows' order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ticdc_emit.changes.model import Changes, RowEncoder
from ticdc_emit.delivery.base import MOST_PARTITIONS
from ticdc_emit.pipeline.arrange.row_batch import TableGroup
from ticdc_emit.pipeline.plan.table_plans import TablePlan
from ticdc_emit.routing.partitions import partitions_of, table_hash


def targets_of(
    groups: Sequence[Changes], tables: TablePlan | TableGroup, rows: int
) -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
    """Return the topics of a batch's checked rows, and the code of each row's topic and partition.

    ``groups``: the changes that the ``rows`` rows are. A code is the place of the topic times ``MOST_PARTITIONS``, plus
    the partition. Raises :class:`~ticdc_emit.errors.DispatcherError`, and the :class:`~ticdc_emit.errors.RowError`
    family for a value that cannot be hashed.
    """
    if not isinstance(tables, TableGroup):
        if tables.partition is not None:
            return (tables.topic,), np.full(rows, tables.partition, np.int64)
        codes, topics = _partitions_of_groups(groups, tables, rows), {} if tables.routes else {tables.topic: 0}
        for changes in groups if tables.routes else ():
            code = topics.setdefault(tables.routed(changes.encoder).topic, len(topics))
            codes[slice(None) if changes.rows is None else changes.rows] += code * MOST_PARTITIONS
        return tuple(topics), codes
    topics = {}
    codes = np.array([topics.setdefault(table.topic, len(topics)) for table in tables.tables], np.int64)
    codes = codes[tables.codes] * MOST_PARTITIONS
    fixed = [table.partition for table in tables.tables if table.partition is not None]
    if len(fixed) == len(tables.tables):
        return tuple(topics), codes + np.array(fixed, np.int64)[tables.codes]
    return tuple(topics), codes + _partitions_of_groups(groups, tables.first, rows)


def _partitions_of_groups(groups: Iterable[Changes], table: TablePlan, rows: int) -> npt.NDArray[np.int64]:
    """Tell by the image that counts: after, or before of a delete."""
    partitions = np.zeros(rows, np.int64)
    for changes in groups:
        own = table.routed(changes.encoder)
        hashed = own.rule.hashed(changes.encoder.table, own.routing)
        seeds = _seed(changes.encoder) if changes.tables is None else changes.numbers(_seed).astype(np.uint32)
        numbers = partitions_of(
            own.rule, hashed, seeds, changes.current, changes.commit_ts, own.partitions, own.routing
        )
        partitions[slice(None) if changes.rows is None else changes.rows] = np.asarray(numbers)
    return partitions


def _seed(encoder: RowEncoder) -> int:
    return table_hash(*encoder.table.source_name)
