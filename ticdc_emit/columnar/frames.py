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
from ticdc_emit.columnar.buffers import element_lengths, from_bytes, text_buffers

__all__ = ["LENGTH_BYTES", "beyond", "framed", "joined"]

LENGTH_BYTES = 8


def framed(fragments: Sequence[Fragment], count: int, head: bytes = b"") -> pa.Array:
    """Return ``head``, the length of the fragments together, and the fragments, of ``count`` elements."""
    made = join([head + bytes(LENGTH_BYTES), *fragments], count)
    _write_lengths(made, len(head))
    return made


def _write_lengths(made: pa.Array, start: int) -> None:
    """Write the lengths of new elements, of what is behind them, in place: only once joined they are known."""
    if not len(made):
        return
    offsets = text_buffers(made).offsets
    lengths = offsets[1:] - offsets[:-1] - (start + LENGTH_BYTES)
    data = np.frombuffer(made.buffers()[2], np.uint8)
    byte, longest = offsets[:-1] + (start + LENGTH_BYTES - 1), int(lengths.max())
    while longest:  # the bytes before are zero
        data[byte] = lengths.astype(np.uint8)
        byte, lengths, longest = byte - 1, lengths >> 8, longest >> 8


def joined(array: pa.Array, starts: npt.NDArray[np.int64], head: bytes = b"") -> pa.Array:
    """Return the elements from each of ``starts`` to the next as one.

    ``head``: with what every element begins, and what those that continue another then do not have.
    """
    parts = text_buffers(beyond(array, len(head)) if head else array)
    together = from_bytes(parts.offsets[np.append(starts, len(array))], parts.data, binary=True)
    return join([head, together], len(starts)) if head else together


def beyond(array: pa.Array, count: int) -> pa.Array:
    """Return the elements without their first bytes."""
    longest = int(element_lengths(array).max(initial=count))  # without an end, the kernel asks for negative memory
    return pc.binary_slice(array, count, longest)
