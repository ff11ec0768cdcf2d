"""Unions with ``null``: the branch of each value, before what Avro encodes of it.

In: cells of a column's values (``columnar.cells``), and which of them are not null. Out: pieces that begin with the
index of the branch. Nothing is shown of a null but its branch. What one cell has room for is put into one, for a row
costs by the cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.columnar.cells import WORDS, Cell, Piece, chosen

__all__ = ["Union", "behind", "branched"]


@dataclass(frozen=True)
class Union:
    """The branches of a value, as the bytes of their indexes; ``first``: the beginning of every value but null."""

    value: int
    null: int
    first: bytes = b""

    @classmethod
    def null_at(cls, index: int) -> Union:
        """Return the union of two branches whose ``null`` is at ``index``."""
        return cls(2 * (1 - index), 2 * index)

    @property
    def lead(self) -> bytes:
        """The bytes before the value's own bytes."""
        return bytes([self.value]) + self.first


def branched(cells: Sequence[Cell], union: Union | None, valid: Mask | None) -> list[Piece]:
    """Return the cells of values behind their branch; ``valid``: where a value is not null, ``None`` for everywhere.

    Without a union nothing is shown of a null.
    """
    if valid is None:
        return [*([] if union is None else [union.lead]), *cells]
    shown = [Cell(cell.data, np.multiply(cell.length, valid, dtype=np.uint8)) for cell in cells]
    if union is None:
        return [*shown]
    if union.first:
        return [*chosen(valid.view(np.uint8), [bytes([union.null]), union.lead]), *shown]
    return [*behind(np.where(valid, np.uint8(union.value), np.uint8(union.null)), shown)]


def behind(byte: npt.NDArray[np.uint8], cells: Sequence[Cell]) -> list[Cell]:
    """Return cells with one more byte before them: in the word of the first one if it has room."""
    if not cells or cells[0].data.dtype.kind != "u":
        return [Cell(byte, 1), *cells]
    first, *others = cells
    most = first.length if isinstance(first.length, int) else int(first.length.max(initial=0))
    size = next((size for size in WORDS if size > most), None)
    if size is None:
        return [Cell(byte, 1), *cells]
    word = np.dtype(f"<u{size}")
    data = first.data.astype(word)
    data <<= word.type(8)
    data |= byte
    return [Cell(data, first.length + 1), *others]
