"""Values that their column cannot hold, by row number. The encoder turns them into ``InvalidValueError`` with table,
column and row.

Renderers see one column without its name and key, so they only report which rows of the batch are wrong and why: the
first one, or all of them if one pass finds them. :func:`bad_places` finds the others by checking again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["ValueFault", "bad_places", "fault_at", "read_each", "refuse_any", "shown"]

_LONGEST = 60
_Read = TypeVar("_Read")


class ValueFault(Exception):  # noqa: N818 - not an error that users see
    """Row ``index`` of a column has a value that the column's type refuses; ``reason`` says why.

    ``bad``: all rows refused for this reason; ``None`` if only the first is known.
    """

    def __init__(self, index: int, reason: str, remedy: str = "", bad: npt.NDArray[np.bool_] | None = None) -> None:
        super().__init__(reason)
        self.index = index
        self.reason = reason
        self.remedy = remedy
        self.bad = bad

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.index, self.reason, self.remedy, self.bad)


def bad_places(
    values: pa.Array | pa.RecordBatch, fault: ValueFault, check: Callable[[Any], object]
) -> npt.NDArray[np.int64]:
    """Return the row numbers of the values that ``check`` refuses. ``fault``: the error for all of them together.

    If the fault does not name them, halves are checked until only refused values remain.
    """
    if fault.bad is not None:
        return np.flatnonzero(fault.bad)
    places: list[int] = []

    def search(start: int, length: int) -> None:
        try:
            check(values.slice(start, length))
        except ValueFault:
            if length == 1:
                places.append(start)
                return
            half = length // 2
            search(start, half)
            search(start + half, length - half)

    search(0, len(values))
    return np.array(places or [fault.index], np.int64)


def fault_at(
    values: pa.Array | pa.RecordBatch, place: int, fault: ValueFault, check: Callable[[Any], object]
) -> ValueFault:
    """Return the error of ``check`` for one value. ``fault``: the error for all values together."""
    if place != fault.index:
        try:
            check(values.slice(place, 1))
        except ValueFault as own:
            return own
    return fault


def read_each(
    items: Iterable[Any],
    read: Callable[[Any], _Read],
    remedy: str = "",
    *,
    where: npt.NDArray[np.bool_] | None = None,
) -> list[_Read | None]:
    """Return ``read`` of each value; ``None`` for ``None``.

    ``read`` raises ``ValueError`` with the reason for a value that it refuses; :class:`ValueFault` lists all of these.
    ``where``: the row numbers of the values.
    """
    values: list[_Read | None] = []
    bad: list[int] = []
    reason = ""
    for number, item in enumerate(items):
        try:
            values.append(None if item is None else read(item))
        except ValueError as fault:
            reason = reason if bad else str(fault)
            bad.append(number)
            values.append(None)
    if bad:
        rows = np.arange(len(values)) if where is None else np.flatnonzero(where)
        mask = np.zeros(len(values) if where is None else len(where), np.bool_)
        mask[rows[bad]] = True
        raise ValueFault(int(rows[bad[0]]), reason, remedy, mask)
    return values


def shown(value: object) -> str:
    """Return a value as errors show it: in Python's notation, and cut if it is long."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python converts
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


def refuse_any(bad: npt.NDArray[np.bool_], reason: str, remedy: str = "") -> None:
    """Raise :class:`ValueFault` for the true elements of ``bad``."""
    if bad.any():
        raise ValueFault(int(bad.argmax()), reason, remedy, bad)
