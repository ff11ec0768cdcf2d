"""BIT columns as Debezium writes them: the base64 of as many little-endian bytes as the column has.

In: ``uint64`` (``columnar.integers.accept_bit``). Out: text.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from ticdc_emit.columnar.binaries import base64_text
from ticdc_emit.columnar.buffers import fixed_values, from_bytes

__all__ = ["little_endian_base64"]

_BYTE_BITS = 8


def little_endian_base64(values: pa.Array, bits: int) -> pa.Array:
    """Return the base64 of BIT(``bits``) values; nulls stay null."""
    if bits <= _BYTE_BITS:
        return _single_bytes().take(values)
    return _coded(values, -(-bits // _BYTE_BITS))


@lru_cache(maxsize=1)
def _single_bytes() -> pa.Array:
    return _coded(pa.array(range(1 << _BYTE_BITS), pa.uint64()), 1)


def _coded(values: pa.Array, width: int) -> pa.Array:
    cells = np.ascontiguousarray(fixed_values(values, "<u8")).view(np.uint8).reshape(-1, 8)[:, :width]
    ends = np.arange(0, (len(values) + 1) * width, width, dtype=np.int32)
    return base64_text(from_bytes(ends, cells.tobytes(), like=values, binary=True))
