"""Both images of updates in binary formats: what changed nowhere is laid out once.

In: updates, and what lays out one column's values. Out: entries of the two images, in the columns' order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from ticdc_emit.changes.images import Image
from ticdc_emit.changes.model import Changes
from ticdc_emit.columnar.cells import Piece, join_pieces
from ticdc_emit.columnar.pool import Pieces
from ticdc_emit.schema.model import Column

__all__ = ["BinaryImages"]

_MOSTLY = 0.5  # share of changed rows from which a column's both images are packed rather than gathered


class BinaryImages:
    """``form`` names the pieces that ``value`` makes; ``lead``: what stands before each value of a column."""

    def __init__(self, form: str, value: Pieces, lead: Callable[[Column], bytes] = lambda column: b"") -> None:
        self._form = form
        self._value = value
        self._lead = lead

    def entry(self, column: Column, image: Image) -> list[Piece]:
        """Lay out one column of an image."""
        return [self._lead(column), *image.pieces(column, self._form, self._value)]

    def joined(self, column: Column, image: Image) -> list[Piece]:
        """Lay out one column of an image as an array that the image keeps."""
        return [self._lead(column), image.rendered(column, f"{self._form}, joined", self._join)]

    def both(self, changes: Changes, columns: Sequence[Column]) -> tuple[list[list[Piece]], list[list[Piece]]]:
        """Lay out after and before of updates; an entry of both is the same object where nothing of it changed."""
        data: list[list[Piece]] = []
        old: list[list[Piece]] = []
        after, before = changes.current, changes.old
        for column in columns:
            changed = before.differs(column)
            if changed is None:
                data.append(self.entry(column, after))
                old.append(data[-1])
                continue
            lay = self.entry if changed.mean() > _MOSTLY else self.joined
            data.append(lay(column, after))
            old.append(lay(column, before))
        return data, old

    def _join(self, column: Column, values: pa.Array) -> pa.Array:
        return join_pieces(self._value(column, values), len(values))
