"""Arrays of generated values, the same on every machine: integers of 64 bits, and floats only where IEEE 754 leaves no
choice. Rule source: ``splitmix64`` (Steele, Lea, Flood 2014) for the hash.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.binary_text import base64_text
from ticdc_emit.columnar.buffers import from_bytes
from ticdc_emit.columnar.strings import label_text
from ticdc_emit.columnar.values import Rendering, accept, plain_text
from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.evaluation.values import decimal_text
from ticdc_emit.sql.types import INTEGER_TYPES, LABEL_TYPES, STRING_TYPES, TYPES, MySQLType

Ints = npt.NDArray[np.int64]
UInts = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

_NTH = 0x9E3779B97F4A7C15  # odd numbers without a small common multiple
_GOLDEN, _COMBINED = np.uint64(_NTH), np.uint64(0xD1B54A32D192ED03)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_HALF = 32
_LOW_HALF = np.uint64((1 << _HALF) - 1)
_ALL = (1 << 64) - 1


def salt_of(*parts: object) -> int:
    """Return a number of 60 bits that differs for different parts, the same in every process."""
    digest = hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 4


def _mix(bits: UInts) -> UInts:
    mixture: UInts = bits >> np.uint64(30)
    mixture ^= bits
    mixture *= _FIRST
    mixture ^= mixture >> np.uint64(27)
    mixture *= _SECOND
    mixture ^= mixture >> np.uint64(31)
    return mixture


def hash_numbers(numbers: Ints, after: UInts | None = None) -> UInts:
    """Return hashes of numbers. ``after``: hashes of others, with which they are combined, without mixing them yet."""
    bits = numbers.view(np.uint64)
    return _mix(bits * _GOLDEN) if after is None else after + bits * _COMBINED


@dataclass(frozen=True, slots=True)
class Bits:
    """One hash in each row. What is drawn with a ``parity`` is even at even steps (0) and odd at odd ones (1)."""

    bits: UInts
    parity: Ints | None = None


class Hashes:
    """The independent hashes of one value in each row, by their number. ``parity``: of the first one."""

    def __init__(self, rows: UInts, salt: int, parity: Ints | None = None) -> None:
        self._rows = rows
        self._salt = salt
        self.parity = parity
        self._known: dict[int, Bits] = {}

    def __call__(self, nth: int) -> Bits:
        known = self._known.get(nth)
        if known is None:
            bits = _mix(self._rows + np.uint64((self._salt + nth * _NTH) & _ALL))
            known = self._known[nth] = Bits(bits, None if nth else self.parity)
        return known


def units(drawn: Bits, count: int | Ints, shift: int = 0) -> Ints:
    """Return numbers from 0 to ``count - 1``, below 2**63; ``shift``: up to 32 bits to leave out, for a second draw."""
    bits, parity = (drawn.bits >> np.uint64(shift), None) if shift else (drawn.bits, drawn.parity)
    if parity is None or not isinstance(count, int) or count == 1:
        return _below(bits, count)
    of_parity = count // 2 if count % 2 == 0 else count // 2 + 1 - parity
    return _below(bits, of_parity) * 2 + parity


def _below(bits: UInts, count: int | Ints) -> Ints:
    most = count if isinstance(count, int) else int(count.max(initial=1))
    if isinstance(count, int) and count & (count - 1) == 0:
        masked: UInts = bits & np.uint64(count - 1)
        return masked.view(np.int64)
    limit = np.uint64(count) if isinstance(count, int) else count.view(np.uint64)
    if most <= 1 << _HALF:
        low: UInts = bits & _LOW_HALF
        low *= limit
        low >>= np.uint64(_HALF)
        return low.view(np.int64)
    remainder: UInts = bits % limit
    return remainder.view(np.int64)


def between(drawn: Bits, low: int, high: int) -> Ints:
    """Return numbers from ``low`` to ``high``, both included, from hashes; their distance is below 2**63."""
    assert low <= high
    point = units(drawn, high - low + 1)
    return point + low if low else point


# -- text and bytes ----------------------------------------------------------------------------------------------------

BASE_36 = np.frombuffer(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", np.uint8)
HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_FOUR_DIGITS = np.frombuffer("".join(f"{number:04}" for number in range(10_000)).encode(), np.uint8).reshape(-1, 4)
_FOUR = 4


def digits(numbers: Ints, width: int) -> Bytes:
    """Return the last ``width`` decimal digits of numbers from 0 on, one row of bytes each."""
    rows = np.empty((len(numbers), width), np.uint8)
    end = width
    while end > 0:
        numbers, four = np.divmod(numbers, 10_000) if end > _FOUR else (numbers, numbers % 10_000)
        start = max(end - _FOUR, 0)
        rows[:, start:end] = _FOUR_DIGITS[four, _FOUR - (end - start) :]
        end = start
    return rows


def hex_digits(bits: UInts) -> Bytes:
    parts = octets(bits)
    rows = np.empty((len(bits), 16), np.uint8)
    rows[:, ::2], rows[:, 1::2] = HEX[parts >> 4], HEX[parts & 15]
    return rows


def uuid_text(digits_of_uuid: Bytes) -> pa.Array:
    """Return UUIDs of their 32 hexadecimal digits, one row each."""
    rows = np.full((len(digits_of_uuid), 36), ord("-"), np.uint8)
    rows[:, [*range(8), *range(9, 13), *range(14, 18), *range(19, 23), *range(24, 36)]] = digits_of_uuid
    return fixed_width(rows)


def octets(bits: UInts) -> Bytes:
    """Return the eight bytes of each number, the highest first."""
    return bits.astype(">u8").view(np.uint8).reshape(-1, 8)


def fixed_width(rows: Bytes, *, binary: bool = False) -> pa.Array:
    """Return rows of bytes as texts, or as binary."""
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(rows.shape[1])
    return from_bytes(offsets, np.ascontiguousarray(rows), binary=binary)


def one_of(places: Ints, *lists: tuple[str, ...], text: str = "") -> pa.Array:
    """Return a text for each place: those of a list, or of each combination of several, the last one varying fastest.
    ``text``: how a combination is written, with ``{}`` for each part.
    """
    return _combinations(text or "{}" * len(lists), *lists).take(pa.array(places))


@lru_cache(maxsize=512)
def _combinations(text: str, *lists: tuple[str, ...]) -> pa.Array:
    return pa.array([text.format(*words) for words in product(*lists)], pa.string())


def integers(numbers: Ints) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


def concat_texts(*parts: Any) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


# -- values of a column's type -----------------------------------------------------------------------------------------

_MAX_NATIVE_DIGITS = 38
_UTC_MOMENT = pa.timestamp("us", "UTC")


def native_type(column: Column) -> pa.DataType:
    """Return the type of a column's values, one that Spark has too; :class:`UnsupportedTypeError` if there is none."""
    kind = column.type
    if kind in INTEGER_TYPES:
        is_wide = kind is MySQLType.LONGLONG or (kind is MySQLType.LONG and column.unsigned)
        return pa.int64() if is_wide else pa.int32()
    if kind is MySQLType.NEWDECIMAL:
        scale = column.fraction_digits
        return pa.decimal128(column.flen, scale) if column.flen <= _MAX_NATIVE_DIGITS else pa.string()
    if kind in STRING_TYPES:
        return pa.binary() if column.is_binary else pa.string()
    if not TYPES[kind].arrow:
        raise UnsupportedTypeError(
            f"cannot generate values for type {kind.name}", remedy="Leave the column out", column=column.name
        )
    return _UTC_MOMENT if kind is MySQLType.TIMESTAMP else pa.type_for_alias(TYPES[kind].arrow)


