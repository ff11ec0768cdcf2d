"""Functions of integers as Spark computes them, in NumPy.

In: arrays of int32 or int64 without NULL (0 stands for it). Out: arrays of the same length. Rule source: Spark's
``XXH64`` for the hash, Java for signs and shifts: ``%`` and ``div`` cut towards zero, ``pmod`` is never negative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.traffic.needs_spark import NeedsSparkError

__all__ = ["INTEGERS", "ints", "xxhash64"]

_Ints = npt.NDArray[np.int64]
_SEED = 42
_PRIMES = [
    np.uint64(prime)
    for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
]


def ints(value: Any, count: int) -> npt.NDArray[Any]:
    """Return an Arrow array or scalar of integers as NumPy's, 0 for NULL."""
    if isinstance(value, pa.Scalar):
        return np.full(count, value.as_py() or 0, value.type.to_pandas_dtype())
    filled = pc.fill_null(value, 0) if value.null_count else value
    array: npt.NDArray[Any] = filled.to_numpy(zero_copy_only=False)
    return array


def xxhash64(values: Sequence[Any], count: int) -> pa.Array:
    """Return Spark's ``xxhash64`` of values of type bigint; a NULL leaves the hash as it is."""
    hashes = np.full(count, _SEED, np.uint64)
    for value in values:
        if value.type != pa.int64():
            raise NeedsSparkError(f"hash of {value.type}")
        bits = ints(value, count).view(np.uint64)
        with np.errstate(over="ignore"):
            hashed = _hash_of_long(bits, hashes)
        if value.null_count if isinstance(value, pa.Array) else not value.is_valid:
            hashed = np.where(np.asarray(value.is_null() if isinstance(value, pa.Array) else True), hashes, hashed)
        hashes = hashed
    return pa.array(hashes.view(np.int64))


def _hash_of_long(bits: npt.NDArray[np.uint64], seeds: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    first, second, third, fourth, fifth = _PRIMES
    mixed = seeds + fifth + np.uint64(8)
    mixed ^= _rotated(bits * second, 31) * first
    mixed = _rotated(mixed, 27) * first + fourth
    mixed ^= mixed >> np.uint64(33)
    mixed *= second
    mixed ^= mixed >> np.uint64(29)
    mixed *= third
    mixed ^= mixed >> np.uint64(32)
    return np.asarray(mixed, np.uint64)


def _rotated(bits: npt.NDArray[np.uint64], by: int) -> npt.NDArray[np.uint64]:
    rotated: npt.NDArray[np.uint64] = bits << np.uint64(by) | bits >> np.uint64(64 - by)
    return rotated


def _nonzero(divisor: _Ints) -> _Ints:
    return np.where(divisor == 0, 1, divisor)  # only where a NULL is


def _quotient(number: _Ints, divisor: _Ints) -> _Ints:
    divisor = _nonzero(divisor)
    is_cut_upwards = (number % divisor != 0) & ((number < 0) != (divisor < 0))
    quotient: _Ints = number // divisor + is_cut_upwards
    return quotient


def _remainder(number: _Ints, divisor: _Ints) -> _Ints:
    remainder: _Ints = np.fmod(number, _nonzero(divisor))
    return remainder


def _positive_remainder(number: _Ints, divisor: _Ints) -> _Ints:
    remainder: _Ints = np.mod(number, _nonzero(divisor))  # divisors are positive
    return remainder


def _shifted_unsigned(number: _Ints, by: _Ints) -> _Ints:
    shifted: _Ints = (number.astype(np.int64).view(np.uint64) >> by.astype(np.uint64)).view(np.int64)
    return shifted


INTEGERS: dict[str, Callable[..., _Ints]] = {
    "%": _remainder,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "abs": np.abs,
    "div": _quotient,
    "pmod": _positive_remainder,
    "shiftleft": np.left_shift,
    "shiftright": np.right_shift,
    "shiftrightunsigned": _shifted_unsigned,
}
"""Functions by Spark's names, of NumPy arrays."""
