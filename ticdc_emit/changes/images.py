"""Row images: the columns of some rows before and after the change, accepted and rendered once each, when asked for.

The before image of an update accepts and renders only what differs from the after image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.columnar.buffers import null_mask, python_value
from ticdc_emit.columnar.checksum import row_crc
from ticdc_emit.columnar.packed_fields import Piece
from ticdc_emit.columnar.small_batches import BatchedColumns, Elements, Pieces, Render
from ticdc_emit.columnar.value_errors import (
    ValueRefused,
    bad_places,
    cast_remedy,
    fault_at,
    mismatch,
    user_type,
    value_remedy,
)
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.config.switches import Defect
from ticdc_emit.errors import InvalidValueError, MissingColumnError, RowError, UnsupportedTypeError
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import FLOAT_TYPES, MySQLType


def refused_value(fault: ValueRefused, column: Column, table: str, row: dict[str, object]) -> InvalidValueError:
    """Return the error of a value that the column cannot hold; ``row`` names its row."""
    return InvalidValueError(
        f"Column `{column.name}` is {user_type(column)}: {fault.reason}",
        remedy=fault.remedy or value_remedy(column),
        table=table,
        column=column.name,
        row=row,
    )


class Image:
    """One image of every row of a batch. ``arrays`` maps column names to arrays of equal length.

    ``positions``: the rows' places in the caller's batch, for errors. ``batched``: of few rows, the columns that are
    made with those of other images (``pipeline.encode.messages``).
    """

    def __init__(
        self, table: TableInfo, arrays: Mapping[str, pa.Array], how: Rendering, positions: pa.Array | None = None
    ) -> None:
        self.table = table
        self.how = how
        self.positions = positions
        self.arrays = arrays
        self._values: dict[str, pa.Array] = {}
        self._rendered: dict[tuple[str, str], pa.Array] = {}
        self._pieces: dict[tuple[str, str], Sequence[Piece]] = {}
        self.batched: BatchedColumns | None = None

    @property
    def is_small(self) -> bool:
        """Whether the rows are so few that what is done for each column costs more than what is done for each row."""
        return self.batched is not None

    def raw(self, column: Column) -> pa.Array:
        """Return the column as it came; ``MissingColumnError`` if the input has none of that name."""
        try:
            return self.arrays[column.name]
        except KeyError:
            raise MissingColumnError(
                "the image lacks a column of the table",
                remedy="Add the column to the before/after struct (null where unknown)",
                table=self.table.full_name,
                column=column.name,
            ) from None

    def values(self, column: Column) -> pa.Array:
        name = column.name
        if name not in self._values:
            made = None if self.batched is None else self.batched.accepted(name)
            self._values[name] = self._accept(column, self.raw(column), None) if made is None else made
        return self._values[name]

    def rendered(self, column: Column, form: str, render: Render) -> pa.Array:
        """Return ``render(column, values)``; ``form`` names the rendering, so that equal ones are made once."""
        key = (column.name, form)
        text = self._rendered.get(key)
        if text is None:
            text = self._rendered[key] = self._render(column, form, render)
        return text

    def rendered_all(self, columns: Sequence[Column], form: str, render: Render) -> list[pa.Array]:
        """Return :meth:`rendered` of each column."""
        return [self.rendered(column, form, render) for column in columns]

    def rendered_rows(self, columns: Sequence[Column], form: str, render: Render, lay: Elements) -> list[pa.Array]:
        """Return :meth:`rendered_all` of columns in rows, of few rows laid out together with those of other images."""
        runs = None if self.batched is None else self.batched.rows(columns, form, lay)
        if runs is None:
            return self.rendered_all(columns, form, render)
        laid, place = [], 0
        for count, made in runs:
            part = columns[place : place + count]
            laid += self.rendered_all(part, form, render) if made is None else [made]
            place += count
        return laid

    def pieces(self, column: Column, form: str, make: Pieces) -> Sequence[Piece]:
        """Return ``make(column, values)`` of many rows, for binary formats; ``form`` names it, it is made once."""
        key = (column.name, form)
        if key not in self._pieces:
            self._pieces[key] = make(column, self.values(column))
        return self._pieces[key]

    def check(self) -> None:
        """Accept every column: whatever is wrong with a value is raised here, before anything is rendered."""
        columns = self.table.data_columns
        for column in columns if self.batched is None else self.batched.not_accepted(columns):
            self.values(column)

    def _render(self, column: Column, form: str, render: Render) -> pa.Array:
        made = None if self.batched is None else self.batched.rendered(column.name, form, render)
        return render(column, self.values(column)) if made is None else made

    def _accept(self, column: Column, array: pa.Array, rows: Mask | None) -> pa.Array:
        try:
            return accept(column, array, self.how)
        except ValueRefused as fault:
            raise self.refusal(
                fault,
                array,
                lambda part: accept(column, part, self.how),
                lambda own, row: refused_value(own, column, self.table.full_name, row),
                rows,
            ) from None
        except TypeError:
            raise UnsupportedTypeError(
                mismatch(column, self.arrays[column.name].type),
                remedy=cast_remedy(column),
                table=self.table.full_name,
                column=column.name,
            ) from None

    @cached_property
    def row_crc(self) -> npt.NDArray[np.uint32]:
        """The checksum of every row, as TiDB's; :class:`InvalidValueError` for a TIMESTAMP without a moment in UTC."""
        columns: Sequence[Column] = self.table.data_columns
        if self.how.switches.checksum_order == "id":
            columns = sorted(columns, key=lambda column: column.id)
        values = [self.values(column) for column in columns]

        def crc(part: Sequence[pa.Array]) -> npt.NDArray[np.uint32]:
            return row_crc(list(zip(columns, part, strict=True)), self.how.zone)

        def error(fault: ValueRefused, row: dict[str, object]) -> InvalidValueError:
            reason = f"the row has no checksum: {fault.reason}"
            return InvalidValueError(reason, remedy=fault.remedy, table=self.table.full_name, row=row)

        try:
            return crc(values)
        except ValueRefused as fault:
            rows = pa.RecordBatch.from_arrays(values, [column.name for column in columns])
            raise self.refusal(fault, rows, lambda part: crc(part.columns), error) from None

    def refusal(
        self,
        fault: ValueRefused,
        values: pa.Array | pa.RecordBatch,
        check: Callable[[Any], object],
        error: Callable[[ValueRefused, dict[str, object]], RowError],
        rows: Mask | None = None,
    ) -> RowError:
        """Return the error of the first row whose values ``check`` refused with ``fault``, with all such rows."""
        places = None if rows is None else np.flatnonzero(rows)
        if self.positions is None:
            return error(fault, self.row_key(fault.index if places is None else int(places[fault.index])))
        bad = bad_places(values, fault, check)
        own = bad if places is None else places[bad]
        return self.refused(
            own, lambda n: error(fault_at(values, int(bad[n]), fault, check), self.row_key(int(own[n])))
        )

    def refused(self, rows: npt.NDArray[np.int64], error: Callable[[int], RowError]) -> RowError:
        """Return the error of the first of these rows, with all of them; ``error``: of each, by its number."""
        if self.positions is None:
            return error(0)
        return RowError.first(self.positions.take(pa.array(rows)).to_pylist(), error)

    def defect(self, rows: npt.NDArray[np.int64], defect: Defect, column: Column | None = None) -> RowError:
        """Return the error of the first of these rows, at which the release has a defect."""
        name = None if column is None else column.name
        return self.refused(
            rows, lambda n: defect.error(table=self.table.full_name, column=name, row=self.row_key(int(rows[n])))
        )

    def take(self, rows: pa.Array) -> Image:
        """Return the image of some rows, which errors name by the same keys and places."""
        places = rows if self.positions is None else self.positions.take(rows)
        return Image(self.table, {name: array.take(rows) for name, array in self.arrays.items()}, self.how, places)

    def row_key(self, index: int) -> dict[str, object]:
        """Return what names a row in an error: its handle key, and its place in what the caller gave, if known."""
        columns = (column.name for column in self.table.whole_handle_key)
        key = {name: python_value(self.arrays[name][index]) for name in columns if name in self.arrays}
        if self.positions is not None:
            return {**key, "position": self.positions[index].as_py()}
        return key or {"position": index}


