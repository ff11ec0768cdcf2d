"""Zigzag varints of whole columns (Avro's ``int`` and ``long``, and its lengths).

In: ``int64`` arrays. Out: cells (``columnar.cells``). A number's groups of seven bits are spread over the bytes of one
word by shifts and masks, in the smallest word that holds the column's largest number.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.columnar.cells import Cell, Lengths

__all__ = ["byte_counts", "varints", "zigzag", "zigzag_bytes"]

Words: TypeAlias = "npt.NDArray[np.uint64]"
_GROUP = 7
# How to spread groups of seven bits to bytes, by word size: (mask of moved bits, shift, mask of kept bits).
_SPREADS = {
    1: (),
    2: ((0x3F80, 1, 0x7F),),
    4: ((0x0FFFC000, 2, 0x3FFF), (0x3F803F80, 1, 0x007F007F)),
    8: (
        (0x00FFFFFFF0000000, 4, 0x0FFFFFFF),
        (0x0FFFC0000FFFC000, 2, 0x00003FFF00003FFF),
        (0x3F803F803F803F80, 1, 0x007F007F007F007F),
    ),
}
_SMALL = tuple(bytes([2 * number]) for number in range(64))
_WORD_BITS = 56  # the bits that eight bytes hold


def zigzag(numbers: npt.NDArray[np.int64], valid: Mask | None = None) -> Words:
    """Return 0, 1, 2, 3 ... for 0, -1, 1, -2 ...; where not ``valid``, that of some other number."""
    folded = (numbers << 1) ^ (numbers >> 63)
    if valid is not None:  # which is as long as most are
        folded = np.where(valid, folded, folded[valid.argmax()])
    return folded.view(np.uint64)


def zigzag_bytes(number: int) -> bytes:
    """Return the varint of one number."""
    if 0 <= number < len(_SMALL):
        return _SMALL[number]
    rest = (number << 1) ^ (number >> 63)
    made = bytearray()
    while rest > 0x7F:
        made.append(rest & 0x7F | 0x80)
        rest >>= _GROUP
    made.append(rest)
    return bytes(made)


def byte_counts(numbers: Words, bits: int) -> Lengths:
    """Return how many groups of ``bits`` bits each number needs, at least one; a single count if all need the same."""
    if len(numbers) == 0:
        return 1
    least, most = (_count(int(bound), bits) for bound in (numbers.min(), numbers.max()))
    if least == most:
        return least
    counts = np.full(len(numbers), least, np.uint8)
    for groups in range(least, most):
        counts += numbers >= np.uint64(1 << bits * groups)
    return counts


def _count(number: int, bits: int) -> int:
    return max(1, -(-number.bit_length() // bits))


def varints(numbers: Words) -> list[Cell]:
    """Return the varints of folded numbers (:func:`zigzag`): one cell, or two from 2^56 on."""
    lengths = byte_counts(numbers, _GROUP)
    most = lengths if isinstance(lengths, int) else int(lengths.max())
    if most <= 8:
        size = next(size for size in _SPREADS if size >= most)
        return [Cell(_spread(numbers, size) | _more(size).take(lengths), lengths)]
    low = _spread(numbers & np.uint64((1 << _WORD_BITS) - 1), 8)
    high = _spread(numbers >> np.uint64(_WORD_BITS), 2)
    counts = np.asarray(lengths, np.uint8)
    first, second = np.minimum(counts, 8), np.maximum(counts, 8) - np.uint8(8)
    if isinstance(lengths, int):
        return [Cell(low | _more(8)[9], 8), Cell(high | _more(2)[lengths - 8], lengths - 8)]
    return [Cell(low | _more(8).take(counts), first), Cell(high | _more(2).take(second), second)]


def _spread(numbers: Words, size: int) -> npt.NDArray[Any]:
    kind = np.dtype(f"<u{size}")
    words = numbers.astype(kind)
    for moved, shift, kept in _SPREADS[size]:
        words = (words & kind.type(moved)) << kind.type(shift) | words & kind.type(kept)
    return words


@lru_cache(maxsize=8)
def _more(size: int) -> npt.NDArray[Any]:
    """Return for each length the continuation bits of the bytes of one word."""
    masks = [int.from_bytes(b"\x80" * min(length - 1, size), "little") if length else 0 for length in range(11)]
    return np.array(masks, f"<u{size}")
