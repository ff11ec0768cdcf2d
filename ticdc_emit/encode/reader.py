"""From a batch of row changes in the public form to :class:`Changes` per table version and kind.

The **change form** of a batch, one row per change, already in total order:

=================  ==============================================================================================
``op``             string: ``c``/``u``/``d`` or insert/update/delete, any case
``commit_ts``      int64 or uint64: TSO
``seq``            optional int64: order inside a transaction
``before``         struct of the table's columns (typed form) or ``map<string, string>`` (generic form); null where
``after``          the change has no such image
=================  ==============================================================================================

A batch that mixes kinds is split; ``Part.rows`` remembers which rows of the batch a part holds, so that the messages
can be put back in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.values import Rendering
from ticdc_emit.encode.changes import Changes, Op, RowEncoder
from ticdc_emit.encode.images import BeforeImage, Image
from ticdc_emit.encode.plan import TablePlan
from ticdc_emit.errors import InvalidValueError, MissingColumnError, MissingImageError, UnsupportedTypeError
from ticdc_emit.schema.model import TableInfo

__all__ = ["CHUNK_ROWS", "Part", "read_parts"]

CHUNK_ROWS = 10_000
_CHUNK_BYTES = 64 * 1024 * 1024
_IMAGES = {Op.INSERT: ("after",), Op.UPDATE: ("before", "after"), Op.DELETE: ("before",)}


@dataclass(frozen=True)
class Part:
    """Changes of one table version and one kind, and the rows of the batch that they are (``None``: all, in order)."""

    changes: Changes
    encoder: RowEncoder
    rows: npt.NDArray[np.int64] | None


def read_parts(batch: pa.RecordBatch, table: TablePlan, how: Rendering, build_ts: int | None) -> list[Part]:
    """Split one table's batch into parts. Raises :class:`RowError` subclasses that name table and row."""
    commit_ts = _commit_ts(batch, table)
    parts: list[Part] = []
    chunk = max(1, min(CHUNK_ROWS, batch.num_rows * _CHUNK_BYTES // max(batch.nbytes, 1)))
    for start, length, encoder in table.spans(commit_ts):
        for at in range(start, start + length, chunk):
            size = min(chunk, start + length - at)
            piece = batch.slice(at, size)
            for op, rows in _by_op(piece, encoder.table):
                whole = rows is None and at == 0 and size == batch.num_rows
                place = None if whole else (np.arange(size) if rows is None else rows) + at
                selected = piece if rows is None else piece.take(pa.array(rows))
                stamps = commit_ts.slice(at, size) if rows is None else commit_ts.slice(at, size).take(pa.array(rows))
                parts.append(Part(_changes(selected, encoder.table, op, stamps, build_ts, how), encoder, place))
    return parts


def _commit_ts(batch: pa.RecordBatch, table: TablePlan) -> pa.Array:
    full_name = f"{table.schema}.{table.name}"
    if "commit_ts" not in batch.schema.names:
        raise MissingColumnError("the changes have no commit_ts", table=full_name, column="commit_ts")
    stamps = batch.column("commit_ts")
    low = pc.min(stamps).as_py()
    if stamps.null_count or (low is not None and low < 0):
        raise InvalidValueError("a commit_ts is null or negative", table=full_name, column="commit_ts")
    return stamps.cast(pa.uint64())


def _by_op(batch: pa.RecordBatch, info: TableInfo) -> list[tuple[Op, npt.NDArray[np.int64] | None]]:
    ops = batch.column("op") if "op" in batch.schema.names else pa.nulls(batch.num_rows)
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
        for index, text in enumerate(ops.to_pylist()):
            if text is None or Op.parse(text) is None:
                raise InvalidValueError(
                    f"{text!r} is no operation",
                    remedy="Use c, u, d or insert, update, delete",
                    table=info.full_name,
                    column="op",
                    row={"position": index},
                )
    if len(set(kinds)) == 1 and kinds[0] is not None:
        return [(kinds[0], None)]
    found: list[tuple[Op, npt.NDArray[np.int64] | None]] = []
    for op in Op:
        codes = [code for code, kind in enumerate(kinds) if kind is op]
        rows = np.flatnonzero(np.isin(places, codes))
        if len(rows):
            found.append((op, rows))
    return found


def _changes(
    batch: pa.RecordBatch, info: TableInfo, op: Op, commit_ts: pa.Array, build_ts: int | None, how: Rendering
) -> Changes:
    images = {name: _image_columns(batch, name, info, op) for name in _IMAGES[op]}
    after = Image(info, images["after"], how) if "after" in images else None
    if "before" not in images:
        return Changes(info, op, commit_ts, build_ts, None, after)
    if after is None:
        return Changes(info, op, commit_ts, build_ts, Image(info, images["before"], how), None)
    return Changes(info, op, commit_ts, build_ts, BeforeImage(info, images["before"], how, after), after)


def _image_columns(batch: pa.RecordBatch, name: str, info: TableInfo, op: Op) -> Mapping[str, pa.Array]:
    if name not in batch.schema.names:
        raise MissingColumnError(
            f"a {op.value} needs the image {name!r}", remedy=f"Add the column {name}", table=info.full_name, column=name
        )
    image = batch.column(name)
    if image.null_count:
        index = int(np.asarray(pc.is_null(image).to_numpy(zero_copy_only=False)).argmax())
        raise MissingImageError(
            f"a {op.value} without its {name} image",
            remedy=f"Give the {name} image, or another op",
            table=info.full_name,
            row={"commit_ts": batch.column("commit_ts")[index].as_py(), "position": index},
        )
    if pa.types.is_map(image.type):
        return _map_columns(image, info)
    if not pa.types.is_struct(image.type):
        raise UnsupportedTypeError(
            f"the image {name!r} is {image.type}, not a struct or map", table=info.full_name, column=name
        )
    children = image.flatten()
    fields = [image.type.field(place).name for place in range(image.type.num_fields)]
    return dict(zip(fields, children, strict=True))


def _map_columns(image: pa.MapArray, info: TableInfo) -> Mapping[str, pa.Array]:
    """Pivot maps of canonical text into columns. A missing key is an error; a null value is NULL."""
    encoded = image.keys.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = np.asarray(encoded.indices)
    offsets = np.asarray(image.offsets)
    # keys and items are those of the whole parent buffer: cut them to this slice
    first, last = int(offsets[0]), int(offsets[-1])
    codes = codes[first:last] if len(codes) != last - first else codes
    items = image.items.slice(first, last - first) if len(image.items) != last - first else image.items
    owners = np.repeat(np.arange(len(image)), np.diff(offsets))
    columns: dict[str, pa.Array] = {}
    for code, name in enumerate(names):
        entries = np.flatnonzero(codes == code)
        rows = owners[entries]
        if len(rows) == len(image) and (rows == np.arange(len(image))).all():
            columns[name] = items.take(pa.array(entries))
            continue
        if name not in {column.name for column in info.data_columns}:
            continue
        missing = np.setdiff1d(np.arange(len(image)), rows)
        index = int(missing[0]) if len(missing) else int(rows[np.flatnonzero(np.diff(rows) == 0)[0]])
        raise MissingColumnError(
            "a row's image lacks a column of the table, or has it twice",
            remedy="A map holds every column exactly once; NULL is a null value",
            table=info.full_name,
            column=name,
            row={"position": index},
        )
    return columns
