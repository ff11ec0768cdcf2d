"""Which rows of a batch are bad, and the error of each.

In: an attempt that takes some rows of a batch and raises the error of any bad one. Out: every row that it refuses, each
with its own error. An error that tells all the rows that have its fault (``RowError.alike``) leaves only the others to
be tried again; after one that tells a single row, the halves are tried on their own. So the work is bounded: a round
for each kind of fault, and a few rounds, on ever fewer rows, for each row that stands alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ticdc_emit.errors import DuplicateChangeError, LateRowError, RowError

__all__ = ["Found", "Rows", "sift"]

Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """A bad row by its number; ``error`` makes its error, and is called only if it is shown."""

    row: int
    error: Callable[[], RowError]


def sift(rows: Rows, attempt: Callable[[Rows], object]) -> list[Found]:
    """Return the bad ones of these rows, by their number.

    ``attempt`` works on rows and raises the error of a bad one, whose ``alike`` counts within the rows of that attempt.
    What is wrong with no one row (a row that is late, two changes of one key, a column that is not there) is raised.
    """
    bad_rows: list[Found] = []
    left = [rows]
    while left:
        tried = left.pop()
        if not len(tried):
            continue
        try:
            attempt(tried)
        except RowError as fault:
            if not _is_of_a_row(fault):
                raise
            bad = _alike(tried, fault)
            if bad:
                bad_rows += bad
                left.append(np.setdiff1d(tried, [each.row for each in bad], assume_unique=True))
            elif len(tried) == 1:
                bad_rows.append(Found(int(tried[0]), partial(_same, fault)))
            else:
                left += [tried[len(tried) // 2 :], tried[: len(tried) // 2]]
    return sorted(bad_rows, key=lambda each: each.row)


def _is_of_a_row(fault: RowError) -> bool:
    return "row" in fault.context and not isinstance(fault, LateRowError | DuplicateChangeError)


def _alike(tried: Rows, fault: RowError) -> list[Found]:
    if fault.alike is None:
        return []
    numbers = {place: number for number, place in enumerate(fault.alike.places)}  # both halves of an update may be bad
    return [Found(int(tried[place]), partial(fault.alike.error, number)) for place, number in numbers.items()]


def _same(fault: RowError) -> RowError:
    return fault
