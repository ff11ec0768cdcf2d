"""From a batch of row changes in the public form to :class:`Changes` per table version and kind.

The **change form** of a batch, one row per change, already in total order:

=================  ==============================================================================================
``op``             string: ``c``/``u``/``d`` or insert/update/delete, any case
``commit_ts``      int64 or uint64: TSO; or ``commit_time``, a timestamp with a zone, in its place
``_position``      optional int64: the row's place in what the caller gave, if the batch was sorted since; for errors
``seq``            optional int64: order inside a transaction
``checksum`` ...   optional: what ``changes.attributes`` lists
``before``         struct of the table's columns (typed form) or ``map<string, string>`` (generic form); null where
``after``          the change has no such image
=================  ==============================================================================================

A batch that mixes kinds is split; ``Part.rows`` remembers which rows of the batch a part holds, so that the messages
can be put back in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.arrange.image_reader import FieldNames, ImageReader, check_fields, column_names
from ticdc_emit.arrange.row_places import POSITION, first_of, row_place
from ticdc_emit.changes.attributes import ATTRIBUTES
from ticdc_emit.changes.commits import commit_ts_array
from ticdc_emit.changes.forms import only_op
from ticdc_emit.changes.images import Image
from ticdc_emit.changes.model import Changes, Op
from ticdc_emit.changes.row_encoder import RowEncoder
from ticdc_emit.changes.sizes import rows_within
from ticdc_emit.columnar.faults import shown
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.errors import (
    InvalidValueError,
    SchemaError,
    UnsupportedTypeError,
)
from ticdc_emit.plan.table_plan import TablePlan
from ticdc_emit.schema.model import TableInfo

__all__ = [
    "CHUNK_ROWS",
    "ImageName",
    "Part",
    "positioned",
    "read_image",
    "read_parts",
]

CHUNK_ROWS = 10_000

ImageName: TypeAlias = Literal["before", "after"]
_COLUMNS = ("op", "before", "after", *ATTRIBUTES)
_CHUNK_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Part:
    """Changes of one table version and one kind, and the rows of the batch that they are (``None``: all, in order)."""

    changes: Changes
    encoder: RowEncoder
    rows: npt.NDArray[np.int64] | None


def read_parts(
    batch: pa.RecordBatch,
    table: TablePlan,
    how: Rendering,
    build_ts: int | None,
    names: FieldNames | None = None,
    nbytes: int | None = None,
) -> list[Part]:
    """Split one table's batch into parts. Raises :class:`RowError` subclasses that name table and row.

    ``names``: what is asked for the images' columns, of several batches the same. ``nbytes``: of the batch, if known.
    """
    names = names or FieldNames()
    commit_ts = commit_ts_array(batch, f"{table.schema}.{table.name}")
    given = batch.schema.names
    knows_places = POSITION in given
    if not knows_places:
        batch = batch.append_column(POSITION, pa.array(np.arange(batch.num_rows)))
    if "commit_ts" not in given:
        batch = batch.append_column("commit_ts", commit_ts)
    known = column_names(table)
    check_fields(batch.schema, table, names)
    if nbytes is None:
        nbytes = batch.nbytes if batch.num_rows > 1 else 0  # a row is not cut
    parts: list[Part] = []
    for start, length, encoder in table.spans(commit_ts):
        chunk = min(CHUNK_ROWS, rows_within(encoder.overhead, batch.num_rows, nbytes, _CHUNK_BYTES))
        for at in range(start, start + length, chunk):
            size = min(chunk, start + length - at)
            piece = batch.slice(at, size)
            for op, rows in _by_op(piece, encoder.table):
                whole = rows is None and at == 0 and size == batch.num_rows
                place = None if whole else (np.arange(size) if rows is None else rows) + at
                selected = piece if rows is None else piece.take(pa.array(rows))
                stamps = commit_ts.slice(at, size) if rows is None else commit_ts.slice(at, size).take(pa.array(rows))
                part_reader = ImageReader(selected, encoder, op, known, knows_places, names)
                changes = part_reader.changes(stamps, build_ts, how)
                parts.append(Part(changes, encoder, place))
    return parts


def read_image(
    batch: pa.RecordBatch,
    table: TablePlan,
    encoder: RowEncoder,
    op: Op,
    name: ImageName,
    how: Rendering,
) -> Image:
    """Return one image of changes of one version and kind. Raises :class:`RowError` subclasses as above."""
    check_fields(batch.schema, table)
    columns = ImageReader(batch, encoder, op, column_names(table), knows_places=True).image_columns(name)
    return Image(encoder.table, columns, how, batch.column(POSITION))


def positioned(batch: pa.RecordBatch, table: str) -> pa.RecordBatch:
    """Return the columns of the change form alone, with a checked commit_ts and each row's place."""
    names = batch.schema.names
    for name in (*_COLUMNS, "commit_ts", "commit_time", "seq"):
        if names.count(name) > 1:
            raise SchemaError(
                "the changes have two columns of one name",
                remedy="Give a name of its own to each column",
                table=table,
                column=name,
            )
    columns = {name: batch.column(name) for name in _COLUMNS if name in names}
    columns["commit_ts"] = commit_ts_array(batch, table)
    if "seq" in names:
        seq = batch.column("seq")
        if not (pa.types.is_integer(seq.type) or pa.types.is_null(seq.type)):
            raise UnsupportedTypeError(
                f"seq is {seq.type}, not a whole number", remedy="Cast it to int64 first", table=table, column="seq"
            )
        columns["seq"] = seq.cast(pa.int64()) if pa.types.is_null(seq.type) else seq
    return pa.record_batch(columns | {POSITION: pa.array(np.arange(batch.num_rows))})


def _by_op(batch: pa.RecordBatch, info: TableInfo) -> list[tuple[Op, npt.NDArray[np.int64] | None]]:
    ops = batch.column("op") if "op" in batch.schema.names else pa.nulls(batch.num_rows)
    if not (pa.types.is_dictionary(ops.type) or pa.types.is_string(ops.type) or pa.types.is_large_string(ops.type)):
        raise UnsupportedTypeError(
            f"op is {ops.type}, not a string",
            remedy="Give op as c, u, d or insert, update, delete",
            table=info.full_name,
            column="op",
        )
    if (only := only_op(ops)) is not None:
        return [(only, None)]
    encoded = ops if pa.types.is_dictionary(ops.type) else ops.dictionary_encode()
    kinds = [Op.parse(text) if text is not None else None for text in encoded.dictionary.to_pylist()]
    places = np.asarray(encoded.indices.fill_null(len(kinds)))
    if ops.null_count or None in kinds:
        unknown = [code for code, kind in enumerate([*kinds, None]) if kind is None]
        bad = np.flatnonzero(np.isin(places, unknown))
        if len(bad):  # a dictionary may hold what no row has
            raise first_of(
                batch,
                bad,
                lambda index: InvalidValueError(
                    f"{shown(ops[index].as_py())} is not an operation",
                    remedy="Use c, u, d or insert, update, delete",
                    table=info.full_name,
                    column="op",
                    row=row_place(batch, info, index),
                ),
            )
    if len(set(kinds)) == 1 and kinds[0] is not None:
        return [(kinds[0], None)]
    rows_by_op: list[tuple[Op, npt.NDArray[np.int64] | None]] = []
    for op in Op:
        codes = [code for code, kind in enumerate(kinds) if kind is op]
        rows = np.flatnonzero(np.isin(places, codes))
        if len(rows):
            rows_by_op.append((op, rows))
    return rows_by_op