def image_column(image: pa.Array, name: str) -> pa.Array | None:
    """Return one column of a struct or map of images, ``None`` if it has none; in a map a missing key is null."""
    if pa.types.is_map(image.type):
        return pc.map_lookup(image, pa.scalar(name), "first")
    if not pa.types.is_struct(image.type) or image.type.get_field_index(name) < 0:
        return None
    return pc.struct_field(image, [name])  # as text it would be a path


_MOSTLY = 0.5  # share of differing rows from which rendering the whole column is cheaper than gathering


class BeforeImage(Image):
    """The before image of updates, which leans on the after image; ``batched_parts``: of the few rows that differ."""

    def __init__(self, table: TableInfo, arrays: Mapping[str, pa.Array], how: Rendering, after: Image) -> None:
        super().__init__(table, arrays, how, after.positions)
        self.after = after
        self._differs: dict[str, Mask | None] = {}
        self._parts: dict[str, pa.Array] = {}
        self.batched_parts: BatchedColumns | None = None

    def own_values(self) -> tuple[dict[str, pa.Array], dict[str, pa.Array]]:
        """Return the columns that mostly differ from the after image, and of others the rows that do."""
        whole: dict[str, pa.Array] = {}
        parts: dict[str, pa.Array] = {}
        for column in self.table.data_columns:
            if column.name in self.arrays and column.name in self.after.arrays:
                mask = self.differs(column)
                if mask is None:
                    continue
                if self._mostly_differs(column):
                    whole[column.name] = self.raw(column)
                else:
                    parts[column.name] = self.raw(column).filter(pa.array(mask))
        return whole, parts

    def beside(self, after: Image, rows: pa.Array) -> BeforeImage:
        """Return the before image of some rows; ``after`` is their after image."""
        return BeforeImage(self.table, {name: array.take(rows) for name, array in self.arrays.items()}, self.how, after)

    def differs(self, column: Column) -> Mask | None:
        """Return where the raw values differ, ``None`` if nowhere; equal values may differ in form (1.5, 1.50)."""
        if column.name not in self._differs:
            self._differs[column.name] = differing(self.raw(column), self.after.raw(column))
        return self._differs[column.name]

    def changed(self, column: Column, form: str, render: Render, *, by_text: bool = False) -> Mask:
        """Return where the column really changed, by the rendered form.

        Floating numbers are compared as numbers, so that -0 equals 0, unless ``by_text``.
        """
        mask = self.differs(column)
        if mask is None:
            return np.zeros(len(self.raw(column)), np.bool_)
        rows = pa.array(mask)
        if column.type in FLOAT_TYPES and not by_text:
            zero = pa.scalar(0.0)  # added to -0.0 it gives 0.0
            pair = (
                pc.add(self.values(column).filter(rows), zero),
                pc.add(self.after.values(column).filter(rows), zero),
            )
        else:
            pair = (
                self.rendered(column, form, render).filter(rows),
                self.after.rendered(column, form, render).filter(rows),
            )
        if column.type is MySQLType.VECTOR_FLOAT32 and not by_text:
            pair = _without_negative_zero(pair[0]), _without_negative_zero(pair[1])
        still = differing(*pair)
        changed = np.zeros(len(mask), np.bool_)
        if still is not None:
            changed[np.flatnonzero(mask)[still]] = True
        return changed

    def check(self) -> None:
        """Accept every cell that the after image does not vouch for."""
        for column in self.table.data_columns:
            if self._mostly_differs(column):
                self.values(column)
            elif self.differs(column) is not None:
                self._part(column)

    def _mostly_differs(self, column: Column) -> bool:
        mask = self.differs(column)
        return mask is not None and bool(mask.mean() > _MOSTLY)

    def _part(self, column: Column) -> pa.Array:
        name = column.name
        if name not in self._parts:
            part = None if self.batched_parts is None else self.batched_parts.accepted(name)
            if part is None:
                mask = self.differs(column)
                part = self._accept(column, self.raw(column).filter(pa.array(mask)), mask)
            self._parts[name] = part
        return self._parts[name]

    def _render(self, column: Column, form: str, render: Render) -> pa.Array:
        if self._mostly_differs(column):
            return super()._render(column, form, render)
        text, mask = self.after.rendered(column, form, render), self.differs(column)
        if mask is None:
            return text
        part = None if self.batched_parts is None else self.batched_parts.rendered(column.name, form, render)
        if part is None:
            part = render(column, self._part(column))
        index = np.arange(len(mask))
        index[mask] = np.arange(len(mask), len(mask) + len(part))
        return pa.concat_arrays([text, part.cast(text.type)]).take(pa.array(index))


def _without_negative_zero(vectors: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(vectors, r"-0([,\]])", r"0\1")


def differing(left: pa.Array, right: pa.Array) -> Mask | None:
    """Return a mask of the rows whose values (or nulls) differ, ``None`` if none does; types may differ too."""
    if left is right:
        return None
    if left.type == right.type and pa.types.is_floating(left.type):  # by bits: -0.0 is printed otherwise than 0.0
        bits = pa.int32() if pa.types.is_float32(left.type) else pa.int64()
        left, right = left.view(bits), right.view(bits)
    if left.type != right.type or pa.types.is_nested(left.type):  # lists of floats compare by number too
        return np.ones(len(left), np.bool_) if len(left) else None
    if left.equals(right):
        return None
    if pa.types.is_dictionary(left.type):
        left, right = left.dictionary_decode(), right.dictionary_decode()
    mask = np.asarray(pc.not_equal(left, right).fill_null(False).to_numpy(zero_copy_only=False))
    left_null, right_null = null_mask(left), null_mask(right)
    if left_null is not None or right_null is not None:
        none = np.zeros(len(left), np.bool_)
        mask = mask | ((none if left_null is None else left_null) ^ (none if right_null is None else right_null))
    return mask if mask.any() else None