def native_values(column: Column, accepted: pa.Array) -> pa.Array:
    """Return the accepted form of a column's values (:mod:`ticdc_emit.columnar.values`) in the native type."""
    native = native_type(column)
    if column.type in LABEL_TYPES:
        return label_text(column, accepted)
    if native == accepted.type:
        return accepted
    return decimal_text(accepted) if pa.types.is_decimal(accepted.type) else accepted.cast(native)


def canonical_text(column: Column, values: pa.Array, time_zone: str) -> pa.Array:
    """Return the canonical text of native values; TIMESTAMP as the wall clock in ``time_zone``, binary in base64."""
    accepted = accept(column, values, Rendering(time_zone))
    if column.type in LABEL_TYPES:
        return label_text(column, accepted)
    return base64_text(accepted) if column.is_binary else plain_text(column, accepted)


def decimal_of(column: Column, unscaled: Ints, varied: int) -> pa.Array:
    """Return decimals from whole numbers, of whose digits the last ``varied`` are after the point."""
    scale, count = column.fraction_digits, len(unscaled)
    words = np.empty((count, 2), np.int64)
    is_exact = varied == scale or int(np.abs(unscaled).max(initial=0)) < (1 << 62) // 10 ** min(scale - varied, 18)
    is_exact = is_exact and scale - varied <= 18 and column.flen <= _MAX_NATIVE_DIGITS
    number = unscaled * 10 ** (scale - varied) if is_exact else unscaled
    words[:, 0], words[:, 1] = number, number >> 63
    kind = pa.decimal128(column.flen, scale) if is_exact else pa.decimal128(19, varied)
    exact = pa.Array.from_buffers(kind, count, [None, pa.py_buffer(words)])
    if is_exact:
        return exact
    if column.flen <= _MAX_NATIVE_DIGITS:
        return exact.cast(native_type(column))
    zeros = ("" if varied else ".") + "0" * (scale - varied) if scale else ""
    return concat_texts(decimal_text(exact), zeros)


def moment(column: Column, micros: Ints) -> pa.Array:
    """Return DATETIME or TIMESTAMP of moments in microseconds, cut to the column's fraction digits."""
    unit = 10 ** (6 - column.fraction_digits)
    cut = micros if unit == 1 else micros // unit * unit
    return pa.array(cut).view(native_type(column))


def with_nulls(values: pa.Array, is_null: Mask | None) -> pa.Array:
    if is_null is None or not is_null.any():
        return values
    return pc.if_else(pa.array(is_null), pa.scalar(None, values.type), values)
