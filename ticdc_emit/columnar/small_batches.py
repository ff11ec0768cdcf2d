"""Columns of one kind, from many tables, accepted and rendered in one call, because with few rows calls cost most.

A **kind** is what a column defines about its values (:attr:`Column.kind`), and the array's Arrow type. The maximum
length of texts is not part of it, because tables differ most in that. Where a value is refused, a kind has one array or
its arrays cannot be concatenated, the caller gets ``None`` and renders the column alone, so that errors name a place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias

import pyarrow as pa

from ticdc_emit.columnar.buffers import Columns, text_buffers
from ticdc_emit.columnar.packed_fields import Block, Piece, interleaved
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.schema.model import NO_LIMIT, Column

Render: TypeAlias = Callable[[Column, pa.Array], pa.Array]
"""Renders accepted values as text. One that needs the column name raises ``TypeError`` without it and is repeated."""

Pieces: TypeAlias = Callable[[Column, pa.Array], Sequence[Piece]]
"""The same for binary formats: the pieces of each value."""

Elements: TypeAlias = Callable[[Column, pa.Array], Sequence[pa.Array]]
"""A rendering of each value as ``binary`` elements, which make it up one after the other. Null counts as empty."""

_Run: TypeAlias = "tuple[int, pa.Array | None]"
"""The number of neighbouring columns, and what they show in each row; ``None`` if the caller has to make them alone."""

_LEFT_TO_CALLER = (ValueRefused, TypeError, pa.ArrowException)


class ColumnBatcher:
    """Takes the columns of groups of rows. All must be added before the first result is read."""

    def __init__(self, how: Rendering) -> None:
        self._how = how
        self._kinds: dict[int, list[_Kind]] = {}  # by the identity of the column's kind
        self._is_accepted: bool | None = None
        self._groups: list[Sequence[_Batched]] = []
        self._runs: dict[str, list[list[_Run]]] = {}

    def add(self, columns: Iterable[Column], arrays: Mapping[str, pa.Array]) -> BatchedColumns:
        """Add those columns that have an array. Neighbours in a block (:class:`Columns`) stay together."""
        added = BatchedColumns(self)
        if isinstance(arrays, Columns):
            whole, start, count = arrays.whole, arrays.start, arrays.count
        else:
            whole, start, count = arrays, 0, -1
        for column in columns:
            array = whole.get(column.name)
            if array is None:
                continue
            kind = self._kind(column.kind_of_any_length, array)
            if kind is not None:
                limit = column.flen if column.is_text else NO_LIMIT
                added[column.name] = kind.add(array, start, len(array) if count < 0 else count, limit)
        return added

    def _kind(self, column: Column, array: pa.Array) -> _Kind | None:
        kinds = self._kinds.setdefault(id(column), [])
        for kind in kinds:
            if kind.last is array or array.type == kind.arrow_type:  # to compare types takes longer
                return kind
        if pa.types.is_dictionary(array.type) or pa.types.is_nested(array.type):
            return None
        kinds.append(_Kind(column, array.type, self._how))
        return kinds[-1]

    def all_accepted(self) -> bool:
        """Return whether every value of every array was accepted, and no text is longer than its column allows."""
        if self._is_accepted is None:
            every = [kind for kinds in self._kinds.values() for kind in kinds]
            for kind in every:
                kind.fits_all = kind.fits(kind.least_limit)
            self._is_accepted = all(kind.fits_all for kind in every)
        return self._is_accepted

    def add_rows(self, columns: Sequence[_Batched]) -> int:
        """Add the rows of a group, which show these columns one after the other; return the group's number."""
        self._groups.append(columns)
        return len(self._groups) - 1

    def runs(self, group: int, form: str, lay: Elements) -> list[_Run]:
        """Return the renderings of a group's columns, one after the other, and of how many at a time."""
        if form not in self._runs:
            try:
                self._runs[form] = _runs(self._groups, form, lay)
            except pa.ArrowInvalid:  # too large
                self._runs[form] = [[(len(columns), None)] for columns in self._groups]
        return self._runs[form][group]


