"""Frames: elements after their lengths, and several elements as one.

In: fragments, or ``binary`` arrays without nulls. Out: ``binary`` arrays. Lengths are 64 bits, big-endian.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.assemble import Fragment, join, row_of
from ticdc_emit.columnar.buffers import element_lengths, from_bytes, from_element, text_buffers

__all__ = ["LENGTH_BYTES", "beyond", "framed", "joined"]

_LENGTH = Struct(">Q")
LENGTH_BYTES = _LENGTH.size
_ROOM = bytes(LENGTH_BYTES)
_CELL = np.dtype(f"V{LENGTH_BYTES}")


def framed(fragments: Iterable[Fragment], count: int, null: bytes = b"") -> pa.Array:
    """Return the fragments as ``count`` elements, each after its length. ``null``: as in ``columnar.assemble.join``."""
    if count == 1:
        row = row_of([_ROOM, *fragments], null)
        _LENGTH.pack_into(row, 0, len(row) - LENGTH_BYTES)
        return from_element(row)
    elements = join([_ROOM, *fragments], count, null)
    if count:
        _write_lengths(elements)
    return elements


def _write_lengths(elements: pa.Array) -> None:
    """Write into the room of each element how long the rest of it is, which is known only after the join."""
    offsets, room = text_buffers(elements).offsets, elements.buffers()[2]
    lengths = offsets[1:] - offsets[:-1]
    shown_lengths = (lengths - np.int32(LENGTH_BYTES)).astype(">u8").view(_CELL)
    length = int(lengths[0])
    if length * len(elements) == int(offsets[-1]) and (lengths == length).all():
        np.ndarray(len(elements), _CELL, room, 0, length)[:] = shown_lengths
        return
    places = np.ndarray(int(offsets[-1]) - LENGTH_BYTES + 1, _CELL, room, 0, 1)
    places[offsets[:-1].astype(np.intp)] = shown_lengths


def joined(array: pa.Array, starts: npt.NDArray[np.int64], head: bytes = b"") -> pa.Array:
    """Return the elements from each of ``starts`` to the next as one, after ``head``."""
    if len(starts) < len(array):
        parts = text_buffers(array)
        array = from_bytes(parts.offsets[np.append(starts, len(array))], parts.data, binary=True)
    return join([head, array], len(array)) if head else array


def beyond(array: pa.Array, count: int) -> pa.Array:
    """Return the elements without their first bytes."""
    longest = int(element_lengths(array).max(initial=count))  # without an end, the kernel would request negative memory
    return pc.binary_slice(array, count, longest)
