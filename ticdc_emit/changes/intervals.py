"""Versions of rows as row changes: what each version of a row leaves of the one before it.

In: versions sorted by key, soundness (:data:`SOUND`) and begin, with the columns ``_what`` it is, ``_begin`` and
``_end`` (TSO; NULL where it does not end by itself), and ``_image``, a struct of the table's columns. A version holds
until its end, or until the next one begins. Snapshots, validity ranges and change tables are versions; Spark sends its
sorted partitions through these functions, and small tables go through them in one process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.tso import LOGICAL_BITS, LOGICAL_PER_MICROSECOND

_KINDS = (PUT, BASE, DELETE, REMOVE) = ("put", "base", "delete", "remove")
"""What a version is: a row; a row from before the history, whose begin is not sent; no row from its begin on; the same,
sent with the version's own image if no version is known before it. Other text is a fault
(``changes.model.REFUSED``), sent as an operation that is refused."""

SOUND = "_sound"
"""False for a fault, which no other version of its key meets."""

_Mask = npt.NDArray[np.bool_]


def interval_changes(
    batches: Iterable[pa.RecordBatch], keys: Sequence[str], extra: Sequence[str] = (), *, once: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the changes of sorted versions; with ``_begin`` in ``keys``, only those that begin together are compared.

    ``extra``: columns that changes get, such as ``transaction``. ``once``: refuse a version that begins while the one
    before it of its key holds, and two of one kind that begin together.
    """
    for window in _windows(batches, keys):
        rows = window.rows
        if once and (twice := window.is_twice()).any():
            raise ValueError(_twice(rows, keys, int(window.here[twice.argmax()])))
        image = rows.column("_image")
        here, before = window.here, window.here - 1
        deletes, puts = window.is_of(DELETE, REMOVE), window.is_of(PUT)
        compared = np.flatnonzero(window.continues & puts)
        begins = puts | window.is_fault | (window.continues & deletes) | (window.is_of(REMOVE) & ~window.knows)
        begins[compared] = unequal(image.take(pa.array(here[compared])), image.take(pa.array(before[compared])))
        op = np.where(deletes, "d", np.where(window.continues, "u", "c")).astype(object)
        op[window.is_fault] = rows.column("_what").take(pa.array(here[window.is_fault]))
        old = _places(np.where(window.continues, before, here), window.continues | deletes)
        new = _places(here, ~deletes)
        begin = _changes(rows, extra, op[begins], "_begin", here[begins], old[begins], new[begins])
        ends = here[window.ends & window.is_of(PUT, BASE)]
        gone = _changes(rows, extra, np.full(len(ends), "d", object), "_end", ends, ends, np.full(len(ends), -1))
        yield from (each for each in (begin, gone) if each.num_rows)


