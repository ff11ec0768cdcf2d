"""The partition of each row: the dispatcher's rule of a table, applied to changes or to their key columns alone.

In: a table's plan and its checked rows, or (of rows that are not checked) the columns that the rule hashes. Out: a
number for each row, in the rows' order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.images import Image, image_column
from ticdc_emit.changes.model import Changes, RowEncoder
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.delivery.base import MOST_PARTITIONS
from ticdc_emit.errors import DispatcherError, TicdcEmitError
from ticdc_emit.pipeline.plan import TablePlan
from ticdc_emit.pipeline.row_batch import TableGroup
from ticdc_emit.pipeline.transactions import DELETED, kind_ranks
from ticdc_emit.routing.partitions import partitions_of, table_hash

UNKNOWN = -1
"""In the place of a partition: the row has none that could be told, for a reason that its check will raise."""


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
    partitions = np.zeros(rows, np.int64)
    for changes in groups:
        seeds = None if changes.tables is None else changes.numbers(_seed).astype(np.uint32)
        numbers = _partitions(table, changes.encoder, changes.current, changes.commit_ts, seeds)
        partitions[slice(None) if changes.rows is None else changes.rows] = np.asarray(numbers)
    return partitions


def _seed(encoder: RowEncoder) -> int:
    return table_hash(*encoder.table.source_name)


def partitions_of_unchecked(part: pa.RecordBatch, table: TablePlan, how: Rendering) -> list[int]:
    """Return the partition of each change of a table whose values are not checked; :data:`UNKNOWN` where it is not
    known.

    ``part``: in change form, with a commit_ts.
    """
    if table.partition is not None:
        return [table.partition] * part.num_rows
    images = [part.column(name) for name in ("after", "before") if name in part.schema.names]
    deleted = kind_ranks(part) == DELETED
    names = _hashed_names(table)
    partitions = np.full(part.num_rows, UNKNOWN, np.int32)
    for image, of_rows in ((images[0], ~deleted), (images[-1], deleted)):
        index = pa.array(np.flatnonzero(of_rows))
        if len(index):
            counted = image.take(index)
            held = {name: values for name in names if (values := image_column(counted, name)) is not None}
            stamps = part.column("commit_ts").take(index)
            partitions[of_rows] = np.asarray(_partitions_of_keys(table, stamps, held, how))
    return [int(number) for number in partitions]


def _hashed_names(table: TablePlan) -> list[str]:
    """Return the columns that the table's dispatcher hashes in any version; what fails it is raised by its check."""
    names: dict[str, None] = {}
    for encoder in table.encoders:
        if encoder is not None:
            try:
                names |= {
                    column.name: None for _, column in table.routed(encoder).rule.hashed(encoder.table, table.routing)
                }
            except TicdcEmitError:
                continue
    return list(names)


def _partitions(
    table: TablePlan,
    encoder: RowEncoder,
    image: Image,
    commit_ts: pa.Array,
    seeds: npt.NDArray[np.uint32] | None = None,
) -> int | pa.Array:
    """Tell by the image that counts: after, or before of a delete. ``seeds``: of rows of several tables, of each."""
    table = table.routed(encoder)
    hashed = table.rule.hashed(encoder.table, table.routing)
    seed = _seed(encoder) if seeds is None else seeds
    return partitions_of(table.rule, hashed, seed, image, commit_ts, table.partitions, table.routing)


def _partitions_of_keys(
    table: TablePlan, commit_ts: pa.Array, columns: Mapping[str, pa.Array], how: Rendering
) -> pa.Array:
    """Return the partition of each row by the columns that the rule hashes; :data:`UNKNOWN` for a row that has none.

    ``commit_ts`` need not ascend; ``columns`` are of the image that counts.
    """
    partitions = np.full(len(commit_ts), UNKNOWN, np.int32)
    rows = np.flatnonzero(np.asarray(commit_ts.is_valid().to_numpy(zero_copy_only=False)))
    stamps = np.asarray(commit_ts.take(pa.array(rows)))
    order = np.argsort(stamps, kind="stable")
    _fill_in(partitions, table, rows[order], stamps[order], columns, how)
    return pa.array(partitions)


def _fill_in(
    partitions: npt.NDArray[np.int32],
    table: TablePlan,
    rows: npt.NDArray[np.int64],
    stamps: npt.NDArray[np.int64],
    columns: Mapping[str, pa.Array],
    how: Rendering,
) -> None:
    """Fill in the partitions of these rows, by ascending commit_ts; halve them until only those that fail are left."""
    try:
        numbers = pa.array(stamps, pa.uint64())
        for start, length, encoder in table.spans(numbers):
            places = rows[start : start + length]
            index = pa.array(places)
            image = Image(encoder.table, {name: values.take(index) for name, values in columns.items()}, how)
            partitions[places] = np.asarray(_partitions(table, encoder, image, numbers.slice(start, length)))
    except (DispatcherError, OverflowError, pa.ArrowInvalid):
        partitions[rows] = UNKNOWN
    except TicdcEmitError:
        partitions[rows] = UNKNOWN
        middle = len(rows) // 2
        if middle:
            _fill_in(partitions, table, rows[:middle], stamps[:middle], columns, how)
            _fill_in(partitions, table, rows[middle:], stamps[middle:], columns, how)
