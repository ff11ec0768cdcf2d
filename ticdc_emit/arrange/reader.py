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

from ticdc_emit.arrange.block import BlockRows
from ticdc_emit.arrange.image_reader import ImageReader, check_fields, column_names
from ticdc_emit.arrange.row_places import POSITION, first_of, row_place
from ticdc_emit.changes.attributes import ATTRIBUTES
from ticdc_emit.changes.commits import commit_ts_array
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
    rows: BlockRows, table: TablePlan, how: Rendering, build_ts: int | None, nbytes: int | None = None
) -> list[Part]:
    """Split one table's rows into parts. Raises :class:`RowError` subclasses that name table and row.

    ``nbytes``: of the rows, if known.
    """
    known, knows_places = column_names(table), rows.block.knows_places
    check_fields(rows.block.fields, table)
    if nbytes is None:
        nbytes = rows.batch.nbytes if rows.length > 1 else 0  # a row is not cut
    parts: list[Part] = []
    for start, length, encoder in table.spans(rows.commit_ts):
        chunk = min(CHUNK_ROWS, rows_within(encoder.overhead, rows.length, nbytes, _CHUNK_BYTES))
        for at in range(start, start + length, chunk):
            piece = rows.slice(at, min(chunk, start + length - at))
            for op, places in _by_op(piece, encoder.table):
                whole = places is None and piece.length == rows.length
                own = None if whole else at + (np.arange(piece.length) if places is None else places)
                part_rows = piece if places is None else piece.take(places)
                changes = ImageReader(part_rows, encoder, op, known, knows_places).changes(build_ts, how)
                parts.append(Part(changes, encoder, own))
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
    rows = BlockRows.of(batch, encoder.table.full_name)
    check_fields(rows.block.fields, table)
    columns = ImageReader(rows, encoder, op, column_names(table), knows_places=True).image_columns(name)
    return Image(encoder.table, columns, how, rows.column(POSITION))


def positioned(batch: pa.RecordBatch, table: str) -> pa.RecordBatch:
    """Return the columns of the change form alone, with a checked commit_ts and each row's place."""
    names = batch.schema.names
    for name in (*_COLUMNS, "commit_ts", "commit_time", "seq"):
        if names.count(name) > 1:
            raise SchemaError(
                "the changes have two columns with the same name",
                remedy="Give each column a different name",
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


def _by_op(rows: BlockRows, info: TableInfo) -> list[tuple[Op, npt.NDArray[np.int64] | None]]:
    if (only := rows.op) is not None:
        return [(only, None)]
    ops = rows.column("op") if "op" in rows.block.columns else pa.nulls(rows.length)
    if not (pa.types.is_dictionary(ops.type) or pa.types.is_string(ops.type) or pa.types.is_large_string(ops.type)):
        raise UnsupportedTypeError(
            f"op is {ops.type}, not a string",
            remedy="Give op as c, u, d or insert, update, delete",
            table=info.full_name,
            column="op",
        )
    encoded = ops if pa.types.is_dictionary(ops.type) else ops.dictionary_encode()
    kinds = [Op.parse(text) if text is not None else None for text in encoded.dictionary.to_pylist()]
    places = np.asarray(encoded.indices.fill_null(len(kinds)))
    if ops.null_count or None in kinds:
        unknown = [code for code, kind in enumerate([*kinds, None]) if kind is None]
        bad = np.flatnonzero(np.isin(places, unknown))
        if len(bad):  # a dictionary may hold what no row has
            batch = rows.batch
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
        own = np.flatnonzero(np.isin(places, codes))
        if len(own):
            rows_by_op.append((op, own))
    return rows_by_op
