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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.attributes import ATTRIBUTES, SPLIT
from ticdc_emit.changes.commits import commit_ts_array
from ticdc_emit.changes.forms import only_op
from ticdc_emit.changes.images import BeforeImage, Image
from ticdc_emit.changes.model import Changes, Op, RowEncoder
from ticdc_emit.changes.sizes import rows_within
from ticdc_emit.columnar.buffers import python_value
from ticdc_emit.columnar.faults import shown
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.errors import (
    InvalidValueError,
    MissingColumnError,
    MissingImageError,
    RowError,
    SchemaError,
    UnsupportedTypeError,
)
from ticdc_emit.plan.table_plan import TablePlan
from ticdc_emit.schema.model import TableInfo

__all__ = [
    "CHUNK_ROWS",
    "POSITION",
    "FieldNames",
    "ImageName",
    "Part",
    "column_names",
    "positioned",
    "read_image",
    "read_parts",
]

CHUNK_ROWS = 10_000

ImageName: TypeAlias = Literal["before", "after"]
POSITION = "_position"
_COLUMNS = ("op", "before", "after", *ATTRIBUTES)
_CHUNK_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Part:
    """Changes of one table version and one kind, and the rows of the batch that they are (``None``: all, in order)."""

    changes: Changes
    encoder: RowEncoder
    rows: npt.NDArray[np.int64] | None


class FieldNames:
    """The names of structs' fields, which Arrow makes anew each time: those of the last type are kept."""

    def __init__(self) -> None:
        self._kind: pa.DataType | None = None
        self._names: tuple[str, ...] = ()

    def of(self, kind: pa.StructType) -> tuple[str, ...]:
        """Return the names in the fields' order."""
        if kind != self._kind:
            self._kind, self._names = kind, tuple(field.name for field in kind)
        return self._names


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
                part_reader = _PartReader(selected, encoder, op, known, knows_places, names)
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
    columns = _PartReader(batch, encoder, op, column_names(table), knows_places=True).image_columns(name)
    return Image(encoder.table, columns, how, batch.column(POSITION))


def positioned(batch: pa.RecordBatch, table: str) -> pa.RecordBatch:
    """Return the columns of the change form alone, with a checked commit_ts and each row's place."""
    names = batch.schema.names
    for name in (*_COLUMNS, "commit_ts", "commit_time", "seq"):
        if names.count(name) > 1:
            raise SchemaError("the changes have two columns of one name", table=table, column=name)
    columns = {name: batch.column(name) for name in _COLUMNS if name in names}
    columns["commit_ts"] = commit_ts_array(batch, table)
    if "seq" in names:
        seq = batch.column("seq")
        if not (pa.types.is_integer(seq.type) or pa.types.is_null(seq.type)):
            raise UnsupportedTypeError(f"seq is {seq.type}, not a whole number", table=table, column="seq")
        columns["seq"] = seq.cast(pa.int64()) if pa.types.is_null(seq.type) else seq
    return pa.record_batch(columns | {POSITION: pa.array(np.arange(batch.num_rows))})


def column_names(table: TableInfo | TablePlan) -> frozenset[str]:
    """Return the name of every column that any version of the table has, those without values included."""
    if isinstance(table, TableInfo):
        return frozenset(column.name for column in table.columns)
    return table.column_names


def check_fields(schema: pa.Schema, table: TablePlan, names: FieldNames | None = None) -> None:
    """Raise the error of an image that is a struct with a column twice, or with one that the table never had."""
    full_name, known = f"{table.schema}.{table.name}", column_names(table)
    for name in ("before", "after"):
        kind = schema.field(name).type if name in schema.names else pa.null()
        fields = (names or FieldNames()).of(kind) if pa.types.is_struct(kind) else ()
        distinct = set(fields)
        if len(distinct) == len(fields) and distinct <= known:
            continue
        for place, own in enumerate(fields):
            if own in fields[:place]:
                raise SchemaError(f"the image {name!r} has two columns of one name", table=full_name, column=own)
            if own not in known and not table.left_out:  # whose other versions are not in the plan
                raise _unknown_column(full_name, own, None)


def _unknown_column(table: str, name: str, row: dict[str, object] | None) -> InvalidValueError:
    return InvalidValueError(
        "an image has a column that the table never had",
        remedy="Names are case-sensitive; remove it, or complete the schema",
        table=table,
        column=name,
        row=row,
    )


def _row_place(batch: pa.RecordBatch, info: TableInfo, index: int) -> dict[str, object]:
    """Return what names a row in an error: the handle key of an image that has it, and the row's place."""
    key: dict[str, object] = {}
    for name in ("after", "before"):
        image = batch.column(name)[index] if name in batch.schema.names else None
        if key or image is None or not image.is_valid:
            continue
        if pa.types.is_struct(image.type):
            held = {field.name for field in image.type}
            columns = (column.name for column in info.whole_handle_key if column.name in held)
            key = {name: python_value(image[name]) for name in columns}
        elif pa.types.is_map(image.type):
            entries = image.values
            texts = {python_value(entry["key"]): entry["value"] for entry in entries}
            columns = (column.name for column in info.whole_handle_key if column.name in texts)
            key = {name: python_value(texts[name]) for name in columns}
    return {**key, "position": batch.column(POSITION)[index].as_py()}