def interval_facts(batches: Iterable[pa.RecordBatch], keys: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the key, and whether a version ``overlaps`` or is ``again`` the one before; ``gap``: microseconds."""
    for window in _windows(batches, keys):
        rows = window.rows
        part = rows.slice(int(window.here[0]), len(window.here))
        again = window.is_again_at_begin & window.earlier_is_row & window.is_of(PUT)
        image, place = rows.column("_image"), np.flatnonzero(again)
        here = window.here[place]
        again[place] &= window.same_end[place]
        again[place] &= ~unequal(image.take(pa.array(here)), image.take(pa.array(here - 1)))
        overlaps = window.earlier_is_row & window.is_of(PUT) & window.is_inside & ~again
        earlier_end = rows.column("_end").take(_indices(_places(window.here - 1, window.earlier_is_row)))
        yield pa.record_batch(
            {
                **{name: part.column(name) for name in keys},
                "overlaps": pa.array(overlaps),
                "again": pa.array(again),
                "gap": pc.subtract(_micros(part.column("_begin")), _micros(earlier_end)),
            }
        )


def may_be_step(gap: int) -> bool:
    """Return whether versions that end so many microseconds before the next one begins may include their end."""
    return 0 < gap <= 1_000_000 or gap in (60_000_000, 86_400_000_000)  # a minute, a day


def unequal(one: pa.Array, other: pa.Array) -> _Mask:
    """Return where two arrays of one type differ: NULL equals only NULL, -0.0 is not 0.0, maps have no order."""
    kind = one.type
    if pa.types.is_null(kind) or not len(one):
        return np.zeros(len(one), np.bool_)
    if isinstance(one, pa.DictionaryArray):
        return unequal(one.dictionary_decode(), other.dictionary_decode())
    nulls: _Mask = _mask(one.is_null()) != _mask(other.is_null())
    if pa.types.is_struct(kind):
        return reduce(or_, map(unequal, one.flatten(), other.flatten()), nulls)
    if pa.types.is_nested(kind):
        one, other = (pa.array([repr(_without_order(each)) for each in some.to_pylist()]) for some in (one, other))
    elif pa.types.is_floating(kind):
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width]
        one, other = one.view(bits), other.view(bits)
    return nulls | _mask(pc.not_equal(one, other))


def _without_order(value: Any) -> Any:
    if isinstance(value, dict):
        return [_without_order(each) for each in value.values()]
    if isinstance(value, list):
        parts = [_without_order(each) for each in value]
        return sorted(parts, key=repr) if value and isinstance(value[0], tuple) else parts
    return tuple(map(_without_order, value)) if isinstance(value, tuple) else value


def _mask(values: pa.Array) -> _Mask:
    result: _Mask = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return result


def _micros(stamps: pa.Array) -> pa.Array:
    physical = pc.multiply(pc.shift_right(stamps, LOGICAL_BITS), 1_000)
    logical = pc.bit_wise_and(stamps, (1 << LOGICAL_BITS) - 1)
    return pc.add(physical, pc.divide(logical, LOGICAL_PER_MICROSECOND))


def _places(places: npt.NDArray[np.int64], holds: _Mask) -> npt.NDArray[np.int64]:
    return np.where(holds, places, -1)


def _indices(places: npt.NDArray[np.int64]) -> pa.Array:
    return pa.array(places, pa.int64(), mask=places < 0)


def _windows(batches: Iterable[pa.RecordBatch], keys: Sequence[str]) -> Iterator[_Window]:
    held, first = None, 0
    for batch in batches:
        if not batch.num_rows:
            continue
        rows = batch if held is None else pa.Table.from_batches([held, batch]).combine_chunks().to_batches()[0]
        end = rows.num_rows - 1  # the last row waits for the one after it
        if end > first:
            yield _Window(rows, first, end, keys)
        held, first = rows.slice(max(end - 1, 0)), min(end, 1)
    if held is not None:
        yield _Window(held, first, held.num_rows, keys)


def _goes_on(rows: pa.RecordBatch, keys: Sequence[str]) -> _Mask:
    count = rows.num_rows - 1
    columns = [rows.column(name) for name in (*keys, *([SOUND] if SOUND in rows.schema.names else []))]
    differs = (unequal(column.slice(1), column.slice(0, count)) for column in columns)
    return np.append(False, ~reduce(or_, differs, np.zeros(count, np.bool_)))


class _Window:
    """What rows ``first`` to ``end`` of some are, beside the one before and the one after. ``here``: their places."""

    def __init__(self, rows: pa.RecordBatch, first: int, end: int, keys: Sequence[str]) -> None:
        self.rows, self.here = rows, np.arange(first, end)
        goes_on = _goes_on(rows, keys)  # with the key of the row before
        kinds = pc.fill_null(pc.index_in(rows.column("_what"), pa.array(_KINDS)), -1).to_numpy(zero_copy_only=False)
        self._kinds = kinds[first:end]
        self._kinds_before = kinds[self.here - 1]
        self.is_fault = self._kinds < 0
        self.knows = goes_on[self.here]
        earlier = _indices(_places(self.here - 1, self.knows))
        is_later = np.append(goes_on, False)[self.here + 1]
        begins, ends = rows.column("_begin"), rows.column("_end")
        own_begin, own_end = (column.slice(first, len(self.here)) for column in (begins, ends))
        earlier_begin, earlier_end = begins.take(earlier), ends.take(earlier)
        later_begin = begins.take(_indices(_places(self.here + 1, is_later)))
        self.earlier_is_row = self.knows & np.isin(self._kinds_before, [_KINDS.index(PUT), _KINDS.index(BASE)])
        self.continues = self.earlier_is_row & _mask(pc.fill_null(pc.greater_equal(earlier_end, own_begin), True))
        self.is_inside = _mask(pc.fill_null(pc.greater(earlier_end, own_begin), True))
        self.is_again_at_begin = self.knows & ~unequal(earlier_begin, own_begin)
        self.same_end = ~unequal(earlier_end, own_end)
        self.ends = _mask(own_end.is_valid()) & _mask(pc.fill_null(pc.greater(later_begin, own_end), True))

    def is_twice(self) -> _Mask:
        is_like_before = self.is_again_at_begin & (self._kinds == self._kinds_before)
        result: _Mask = self.earlier_is_row & ((self.is_of(PUT) & self.is_inside) | is_like_before)
        return result

    def is_of(self, *kinds: str) -> _Mask:
        result: _Mask = np.isin(self._kinds, [_KINDS.index(each) for each in kinds])
        return result


def _changes(
    rows: pa.RecordBatch,
    extra: Sequence[str],
    op: npt.NDArray[Any],
    stamp: str,
    place: npt.NDArray[np.int64],
    before: npt.NDArray[np.int64],
    after: npt.NDArray[np.int64],
) -> pa.RecordBatch:
    image = rows.column("_image")
    columns = {"op": pa.array(op, pa.string()), "commit_ts": rows.column(stamp).take(pa.array(place))}
    columns |= {name: rows.column(name).take(pa.array(place)) for name in extra}
    return pa.record_batch(columns | {"before": image.take(_indices(before)), "after": image.take(_indices(after))})


_SHOWN = 60  # characters of a value in an error
AGAIN = "' comes twice in the version of "


def _twice(rows: pa.RecordBatch, keys: Sequence[str], place: int) -> str:
    values = [rows.column(name)[place].as_py() for name in keys if name != "_begin"]
    key = ", ".join(str(value)[:_SHOWN] for value in values if value is not None).replace("'", "")
    return f"the key '{key}{AGAIN}{rows.column('_begin')[place].as_py()}"
