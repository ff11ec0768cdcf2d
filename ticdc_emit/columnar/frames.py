"""Frames: elements after their lengths, and several elements as one.

In: fragments, or ``binary`` arrays without nulls. Out: ``binary`` arrays. Lengths are 64 bits, big-endian.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.assemble import Fragment, join
from ticdc_emit.columnar.buffers import element_lengths, from_bytes, text_buffers

__all__ = ["LENGTH_BYTES", "ROOM", "beyond", "framed", "joined"]

LENGTH_BYTES = 8
ROOM = bytes(LENGTH_BYTES)
"""Where a length comes."""


def framed(fragments: Sequence[Fragment], count: int, head: bytes = b"", *, null: bytes = b"") -> pa.Array:
    """Return the fragments as ``count`` elements, with their lengths written after ``head``.

    The fragments begin with ``head`` and :data:`ROOM` for the length of the rest, which is known only after the join.
    ``null``: as in ``columnar.assemble.join``.
    """
    made = join(fragments, count, null)
    if not count:
        return made
    offsets = text_buffers(made).offsets.astype(np.intp)
    before = len(head) + LENGTH_BYTES
    data = np.frombuffer(made.buffers()[2], np.uint8)
    places = np.ndarray(len(data) - before + 1, np.dtype(f"V{LENGTH_BYTES}"), data, len(head), 1)
    places[offsets[:-1]] = (np.diff(offsets) - before).astype(">u8").view(places.dtype)
    return made


def joined(array: pa.Array, starts: npt.NDArray[np.int64], head: bytes = b"") -> pa.Array:
    """Return the elements from each of ``starts`` to the next as one.

    ``head``: the beginning of every element; elements that continue another one lose it.
    """
    parts = text_buffers(beyond(array, len(head)) if head else array)
    together = from_bytes(parts.offsets[np.append(starts, len(array))], parts.data, binary=True)
    return join([head, together], len(starts)) if head else together


def beyond(array: pa.Array, count: int) -> pa.Array:
    """Return the elements without their first bytes."""
    longest = int(element_lengths(array).max(initial=count))  # without an end, the kernel would request negative memory
    return pc.binary_slice(array, count, longest)
