"""From rows in change form to :class:`Changes` of one table version and one kind, whose images are Arrow columns.

In: what :func:`change_form` returns. Images are structs, or maps of canonical text; a missing image or column is a
:class:`RowError`, which :func:`check_images` raises by types alone, before there are any rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.arrow_input import only_op
from ticdc_emit.changes.attributes import ATTRIBUTES, PHYSICAL_TABLE_ID
from ticdc_emit.changes.commit_ts import commit_ts_array
from ticdc_emit.changes.images import BeforeImage, Image
from ticdc_emit.changes.model import REFUSED, Changes, Op, TableConstants, rows_within
from ticdc_emit.columnar.buffers import Columns, python_value
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.errors import (
    InvalidValueError,
    MissingColumnError,
    MissingImageError,
    RowError,
    SchemaError,
    TicdcEmitError,
    UnsupportedTypeError,
    shown,
)
from ticdc_emit.hints import did_you_mean
from ticdc_emit.pipeline.arrange.row_batch import (
    BATCH_BYTES,
    BATCH_ROWS,
    POSITION,
    RowBatch,
    StructFields,
    TableGroup,
    describe_row,
    encoder_of,
    first_error,
    struct_fields,
)
from ticdc_emit.pipeline.arrange.transactions import RANKS, UNKNOWN, op_ranks
from ticdc_emit.pipeline.plan.table_plans import TablePlan
from ticdc_emit.schema.model import TableInfo

ImageName: TypeAlias = Literal["before", "after"]
_COLUMNS = ("op", "before", "after", *ATTRIBUTES)
IMAGES: tuple[ImageName, ...] = ("before", "after")


def check_fields(fields: Iterable[StructFields], table: TablePlan) -> None:
    """Raise the error of an image that is a struct with a column twice, or with one that the table never had."""
    known = table.column_names
    for image, names, distinct in fields:
        if len(distinct) == len(names) and distinct <= known:
            continue
        for place, own in enumerate(names):
            if own in names[:place]:
                raise SchemaError(
                    f"the image {image!r} has two columns with the same name",
                    remedy="Give each column a different name",
                    table=table.full_name,
                    column=own,
                )
            if own not in known and not table.left_out:  # whose other versions are not in the plan
                raise unknown_column(table.full_name, known, own, None)


def unknown_column(table: str, known: Collection[str], name: str, row: dict[str, object] | None) -> InvalidValueError:
    hint = did_you_mean(str(name), sorted(known))
    return InvalidValueError(
        "an image has a column that the table never had",
        remedy=f"{hint}Names are case-sensitive; remove it, or complete the schema",
        table=table,
        column=name,
        row=row,
    )


def check_images(batch: pa.RecordBatch, table: TablePlan, how: Rendering) -> None:
    """Raise the error of rows of these types that fit no version of the table; ``batch``: its types, without rows.

    Rows that fit one version are left to the check of their values. Raises
    :class:`~ticdc_emit.errors.UnsupportedTypeError` and :class:`~ticdc_emit.errors.MissingColumnError`.
    """
    images = [batch.column(name) for name in IMAGES if name in batch.schema.names]
    for name in IMAGES:
        kind = batch.schema.field(name).type if name in batch.schema.names else pa.null()
        if not (pa.types.is_struct(kind) or pa.types.is_map(kind) or pa.types.is_null(kind)):
            raise UnsupportedTypeError(
                f"the image {name!r} is {kind}, not a struct or map",
                remedy="Give a struct of the table's columns, or a map of canonical text",
                table=table.full_name,
                column=name,
            )
    kinds = [(field.name, field.type) for field in batch.schema if field.name in IMAGES]
    check_fields(struct_fields(kinds), table)
    structs = [image for image in images if pa.types.is_struct(image.type)]
    is_whole = not any(pa.types.is_map(image.type) for image in images)
    faults = []
    for encoder in table.encoders:
        if encoder is not None:
            fault = _fault(structs, encoder.table, how, is_whole=is_whole)
            if fault is None:
                return
            faults.append(fault)
    if faults:
        raise faults[-1]


def _fault(structs: list[pa.StructArray], info: TableInfo, how: Rendering, *, is_whole: bool) -> TicdcEmitError | None:
    held = {field.name for struct in structs for field in struct.type}
    for struct in structs:
        try:
            arrays = dict(zip((field.name for field in struct.type), struct.flatten(), strict=True))
            image = Image(info, arrays, how)
            for column in info.data_columns:
                if column.name in arrays:
                    image.values(column)
        except TicdcEmitError as fault:
            return fault
        except pa.ArrowException:  # what Arrow cannot do without rows is told with rows
            return None
    missing = [column.name for column in info.data_columns if column.name not in held]
    if structs and is_whole and missing:
        return MissingColumnError(
            "the image lacks a column of the table",
            remedy="Add the column to the before/after struct (null where unknown)",
            table=info.full_name,
            column=missing[0],
        )
    return None


@dataclass(frozen=True)
class ImageReader:
    """Reads the images of changes of one version and kind; ``known``: the columns of all versions."""

    rows: RowBatch
    info: TableInfo
    op: Op
    known: frozenset[str]

    @property
    def batch(self) -> pa.RecordBatch:
        return self.rows.batch

    def image_columns(self, name: str) -> Mapping[str, pa.Array]:
        columns = self.rows.block.image(name)
        if columns is not None:
            return columns if self.rows.is_whole else Columns(columns, self.rows.start, self.rows.length)
        subject = "a delete" if self.op is Op.DELETE else f"an {self.op.value}"
        if name not in self.rows.block.columns:
            raise first_error(
                self.batch,
                np.arange(self.rows.length),
                lambda index: MissingColumnError(
                    f"{subject} needs the image {name!r}",
                    remedy=f"Add the column {name}",
                    table=self.info.full_name,
                    column=name,
                    row=describe_row(self.batch, self.info, index),
                ),
            )
        image = self.rows.column(name)
        if image.null_count:
            raise first_error(
                self.batch,
                np.flatnonzero(pc.is_null(image).to_numpy(zero_copy_only=False)),
                lambda index: MissingImageError(
                    f"{subject} without its {name} image",
                    remedy=f"Give the {name} image, or another op",
                    table=self.info.full_name,
                    row=describe_row(self.batch, self.info, index),
                    commit_ts=self.batch.column("commit_ts")[index].as_py(),
                ),
            )
        if pa.types.is_map(image.type):
            return self._map_columns(image, name)
        if not pa.types.is_struct(image.type):
            raise UnsupportedTypeError(
                f"the image {name!r} is {image.type}, not a struct or map",
                remedy="Give a struct of the table's columns, or a map of text",
                table=self.info.full_name,
                column=name,
            )
        names = next(fields.names for fields in self.rows.block.fields if fields.image == name)
        return dict(zip(names, image.flatten(), strict=True))

    def _map_columns(self, image: pa.MapArray, which: str) -> Mapping[str, pa.Array]:
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
                raise self._first(rows, partial(unknown_column, self.info.full_name, self.known, name))
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
        return first_error(self.batch, np.unique(rows), lambda index: error(describe_row(self.batch, self.info, index)))

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


def read_changes(rows: RowBatch, how: Rendering, build_ts: int | None) -> list[Changes]:
    """Return the rows as changes of one table version and one kind each, a bounded number at once.

    Rows of several tables are read together by kind, as rows of the table that exists longest.
    """
    tables = rows.tables
    table = tables.first if isinstance(tables, TableGroup) else tables
    known, knows_places = table.column_names, rows.block.knows_places
    check_fields(rows.block.fields, table)
    nbytes = rows.nbytes if rows.length > 1 else 0  # a row is not cut
    rows = RowBatch(rows.block, rows.start, rows.length, table)  # without order keys, which would be cut, too
    read: list[Changes] = []
    physical_ids = rows.column(PHYSICAL_TABLE_ID) if PHYSICAL_TABLE_ID in rows.block.attributes else None
    for start, length, encoder in table.spans(rows.commit_ts, physical_ids):
        count = min(BATCH_ROWS, rows_within(encoder.overhead, rows.length, nbytes, BATCH_BYTES))
        for at in range(start, start + length, count):
            some = rows.slice(at, min(count, start + length - at))
            for op, places in _by_op(some, encoder.table):
                of_op = some if places is None else some.take(places)
                reader = ImageReader(of_op, encoder.table, op, known)
                # the places that errors name
                positions = of_op.column(POSITION) if knows_places or not encoder.table.whole_handle_key else None
                after = before = None
                if op is Op.DELETE:
                    before = Image(encoder.table, reader.image_columns("before"), how, positions)
                else:
                    after = Image(encoder.table, reader.image_columns("after"), how, positions)
                    if op is Op.UPDATE and encoder.reads_old:
                        before = BeforeImage(encoder.table, reader.image_columns("before"), how, after)
                given = {name: of_op.column(name) for name in of_op.block.attributes}
                changes = Changes(encoder, op, of_op.commit_ts, build_ts, before, after, given)
                if places is not None or some.length < rows.length:
                    changes.rows = at + (np.arange(some.length) if places is None else places)
                if isinstance(tables, TableGroup):
                    own = slice(None) if changes.rows is None else changes.rows
                    changes.tables = TableConstants(tuple(map(encoder_of, tables.tables)), tables.codes[own])
                read.append(changes)
    return read


def read_image(
    batch: pa.RecordBatch, table: TablePlan, info: TableInfo, op: Op, name: ImageName, how: Rendering
) -> Image:
    """Return one image of changes of one version and kind. Raises :class:`RowError` subclasses as above."""
    rows = RowBatch.of(batch, table)
    check_fields(rows.block.fields, table)
    columns = ImageReader(rows, info, op, table.column_names).image_columns(name)
    return Image(info, columns, how, rows.column(POSITION))


def change_form(batch: pa.RecordBatch, table: str) -> pa.RecordBatch:
    """Return the columns of the change form alone, with a checked commit_ts and each row's place."""
    names = batch.schema.names
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


