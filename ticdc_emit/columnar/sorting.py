"""Orders of numbers, faster than a sort of all of them: most columns of numbers are small, or nearly in order.

In: numpy arrays. Out: the places of their elements in ascending order; equal ones stay in the order in which they come.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["order_of_codes", "order_of_pairs"]

_Places = npt.NDArray[np.int64]
_COUNTED = 1 << 16  # numpy sorts numbers of 16 bits by counting them


def order_of_codes(codes: npt.NDArray[np.integer[Any]]) -> _Places:
    """Return the order of numbers that count something, from 0 on."""
    small = int(codes.max(initial=0)) < _COUNTED
    return np.argsort(codes.astype(np.uint16) if small else codes, kind="stable")


def order_of_pairs(firsts: npt.NDArray[np.uint64], seconds: npt.NDArray[np.uint32]) -> _Places:
    """Return the order of pairs. It takes little where the first numbers are nearly in order, or several runs of it."""
    if not len(firsts):
        return np.zeros(0, np.int64)
    least, seconds_end = firsts.min(), int(seconds.max()) + 1
    if (int(firsts.max()) - int(least) + 1) * seconds_end <= 1 << 64:  # one number for each pair
        return np.argsort((firsts - least) * np.uint64(seconds_end) + seconds, kind="stable")
    order = np.argsort(firsts, kind="stable")
    firsts, seconds = firsts[order], seconds[order]
    pairs = np.zeros(len(order), np.int64)
    np.cumsum(firsts[1:] != firsts[:-1], out=pairs[1:])
    pairs *= seconds_end
    pairs += seconds
    return order[np.argsort(pairs, kind="stable")]
