"""Frames: elements with their lengths before them, and several elements as one.

In: fragments, or ``binary`` arrays without nulls. Out: ``binary`` arrays. Lengths are 64 bits, big-endian.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.assemble import Fragment, join
from ticdc_emit.columnar.buffers import element_lengths, from_bytes, null_mask, text_buffers

__all__ = ["LENGTH_BYTES", "beyond", "framed", "joined"]

LENGTH_BYTES = 8


def framed(fragments: Sequence[Fragment], count: int, head: bytes = b"") -> pa.Array:
    """Return ``head``, the length of the fragments together, and the fragments, of ``count`` elements."""
    lengths = np.zeros(count, np.int64)
    for fragment in fragments:
        lengths += len(fragment) if isinstance(fragment, bytes) else _lengths(fragment)
    begin = b""  # what every element begins with is put there with its length: a join pays for each fragment
    rest = list(fragments)
    while rest and isinstance(rest[0], bytes):
        begin += rest.pop(0)
    width = len(head) + LENGTH_BYTES + len(begin)
    frames = np.empty((count, width), np.uint8)
    frames[:] = np.frombuffer(head + bytes(LENGTH_BYTES) + begin, np.uint8)
    frames[:, len(head) : len(head) + LENGTH_BYTES] = lengths.astype(">u8").view(np.uint8).reshape(count, LENGTH_BYTES)
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    return join([from_bytes(offsets, frames.ravel(), binary=True), *rest], count)


def _lengths(fragment: pa.Array) -> npt.NDArray[np.int32]:
    nulls = null_mask(fragment)
    return element_lengths(fragment) if nulls is None else np.where(nulls, np.int32(0), element_lengths(fragment))


def joined(array: pa.Array, starts: npt.NDArray[np.int64], head: bytes = b"") -> pa.Array:
    """Return the elements from each of ``starts`` to the next as one.

    ``head``: with what every element begins, and what those that go on another then do not have.
    """
    parts = text_buffers(beyond(array, len(head)) if head else array)
    together = from_bytes(parts.offsets[np.append(starts, len(array))], parts.data, binary=True)
    return join([head, together], len(starts)) if head else together


def beyond(array: pa.Array, count: int) -> pa.Array:
    """Return the elements without their first bytes."""
    longest = int(element_lengths(array).max(initial=count))  # without an end, the kernel asks for negative memory
    return pc.binary_slice(array, count, longest)
