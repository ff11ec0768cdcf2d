"""Columns of one kind, from many tables, accepted and rendered in one call.

With few rows, most of the cost is per call and not per value. So the columns of small groups of rows (each of one table
version and kind of change) are pooled. In: arrays with their columns. Out: each array's accepted form
(``columnar.values``) and renderings, as slices of those made for all arrays of one kind. A **kind** is everything that
a column defines about its values (:attr:`Column.kind`), and the array's Arrow type. The maximum length of texts is not
part of it, because tables differ most in that, and few texts come near it.

Errors of values are not reported here: the caller gets ``None`` and renders the column alone, so that the error names
its place. A kind with a single array is also left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, TypeAlias

import pyarrow as pa

from ticdc_emit.columnar.buffers import Columns, text_buffers
from ticdc_emit.columnar.packed_fields import Block, Piece, cut, interleaved
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.schema.model import NO_LIMIT, Column

__all__ = ["ColumnPool", "Elements", "Pieces", "Pooled", "Render", "Run"]


Render: TypeAlias = Callable[[Column, pa.Array], pa.Array]
"""Renders accepted values as text without using the column's name. A rendering that needs the name raises ``TypeError``
for a column without one, and is called again for each column alone.
"""

Pieces: TypeAlias = Callable[[Column, pa.Array], Sequence[Piece]]
"""The same for binary formats: the pieces of each value."""

Elements: TypeAlias = Callable[[Column, pa.Array], Sequence[pa.Array]]
"""A rendering of each value as ``binary`` elements, which make it up one after the other. Null counts as empty."""

Run: TypeAlias = "tuple[int, pa.Array | None]"
"""The number of neighbouring columns, and what they show in each row; ``None`` if the caller has to make them alone."""

_NOT_POOLED = (ValueRefused, TypeError, pa.ArrowException)


class ColumnPool:
    """The columns of some groups of rows. All must be added before the first result is read."""

    def __init__(self, how: Rendering) -> None:
        self._how = how
        self._kinds: dict[int, list[_Kind]] = {}  # by the identity of the column's kind
        self._is_sound: bool | None = None
        self._groups: list[Sequence[Pooled]] = []
        self._runs: dict[str, list[list[Run]]] = {}

    def add(self, column: Column, array: pa.Array) -> Pooled | None:
        """Add a column of a group; return ``None`` for an Arrow type whose arrays cannot be concatenated."""
        return self._add(column, array, 0, len(array))

    def add_all(self, columns: Iterable[Column], arrays: Mapping[str, pa.Array]) -> dict[str, Pooled]:
        """Add those of a group's columns that there are; return them by name, without what :meth:`add` does not take.

        Neighbours in a block (:class:`Columns`) are not cut out of its columns to be put together again.
        """
        added = {}
        if isinstance(arrays, Columns):
            whole, start, count = arrays.whole, arrays.start, arrays.count
        else:
            whole, start, count = arrays, 0, len(next(iter(arrays.values()), ()))
        for column in columns:
            array = whole.get(column.name)
            pooled = None if array is None else self._add(column, array, start, count)
            if pooled is not None:
                added[column.name] = pooled
        return added

    def _add(self, column: Column, whole: pa.Array, start: int, count: int) -> Pooled | None:
        values = column.kind_of_any_length
        limit = column.flen if column.is_text else NO_LIMIT
        for kind in self._kinds.get(id(values), ()):
            if kind.takes(whole):
                return kind.add(whole, start, count, limit)
        arrow_type = whole.type
        if pa.types.is_dictionary(arrow_type) or pa.types.is_nested(arrow_type):
            return None
        kind = _Kind(values, arrow_type, self._how)
        self._kinds.setdefault(id(values), []).append(kind)
        return kind.add(whole, start, count, limit)

    def is_sound(self) -> bool:
        """Return whether each array in the pool :meth:`Pooled.is_sound`."""
        if self._is_sound is None:
            every = [kind for kinds in self._kinds.values() for kind in kinds]
            for kind in every:
                kind.fits_all = kind.fits(kind.least_limit)
            self._is_sound = all(kind.fits_all for kind in every)
        return self._is_sound

    def add_rows(self, columns: Sequence[Pooled]) -> int:
        """Add the rows of a group, which show these columns one after the other; return the group's number."""
        self._groups.append(columns)
        return len(self._groups) - 1

    def runs(self, group: int, form: str, lay: Elements) -> list[Run]:
        """Return the renderings of a group's columns, one after the other, and of how many at a time."""
        if form not in self._runs:
            try:
                self._runs[form] = _runs(self._groups, form, lay)
            except pa.ArrowInvalid:  # too large
                self._runs[form] = [[(len(columns), None)] for columns in self._groups]
        return self._runs[form][group]


