"""The digest of messages, which their sender reports and a reader compares: the sum of the squares of their CRC-32.

Messages may be counted in any order, task and batch. A changed one, or two that swapped something, have another sum:
CRC-32 finds each change of up to four bytes in a row, and is linear, which squares are not. Sender and reader see the
same bytes, so that no protocol's loss of types matters; a reader leaves repetitions out.
"""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Digests = npt.NDArray[np.uint64]
MODULUS = 1 << 64
_HELD_ROWS = 2_000  # as Python objects, which then lie in a processor's cache
_BITS = 32


def message_digest(key: bytes | None, value: bytes | None) -> int:
    """Return the digest of one message; a part that is missing counts as an empty one."""
    return crc32(value or b"", crc32(key or b"")) ** 2


def message_digests(keys: pa.Array | None, values: pa.Array, ends: pa.DictionaryArray | None) -> Digests:
    """Return the digest of each message; ``ends``: what follows its value. They add up modulo :data:`MODULUS`."""
    made = np.empty(len(values), np.uint64)
    columns = [each.fill_null(b"") if each.null_count else each for each in (values, keys) if each is not None]
    for start in range(0, len(values), _HELD_ROWS):
        part, *before = (column.slice(start, _HELD_ROWS).to_numpy(zero_copy_only=False) for column in columns)
        crcs = map(crc32, part, *(map(crc32, each) for each in before))
        made[start : start + _HELD_ROWS] = np.fromiter(crcs, np.uint64, len(part))
    if ends is not None:
        codes = np.asarray(ends.indices)
        for code, end in enumerate(ends.dictionary.to_pylist()):
            rows = np.flatnonzero(codes == code)
            made[rows] = _continued(made[rows], end)
    return made * made


def _continued(crcs: Digests, end: bytes) -> Digests:
    """Return the CRCs of what has these ones and is continued; a CRC is linear in the one before it."""
    if len(crcs) <= _BITS:
        return np.array([crc32(end, crc) for crc in crcs.tolist()], np.uint64)
    nothing, bits = _of_bits(end)
    made = np.full(len(crcs), nothing, np.uint64)
    for place, bit in enumerate(bits):
        made ^= ((crcs >> np.uint64(place)) & np.uint64(1)) * np.uint64(bit ^ nothing)
    return made


@lru_cache(maxsize=256)
def _of_bits(end: bytes) -> tuple[int, list[int]]:
    return crc32(end), [crc32(end, 1 << place) for place in range(_BITS)]
