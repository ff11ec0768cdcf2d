"""The partition of each row: the dispatcher's rule of a table, applied to changes or to their key columns alone.

In: a table's plan and its checked rows, or (before the rows are shuffled) the columns that the rule hashes. Out: one
number where all rows go to one partition, else an ``int32`` array in the rows' order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.codec import RowEncoder
from ticdc_emit.changes.images import Image, image_column
from ticdc_emit.changes.model import Peers
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.errors import DispatcherError, TicdcEmitError
from ticdc_emit.pipeline.plan import TablePlan
from ticdc_emit.pipeline.row_batch import TableGroup
from ticdc_emit.pipeline.row_reader import Part
from ticdc_emit.pipeline.transactions import DELETED, kind_ranks
from ticdc_emit.routing.partitions import partitions_of, table_hash

__all__ = ["UNKNOWN", "partitions_of_group", "partitions_of_part", "partitions_of_rows"]


UNKNOWN = -1
"""In the place of a partition: the row has none that could be told, for a reason that its check will raise."""


def partitions_of_rows(parts: Iterable[Part], table: TablePlan, rows: int) -> int | pa.Array:
    """Return the partitions of a table's checked rows.

    Raises :class:`~ticdc_emit.errors.DispatcherError`, and the :class:`~ticdc_emit.errors.RowError` family for a value
    that cannot be hashed.
    """
    return pa.array(_by_part(parts, table, rows)) if table.partition is None else table.partition


def partitions_of_group(parts: Iterable[Part], tables: TableGroup) -> npt.NDArray[np.int32]:
    """Return the partitions of a group's checked rows. Raises what :func:`partitions_of_rows` does."""
    fixed = [table.partition for table in tables.tables if table.partition is not None]
    if len(fixed) == len(tables.tables):
        return np.array(fixed, np.int32)[tables.codes]
    return _by_part(parts, tables.first, len(tables.codes))


def _by_part(parts: Iterable[Part], table: TablePlan, rows: int) -> npt.NDArray[np.int32]:
    partitions = np.zeros(rows, np.int32)
    for part in parts:
        changes = part.changes
        numbers = _partitions(table, part.encoder, changes.current, changes.commit_ts, changes.peers)
        partitions[slice(None) if part.rows is None else part.rows] = np.asarray(numbers)
    return partitions


def _seed(encoder: RowEncoder) -> int:
    return table_hash(encoder.table.schema, encoder.table.name)


def partitions_of_part(part: pa.RecordBatch, table: TablePlan, how: Rendering) -> list[int]:
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
        if encoder is not None and table.partition is None:
            try:
                names |= {column.name: None for _, column in table.rule.hashed(encoder.table, table.routing)}
            except TicdcEmitError:
                continue
    return list(names)


def _partitions(
    table: TablePlan, encoder: RowEncoder, image: Image, commit_ts: pa.Array, peers: Peers | None = None
) -> int | pa.Array:
    """Tell by the image that counts: after, or before of a delete."""
    hashed = table.rule.hashed(encoder.table, table.routing)
    seed = _seed(encoder) if peers is None else peers.numbers(_seed).astype(np.uint32)
    return partitions_of(table.rule, hashed, seed, image, commit_ts, table.partitions, table.routing.hashed_null)


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
    _tell(partitions, table, rows[order], stamps[order], columns, how)
    return pa.array(partitions)


def _tell(
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
            _tell(partitions, table, rows[:middle], stamps[:middle], columns, how)
            _tell(partitions, table, rows[middle:], stamps[middle:], columns, how)