class BatchedColumns(dict[str, "_Batched"]):
    """The columns of one group of rows, by name. Every result is ``None`` where the caller has to make it alone."""

    def __init__(self, batcher: ColumnBatcher) -> None:
        super().__init__()
        self._batcher = batcher
        self._rows: list[tuple[Sequence[Column], int]] = []

    def join_rows(self, columns: Sequence[Column]) -> None:
        """Have these columns laid out one after the other, row by row, if there are several, all of them batched."""
        batched = [self[column.name] for column in columns if column.name in self]
        if len(batched) == len(columns) > 1:
            self._rows.append((columns, self._batcher.add_rows(batched)))

    def not_accepted(self, columns: Sequence[Column]) -> Sequence[Column]:
        """Return the columns that the caller must accept alone, to find what is wrong with them if anything is."""
        if len(self) == len(columns) and self._batcher.all_accepted():
            return ()
        return [column for column in columns if (own := self.get(column.name)) is None or not own.is_accepted()]

    def accepted(self, name: str) -> pa.Array | None:
        own = self.get(name)
        whole = None if own is None or not own.is_accepted() else own.kind.accepted
        return None if own is None or whole is None else whole.slice(own.start, own.length)

    def rendered(self, name: str, form: str, render: Render) -> pa.Array | None:
        """Return a column's rendering, made once for each ``form``."""
        own = self.get(name)
        if own is None:
            return None
        kind = own.kind
        if not kind.fits_all and not own.is_accepted():
            return None
        whole = kind.make(form, render)
        return None if whole is None else whole.slice(own.start, own.length)

    def rows(self, columns: Sequence[Column], form: str, lay: Elements) -> list[_Run] | None:
        """Return the renderings of columns given to :meth:`join_rows`, and of how many columns each is."""
        group = next((number for known, number in self._rows if known == columns), None)
        return None if group is None else self._batcher.runs(group, form, lay)


@dataclass(slots=True, eq=False)
class _Batched:
    """One array of a kind. ``limit``: the greatest accepted length in characters or bytes; ``NO_LIMIT`` for none."""

    kind: _Kind
    start: int
    length: int
    limit: int
    _is_accepted: bool | None = field(default=None, init=False)

    def is_accepted(self) -> bool:
        if self._is_accepted is None:
            self._is_accepted = self.kind.fits(self.limit)
        return self._is_accepted


def _runs(groups: Sequence[Sequence[_Batched]], form: str, lay: Elements) -> list[list[_Run]]:
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

    def is_made(column: _Batched) -> bool:
        return column.kind in starts and (column.kind.fits_all or column.is_accepted())

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


@dataclass(eq=False)
class _Kind:
    """All arrays of one kind. ``last``: the one that was added last. ``fits_all``: false until it is known."""

    column: Column
    arrow_type: pa.DataType
    how: Rendering
    last: pa.Array | None = field(default=None, init=False)
    least_limit: int = field(default=NO_LIMIT, init=False)
    fits_all: bool = field(default=False, init=False)
    accepted: pa.Array | None = field(default=None, init=False)
    made: dict[str, Any] = field(default_factory=dict, init=False)
    _runs: list[tuple[pa.Array, int, int]] = field(default_factory=list, init=False)
    """Of neighbours in one array: where they begin and end."""
    _arrays: int = field(default=0, init=False)
    _count: int = field(default=0, init=False)
    _is_accepted: bool = field(default=False, init=False)
    _longest: int | None = field(default=None, init=False)

    def add(self, whole: pa.Array, start: int, count: int, limit: int) -> _Batched:
        place, end = self._count, start + count
        self._count += count
        self._arrays += 1
        if self.last is whole and self._runs[-1][2] == start:
            start = self._runs.pop()[1]
        self.last = whole
        self._runs.append((whole, start, end))
        if limit != NO_LIMIT:
            self.least_limit = limit if self.least_limit == NO_LIMIT else min(limit, self.least_limit)
        return _Batched(self, place, count, limit)

    def fits(self, limit: int) -> bool:
        """Return whether all values were accepted, and no text has more bytes, so more characters, than ``limit``."""
        if not self._is_accepted:
            self._is_accepted = True
            if self._arrays > 1:
                runs = [whole.slice(start, end - start) for whole, start, end in self._runs]
                with suppress(*_LEFT_TO_CALLER):
                    values = runs[0] if len(runs) == 1 else pa.concat_arrays(runs)
                    self.accepted = accept(self.column, values, self.how)
            self._runs, self.last = [], None
        if self.accepted is None or limit == NO_LIMIT:
            return self.accepted is not None
        if self._longest is None:
            self._longest = int(text_buffers(self.accepted).lengths.max(initial=0))
        return self._longest <= limit

    def make(self, form: str, make: Callable[[Column, pa.Array], Any]) -> Any:
        if form not in self.made:
            try:
                self.made[form] = make(self.column, self.accepted)
            except _LEFT_TO_CALLER:
                self.made[form] = None
        return self.made[form]

    def elements(self, form: str, lay: Elements) -> Sequence[pa.Array] | None:
        """Return what makes up a rendering: the rendering itself where it is made already, for it is made but once."""
        if form in self.made:
            whole = self.made[form]
            return None if whole is None else [whole]
        laid: Sequence[pa.Array] | None = self.make(f"{form}, in elements", lay)
        return laid
