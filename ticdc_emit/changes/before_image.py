"""The image before an update, which shares with the image after it what does not change.

In: raw Arrow arrays, and the after image of the same rows. Out: what :class:`Image` gives. Only the rows that differ
are accepted and rendered, and the rest is gathered from the after image, for most cells of most updates do not change.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.columnar.buffers import null_mask
from ticdc_emit.columnar.pool import ColumnPool, Pooled, Render
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.types import FLOAT_TYPES, MySQLType

__all__ = ["BeforeImage", "differing"]

_MOSTLY = 0.5  # share of differing rows from which rendering the whole column is cheaper than gathering


class BeforeImage(Image):
    """The before image of updates, which leans on the after image."""

    def __init__(self, table: TableInfo, arrays: Mapping[str, pa.Array], how: Rendering, after: Image) -> None:
        super().__init__(table, arrays, how, after.positions)
        self.after = after
        self._differs: dict[str, Mask | None] = {}
        self._parts: dict[str, pa.Array] = {}
        self._pooled_parts: dict[str, Pooled] = {}

    def join(self, pool: ColumnPool) -> None:
        """Have what the after image does not vouch for accepted and rendered by the pool."""
        self._pool = pool
        for column in self.table.data_columns:
            if column.name not in self._arrays or column.name not in self.after:
                continue
            values, pooled_values = self.raw(column), self._pooled
            if not self._mostly_differs(column):
                mask = self.differs(column)
                if mask is None:
                    continue
                values, pooled_values = values.filter(pa.array(mask)), self._pooled_parts
            pooled = pool.add(column, values)
            if pooled is not None:
                pooled_values[column.name] = pooled

    def beside(self, after: Image, rows: pa.Array) -> BeforeImage:
        """Return the before image of some rows; ``after`` is their after image."""
        return BeforeImage(self.table, self._taken(rows), self.how, after)

    def differs(self, column: Column) -> Mask | None:
        """Return where the raw values differ, ``None`` if nowhere; equal values may differ in form (1.5, 1.50)."""
        if column.name not in self._differs:
            self._differs[column.name] = differing(self.raw(column), self.after.raw(column))
        return self._differs[column.name]

    def changed(self, column: Column, form: str, render: Render, *, by_text: bool = False) -> Mask:
        """Return where the column really changed, by the rendered form.

        FLOAT, DOUBLE and the numbers of a VECTOR are compared as numbers, so that -0 equals 0, unless ``by_text``.
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
        """Return the accepted values of the differing rows only."""
        name = column.name
        if name not in self._parts:
            pooled = self._pooled_parts.get(name)
            part = None if pooled is None else pooled.accepted()
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
        pooled = self._pooled_parts.get(column.name)
        part = None if pooled is None else pooled.rendered(form, render)
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
