"""Rows of one table, or of tables encoded together, on their way from the input to their messages.

What rows of many tables have in common (columns, commit_ts, fields of images) is read once for their block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.arrow_input import only_op
from ticdc_emit.changes.attributes import ATTRIBUTES, SPLIT
from ticdc_emit.changes.commit_ts import commit_ts_array
from ticdc_emit.changes.model import Op, RowEncoder, rows_within
from ticdc_emit.columnar.buffers import python_value
from ticdc_emit.errors import RowError
from ticdc_emit.pipeline.plan.table_plans import TablePlan
from ticdc_emit.schema.model import TableInfo

BATCH_ROWS, BATCH_BYTES = 10_000, 64 * 1024 * 1024
"""The most that is encoded at once."""

POSITION = "_position"
"""The column with each row's place."""


def with_places(rows: pa.RecordBatch, first: int = 0) -> pa.RecordBatch:
    """Return rows with the place of each; ``first``: that of the first one."""
    return rows.append_column(POSITION, pa.array(np.arange(first, first + rows.num_rows)))


def describe_row(batch: pa.RecordBatch, info: TableInfo, index: int) -> dict[str, object]:
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


def first_error(batch: pa.RecordBatch, rows: npt.NDArray[np.int64], error: Callable[[int], RowError]) -> RowError:
    """Return the error of the first of these rows, with all of them; ``error``: of a row of the batch."""
    places = batch.column(POSITION).take(pa.array(rows)).to_pylist()
    return RowError.first(places, lambda number: error(int(rows[number])))


_ATTRIBUTES = (*ATTRIBUTES, SPLIT)


class StructFields(NamedTuple):
    """The fields of an image that is a struct: the image's name, theirs in their order, and these as a set."""

    image: str
    names: tuple[str, ...]
    distinct: frozenset[str]


def struct_fields(images: Iterable[tuple[str, pa.DataType]]) -> tuple[StructFields, ...]:
    """Return the fields of those images, given with their types, that are structs."""
    structs = [(image, [field.name for field in kind]) for image, kind in images if pa.types.is_struct(kind)]
    return tuple(StructFields(image, tuple(names), frozenset(names)) for image, names in structs)


class Block:
    """A batch in change form. ``where``: for the errors of commit_ts."""

    def __init__(self, batch: pa.RecordBatch, where: str) -> None:
        self.commit_ts = commit_ts_array(batch, where)
        self.columns: dict[str, pa.Array] = dict(zip(batch.schema.names, batch.columns, strict=True))
        self.knows_places = POSITION in self.columns
        if not self.knows_places:
            self.columns[POSITION] = pa.array(np.arange(batch.num_rows))
        self.columns.setdefault("commit_ts", self.commit_ts)
        self.attributes = [name for name in _ATTRIBUTES if name in self.columns]
        images = [(name, self.columns[name].type) for name in ("before", "after") if name in self.columns]
        self.fields = struct_fields(images)  # of those that are structs
        self._images: dict[str, Mapping[str, pa.Array] | None] = {}

    @cached_property
    def batch(self) -> pa.RecordBatch:
        return pa.record_batch(self.columns)

    @cached_property
    def op(self) -> Op | None:
        """The kind of all rows; ``None`` where they may have several, or have no operation."""
        return only_op(self.columns["op"]) if "op" in self.columns else None

    def image(self, name: str) -> Mapping[str, pa.Array] | None:
        """Return the columns of an image that is a struct and that every row has, else ``None``."""
        if name not in self._images:
            self._images[name] = None
            for image, names, _ in self.fields:
                if image == name and self.columns[image].null_count == 0:
                    self._images[name] = dict(zip(names, self.columns[image].flatten(), strict=True))
        return self._images[name]


@dataclass(frozen=True)
class TableGroup:
    """Tables whose rows can be encoded together (``changes.model``); ``codes``: of each row, the place of its table."""

    tables: tuple[TablePlan, ...]
    codes: npt.NDArray[np.int32]

    @cached_property
    def first(self) -> TablePlan:
        """The table that exists longest."""
        return min(self.tables, key=lambda table: table.since[0])

    @cached_property
    def overhead(self) -> int:
        """The greatest ``overhead`` of any of the tables' encoders, in bytes."""
        return max(table.overhead for table in self.tables)


def encoder_of(table: TablePlan) -> RowEncoder:
    encoder = table.encoders[0]
    assert encoder is not None
    return encoder


@dataclass(frozen=True)
class RowBatch:
    """``length`` rows of a block from row ``start`` on; ``about``: their approximate bytes, if known."""

    block: Block
    start: int
    length: int
    tables: TablePlan | TableGroup
    order_keys: pa.Array | None = None
    about: int | None = None

    @classmethod
    def of(cls, batch: pa.RecordBatch, tables: TablePlan | TableGroup, order_keys: pa.Array | None = None) -> RowBatch:
        """Return all rows of a batch; errors as those of :class:`Block`."""
        table = tables.first if isinstance(tables, TableGroup) else tables
        return cls(Block(batch, table.full_name), 0, batch.num_rows, tables, order_keys)

    @cached_property
    def is_whole(self) -> bool:
        """Whether these are all rows of the block."""
        return self.length == len(self.block.commit_ts)

    @property
    def batch(self) -> pa.RecordBatch:
        return self.block.batch if self.is_whole else self.block.batch.slice(self.start, self.length)

    def column(self, name: str) -> pa.Array:
        """Return a column of the change form."""
        whole = self.block.columns[name]
        return whole if self.is_whole else whole.slice(self.start, self.length)

    @property
    def commit_ts(self) -> pa.Array:
        return self.block.commit_ts if self.is_whole else self.block.commit_ts.slice(self.start, self.length)

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the rows, which Arrow counts column by column."""
        return int(self.batch.nbytes) if self.about is None else self.about

    def slice(self, start: int, length: int) -> RowBatch:
        """Return ``length`` of these rows from the one at ``start`` on, or as many as there are."""
        length = min(length, self.length - start)
        tables = self.tables
        if isinstance(tables, TableGroup):
            tables = TableGroup(tables.tables, tables.codes[start : start + length])
        order_keys = None if self.order_keys is None else self.order_keys.slice(start, length)
        return RowBatch(self.block, self.start + start, length, tables, order_keys)

    def take(self, places: npt.NDArray[np.int64], table: TablePlan | None = None) -> RowBatch:
        """Return those of these rows that are at some places, as a block of their own; ``table``: of all of them."""
        index, tables = pa.array(places), table or self.tables
        if isinstance(tables, TableGroup):
            tables = TableGroup(tables.tables, tables.codes[places])
        order_keys = None if self.order_keys is None else self.order_keys.take(index)
        return RowBatch.of(self.batch.take(index), tables, order_keys)

    def bounded(self) -> Iterator[RowBatch]:
        """Cut it into batches of bounded input and output: messages are larger than rows, and Arrow ends at 2 GiB."""
        rows = rows_within(self.tables.overhead, self.length, self.nbytes, BATCH_BYTES)
        if rows >= self.length:
            yield self
            return
        for start in range(0, self.length, rows):
            yield self.slice(start, rows)

    def by_table(self) -> Iterator[RowBatch]:
        if not isinstance(self.tables, TableGroup):
            yield self
            return
        for code, table in enumerate(self.tables.tables):
            rows = np.flatnonzero(self.tables.codes == code)
            if len(rows):
                yield self.take(rows, table)