class Pooled:
    """One array in the pool. Every result is ``None`` if the caller has to make it alone.

    ``limit``: the length, in characters or bytes, up to which a text is accepted; ``NO_LIMIT`` for none.
    """

    __slots__ = ("_is_sound", "_limit", "kind", "length", "start")

    def __init__(self, kind: _Kind, start: int, length: int, limit: int) -> None:
        self.kind, self.start, self.length, self._limit = kind, start, length, limit
        self._is_sound: bool | None = None

    def is_sound(self) -> bool:
        """Return whether every value of the kind was accepted, and none is longer than this column allows."""
        if self._is_sound is None:
            self._is_sound = self.kind.fits(self._limit)
        return self._is_sound

    def accepted(self) -> pa.Array | None:
        """Return the accepted values."""
        return self.kind.accepted().slice(self.start, self.length) if self.is_sound() else None

    def rendered(self, form: str, render: Render) -> pa.Array | None:
        """Return the rendering, made once for each ``form``."""
        kind = self.kind
        whole = kind.made(form, render) if kind.fits_all or self.is_sound() else None
        return None if whole is None else whole.slice(self.start, self.length)

    def pieces(self, form: str, make: Pieces) -> list[Piece] | None:
        """Return the pieces, made once for each ``form``."""
        whole = self.kind.made(form, make) if self.is_sound() else None
        return None if whole is None else [cut(piece, self.start, self.length) for piece in whole]


def _runs(groups: Sequence[Sequence[Pooled]], form: str, lay: Elements) -> list[list[Run]]:
    kinds = dict.fromkeys(each.kind for columns in groups for each in columns)
    laid = {kind: kind.elements(form, lay) for kind in kinds if kind.fits(NO_LIMIT)}
    starts: dict[_Kind, list[int]] = {}
    elements: list[pa.Array] = []
    count = 0
    for kind, arrays in laid.items():
        if arrays is not None:
            elements += arrays
            starts[kind] = [count + place * len(array) for place, array in enumerate(arrays)]
            count += sum(map(len, arrays))

    def is_made(column: Pooled) -> bool:
        return column.kind in starts and (column.kind.fits_all or column.is_sound())

    all_made = all(kind in starts and kind.fits_all for kind in kinds)
    blocks: list[Block] = []
    runs: list[list[tuple[int, int | None]]] = []
    for columns in groups:
        runs.append([])
        for made, run in [(True, columns)] if all_made else groupby(columns, is_made):
            part = list(run)
            runs[-1].append((len(part), len(blocks) if made else None))
            if made:
                blocks.append((part[0].length, [start + each.start for each in part for start in starts[each.kind]]))
    rows = interleaved(pa.concat_arrays(elements), blocks) if blocks else []
    return [[(count, None if block is None else rows[block]) for count, block in own] for own in runs]


class _Kind:
    """All arrays of one kind."""

    def __init__(self, column: Column, arrow_type: pa.DataType, how: Rendering) -> None:
        self.arrow_type = arrow_type
        self._column = column
        self._how = how
        self._runs: list[tuple[pa.Array, int, int]] = []  # of neighbours in one array: where they begin and end
        self._arrays = self._count = 0
        self.least_limit = NO_LIMIT
        self.fits_all = False  # until it is known
        self._accepted: pa.Array | None = None
        self._is_accepted = False
        self._longest: int | None = None
        self._made: dict[str, Any] = {}

    def takes(self, array: pa.Array) -> bool:
        """Return whether an array is of the kind's Arrow type."""
        is_last = bool(self._runs) and self._runs[-1][0] is array  # to compare types takes longer
        return is_last or bool(array.type == self.arrow_type)

    def add(self, whole: pa.Array, start: int, count: int, limit: int) -> Pooled:
        """Add ``count`` values of an array from ``start`` on."""
        place, end = self._count, start + count
        self._count += count
        self._arrays += 1
        if self._runs and self._runs[-1][0] is whole and self._runs[-1][2] == start:
            start = self._runs.pop()[1]
        self._runs.append((whole, start, end))
        if limit != NO_LIMIT:
            self.least_limit = limit if self.least_limit == NO_LIMIT else min(limit, self.least_limit)
        return Pooled(self, place, count, limit)

    def fits(self, limit: int) -> bool:
        """Return whether all values were accepted, and no text has more bytes, so more characters, than ``limit``."""
        if not self._is_accepted:
            self._accept()
        if self._accepted is None or limit == NO_LIMIT:
            return self._accepted is not None
        if self._longest is None:
            self._longest = int(text_buffers(self._accepted).lengths.max(initial=0))
        return self._longest <= limit

    def accepted(self) -> pa.Array:
        return self._accepted

    def made(self, form: str, make: Callable[[Column, pa.Array], Any]) -> Any:
        try:
            return self._made[form]
        except KeyError:
            pass
        try:
            rendered = make(self._column, self._accepted)
        except _NOT_POOLED:
            rendered = None
        self._made[form] = rendered
        return rendered

    def elements(self, form: str, lay: Elements) -> Sequence[pa.Array] | None:
        """Return what makes up a rendering: the rendering itself where it is made already, for it is made but once."""
        if form in self._made:
            whole = self._made[form]
            return None if whole is None else [whole]
        laid: Sequence[pa.Array] | None = self.made(f"{form}, in elements", lay)
        return laid

    def _accept(self) -> None:
        self._is_accepted = True
        if self._arrays > 1:
            runs = [whole.slice(start, end - start) for whole, start, end in self._runs]
            with suppress(*_NOT_POOLED):
                values = runs[0] if len(runs) == 1 else pa.concat_arrays(runs)
                self._accepted = accept(self._column, values, self._how)
        self._runs = []