def _by_op(rows: RowBatch, info: TableInfo) -> list[tuple[Op, npt.NDArray[np.int64] | None]]:
    if rows.block.op is not None:
        return [(rows.block.op, None)]
    ops = rows.column("op") if "op" in rows.block.columns else pa.nulls(rows.length)
    if not rows.is_whole and (only := only_op(ops)) is not None:
        return [(only, None)]
    if not (pa.types.is_dictionary(ops.type) or pa.types.is_string(ops.type) or pa.types.is_large_string(ops.type)):
        raise UnsupportedTypeError(
            f"op is {ops.type}, not a string",
            remedy="Give op as c, u, d or insert, update, delete",
            table=info.full_name,
            column="op",
        )
    kinds = op_ranks(ops)
    bad = np.flatnonzero(kinds == UNKNOWN)
    if len(bad):
        batch = rows.batch
        raise first_error(batch, bad, lambda index: _no_operation(ops[index].as_py(), batch, info, index))
    places_of = {op: np.flatnonzero(kinds == RANKS[op]) for op in Op}
    return [(op, None if len(places) == len(kinds) else places) for op, places in places_of.items() if len(places)]


def _no_operation(text: str | None, batch: pa.RecordBatch, info: TableInfo, index: int) -> InvalidValueError:
    place = {"table": info.full_name, "row": describe_row(batch, info, index)}
    if text is not None and text.startswith(REFUSED):
        return InvalidValueError(text[1:], remedy="Correct the row, or leave it out", **place)
    remedy = "Use c, u, d or insert, update, delete"
    return InvalidValueError(f"{shown(text)} is not an operation", remedy=remedy, column="op", **place)
