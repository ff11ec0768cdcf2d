"""Frames: elements with their lengths before them, and several elements as one.

In: ``binary`` arrays without nulls. Out: ``binary`` arrays. Lengths are 64 bits, big-endian.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import element_lengths, from_bytes, text_buffers

__all__ = ["LENGTH_BYTES", "joined", "length_prefixed"]

LENGTH_BYTES = 8


def length_prefixed(array: pa.Array, head: bytes = b"") -> pa.Array:
    """Return ``head``, its length and the element, of each element."""
    width = len(head) + LENGTH_BYTES
    frames = np.empty((len(array), width), np.uint8)
    frames[:, : len(head)] = np.frombuffer(head, np.uint8)
    frames[:, len(head) :] = element_lengths(array).astype(">u8").view(np.uint8).reshape(len(array), LENGTH_BYTES)
    offsets = np.arange(0, frames.size + 1, width, dtype=np.int32)
    prefixes = from_bytes(offsets, frames.ravel(), binary=True)
    return pc.binary_join_element_wise(prefixes, array, pa.scalar(b"", pa.binary()))


def joined(array: pa.Array, starts: npt.NDArray[np.int64], head: int = 0) -> pa.Array:
    """Return the elements from each of ``starts`` to the next as one.

    ``head``: bytes at the start of every element, which an element that goes on another has no more.
    """
    parts = text_buffers(array)
    ends = np.append(starts, len(array))
    offsets, data = parts.offsets[ends], parts.data
    if head:
        going_on = np.delete(parts.offsets[:-1], starts)
        cut = np.zeros(len(data), np.bool_)
        for byte in range(head):
            cut[going_on + byte] = True
        data = data[~cut]
        offsets = offsets - (head * (ends - np.arange(len(ends)))).astype(np.int32)
    return from_bytes(offsets, data, binary=True)
