"""Columns of one kind, from many tables, accepted and rendered in one call.

Most of what a few rows cost is paid per call and not per value, so the columns of small groups of rows (a table
version and a kind of change each) are brought together: in go arrays with the columns that they are of, out come each
array's own accepted form (``columnar.values``) and renderings, slices of what was made for all arrays of one kind. A
**kind** is all that a column says of its values, which is all but its name, and the Arrow type of the array.

What is wrong with a value is not told here: whoever asked gets ``None`` and makes the column alone, so that errors name
their place as ever. A kind with a single array is left to its owner too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

import pyarrow as pa

from ticdc_emit.columnar.cells import Piece, cut
from ticdc_emit.columnar.faults import ValueFault
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.schema.model import Column

__all__ = ["ColumnPool", "Pieces", "Pooled", "Render", "nameless"]

Render: TypeAlias = Callable[[Column, pa.Array], pa.Array]
"""Text of accepted values; of the column it reads anything but its name. One that needs the name raises ``TypeError``
for a column without, and is asked again for each column alone."""

Pieces: TypeAlias = Callable[[Column, pa.Array], Sequence[Piece]]
"""The same for binary formats: the pieces of each value."""

_NOT_POOLED = (ValueFault, TypeError, pa.ArrowException)


class ColumnPool:
    """The columns of some groups of rows. All of them are added before anything is asked for."""

    def __init__(self, how: Rendering) -> None:
        self._how = how
        self._kinds: dict[Column, list[_Kind]] = {}

    def add(self, column: Column, array: pa.Array) -> Pooled | None:
        """Take a column of a group; ``None`` for an Arrow type whose arrays do not simply follow one another."""
        arrow_type, values = array.type, nameless(column)
        for kind in self._kinds.get(values, ()):
            if kind.arrow_type == arrow_type:
                return kind.add(array)
        if pa.types.is_dictionary(arrow_type) or pa.types.is_nested(arrow_type):
            return None
        kind = _Kind(values, arrow_type, self._how)
        self._kinds.setdefault(values, []).append(kind)
        return kind.add(array)


class Pooled:
    """One array in the pool. Every answer is ``None`` where its owner has to make it alone."""

    __slots__ = ("_kind", "_length", "_start")

    def __init__(self, kind: _Kind, start: int, length: int) -> None:
        self._kind, self._start, self._length = kind, start, length

    def is_sound(self) -> bool:
        """Return whether every value of the kind was accepted."""
        return self._kind.accepted() is not None

    def accepted(self) -> pa.Array | None:
        """Return the accepted values."""
        whole = self._kind.accepted()
        return None if whole is None else whole.slice(self._start, self._length)

    def rendered(self, form: str, render: Render) -> pa.Array | None:
        """Return the rendering; ``form`` names it, so that it is made once."""
        whole = self._kind.made(form, render)
        return None if whole is None else whole.slice(self._start, self._length)

    def pieces(self, form: str, make: Pieces) -> list[Piece] | None:
        """Return the pieces; ``form`` names them."""
        whole = self._kind.made(form, make)
        return None if whole is None else [cut(piece, self._start, self._length) for piece in whole]


class _Kind:
    """All arrays of one kind."""

    def __init__(self, column: Column, arrow_type: pa.DataType, how: Rendering) -> None:
        self.arrow_type = arrow_type
        self._column = column
        self._how = how
        self._arrays: list[pa.Array] = []
        self._count = 0
        self._accepted: pa.Array | None = None
        self._made: dict[str, Any] = {}
        self._alone = False

    def add(self, array: pa.Array) -> Pooled:
        start, length = self._count, len(array)
        self._arrays.append(array)
        self._count += length
        return Pooled(self, start, length)

    def accepted(self) -> pa.Array | None:
        if self._accepted is None and not self._alone:
            self._alone = len(self._arrays) == 1
            if not self._alone:
                try:
                    self._accepted = accept(self._column, pa.concat_arrays(self._arrays), self._how)
                except _NOT_POOLED:
                    self._alone = True
            self._arrays = []
        return self._accepted

    def made(self, form: str, make: Callable[[Column, pa.Array], Any]) -> Any:
        if form not in self._made:
            values = self.accepted()
            try:
                self._made[form] = None if values is None else make(self._column, values)
            except _NOT_POOLED:
                self._made[form] = None
        return self._made[form]


@lru_cache(maxsize=16384)
def nameless(column: Column) -> Column:
    """Return what a column says of its values."""
    return replace(column, id=0, name="", comment="")