def _first_of(batch: pa.RecordBatch, rows: npt.NDArray[np.int64], error: Callable[[int], RowError]) -> RowError:
    """Return the error of the first of these rows, with all of them; ``error``: of a row of the batch."""
    places = batch.column(POSITION).take(pa.array(rows)).to_pylist()
    return RowError.first(places, lambda number: error(int(rows[number])))


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
            raise _first_of(
                batch,
                bad,
                lambda index: InvalidValueError(
                    f"{shown(ops[index].as_py())} is not an operation",
                    remedy="Use c, u, d or insert, update, delete",
                    table=info.full_name,
                    column="op",
                    row=_row_place(batch, info, index),
                ),
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


@dataclass(frozen=True)
class _PartReader:
    """Reads the images of changes of one version and kind; ``known``: the columns of all versions.

    ``knows_places``: whether the caller's places of the rows are known, which errors then name.
    """

    batch: pa.RecordBatch
    encoder: RowEncoder
    op: Op
    known: frozenset[str]
    knows_places: bool
    names: FieldNames = field(default_factory=FieldNames)

    @property
    def info(self) -> TableInfo:
        return self.encoder.table

    def changes(self, commit_ts: pa.Array, build_ts: int | None, how: Rendering) -> Changes:
        info = self.info
        places = self.batch.column(POSITION) if self.knows_places or not info.whole_handle_key else None
        after = before = None
        if self.op is not Op.DELETE:
            after = Image(info, self.image_columns("after"), how, places)
        if self.op is Op.DELETE:
            before = Image(info, self.image_columns("before"), how, places)
        elif self.op is Op.UPDATE and self.encoder.reads_old:
            assert after is not None
            before = BeforeImage(info, self.image_columns("before"), how, after)
        names = self.batch.schema.names
        given = {name: self.batch.column(name) for name in (*ATTRIBUTES, SPLIT) if name in names}
        return Changes(info, self.op, commit_ts, build_ts, before, after, given)

    def image_columns(self, name: str) -> Mapping[str, pa.Array]:
        subject = "a delete" if self.op is Op.DELETE else f"an {self.op.value}"
        if name not in self.batch.schema.names:
            raise _first_of(
                self.batch,
                np.arange(self.batch.num_rows),
                lambda index: MissingColumnError(
                    f"{subject} needs the image {name!r}",
                    remedy=f"Add the column {name}",
                    table=self.info.full_name,
                    column=name,
                    row=_row_place(self.batch, self.info, index),
                ),
            )
        image = self.batch.column(name)
        if image.null_count:
            raise _first_of(
                self.batch,
                np.flatnonzero(pc.is_null(image).to_numpy(zero_copy_only=False)),
                lambda index: MissingImageError(
                    f"{subject} without its {name} image",
                    remedy=f"Give the {name} image, or another op",
                    table=self.info.full_name,
                    row=_row_place(self.batch, self.info, index),
                    commit_ts=self.batch.column("commit_ts")[index].as_py(),
                ),
            )
        if pa.types.is_map(image.type):
            return self._map_columns(image, name)
        if not pa.types.is_struct(image.type):
            raise UnsupportedTypeError(
                f"the image {name!r} is {image.type}, not a struct or map", table=self.info.full_name, column=name
            )
        return dict(zip(self.names.of(image.type), image.flatten(), strict=True))

    def _map_columns(self, image: pa.MapArray, which: str) -> Mapping[str, pa.Array]:
        """Pivot maps of canonical text into columns. A missing key is an error; a null value is NULL."""
        offsets = np.asarray(image.offsets)
        first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
        # of the whole parent buffer or of this slice: releases of pyarrow differ
        keys, items = (
            child.slice(first, count) if len(child) != count else child for child in (image.keys, image.items)
        )
        encoded = keys.dictionary_encode()
        names = [python_value(name) for name in encoded.dictionary]
        codes = np.asarray(encoded.indices)
        owners = np.repeat(np.arange(len(image)), np.diff(offsets))
        data_columns = {column.name for column in self.info.data_columns}
        columns: dict[str, pa.Array] = {}
        for code, name in enumerate(names):
            entries = np.flatnonzero(codes == code)
            rows = owners[entries]
            if len(entries) and isinstance(name, bytes):
                raise self._first(rows, partial(self._unreadable, which, name))
            if len(entries) and name not in self.known:
                raise self._first(rows, partial(_unknown_column, self.info.full_name, name))
            if len(rows) == len(image) and (rows == np.arange(len(image))).all():
                columns[name] = items.take(pa.array(entries))
                continue
            if name not in data_columns:
                continue
            missing = np.setdiff1d(np.arange(len(image)), rows)
            raise self._first(missing if len(missing) else rows[:-1][np.diff(rows) == 0], partial(self._lacking, name))
        for name in data_columns - columns.keys():
            raise self._first(np.arange(len(image)), partial(self._lacking, name))
        return columns

    def _first(self, rows: npt.NDArray[np.int64], error: Callable[[dict[str, object]], RowError]) -> RowError:
        return _first_of(self.batch, np.unique(rows), lambda index: error(_row_place(self.batch, self.info, index)))

    def _unreadable(self, which: str, name: bytes, row: dict[str, object]) -> InvalidValueError:
        return InvalidValueError(
            f"the image has the column {name!r}, whose name is not valid UTF-8",
            remedy="Repair the name",
            table=self.info.full_name,
            column=which,
            row=row,
        )

    def _lacking(self, name: str, row: dict[str, object]) -> MissingColumnError:
        return MissingColumnError(
            "a row's image lacks a column of the table, or has it twice",
            remedy="A map holds every column exactly once; NULL is a null value",
            table=self.info.full_name,
            column=name,
            row=row,
        )
