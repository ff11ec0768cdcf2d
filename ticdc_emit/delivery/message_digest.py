"""The digest of messages, which their sender reports and a reader compares: the sum of the squares of their CRC-32.

Messages may be counted in any order, task and batch. A changed one, or two that swapped something, have another sum:
CRC-32 finds each change of up to four bytes in a row, and is linear, which squares are not. Sender and reader see the
same bytes, so that no protocol's loss of types matters; a reader leaves repetitions out.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt

MODULUS = 1 << 64


def message_digest(key: bytes | None, value: bytes | None) -> int:
    """Return the digest of one message; a part that is missing counts as an empty one."""
    return crc32(value or b"", crc32(key or b"")) ** 2


def message_crcs(keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> npt.NDArray[np.uint64]:
    """Return the CRC-32 of each message, whose square is its digest: sums of these are modulo :data:`MODULUS`."""
    filled = [value or b"" for value in values] if None in values else values
    begun = [map(crc32, [key or b"" for key in keys])] if any(keys) else []
    return np.fromiter(map(crc32, filled, *begun), np.uint64, len(values))
