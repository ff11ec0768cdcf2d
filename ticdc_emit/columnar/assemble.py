"""The assembler: makes the messages of a whole batch from constant bytes and rendered columns.

A **fragment** is ``bytes`` (the same for every row) or a string/binary array (one piece per row; null counts as
empty). A message is a sequence of fragments; :func:`join` makes all messages of the batch at once. The cost is per
fragment, so neighbouring constants are merged.

Where a null is shown, as in a JSON object (``columnar.object_layout``), the join puts its bytes in the place of nulls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import groupby
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import from_bytes, from_element, text_buffers

__all__ = [
    "NULL",
    "Fragment",
    "Mask",
    "blank_where",
    "enclosed",
    "gather",
    "gathered",
    "join",
    "row_of",
    "share",
]

Fragment: TypeAlias = "bytes | pa.Array"
Mask: TypeAlias = "npt.NDArray[np.bool_]"

NULL = b"null"
"""A null in JSON."""
_BINARY, _STRING = pa.binary(), pa.string()
_WHOLE = pc.JoinOptions(null_handling="emit_null")
_IN_BOUNDS = pc.TakeOptions(boundscheck=False)
_MANY = 256  # rows, from which their lengths are worth a look
_MOST_BYTES = (1 << 31) - 1  # of an array
_KEPT_BYTES = 256  # longer constants are not kept: a scalar of them costs little beside its bytes


def join(fragments: Iterable[Fragment], count: int, null: bytes = b"") -> pa.Array:
    """Return a ``binary`` array of ``count`` messages, each the concatenation of its fragments.

    ``null``: the bytes for a null.
    """
    if count == 1:
        return from_element(row_of(fragments, null))
    pieces: list[pa.Scalar | pa.Array] = []
    constant, constants = b"", True
    fragments = list(fragments)
    if count >= _MANY and (rows := _equal_rows(fragments, count)) is not None:
        return rows
    for fragment in fragments:
        if isinstance(fragment, bytes):
            constant += fragment
            continue
        if constant:
            pieces.append(_scalar(constant))
            constant = b""
        constants = False
        pieces.append(fragment.view(_BINARY) if fragment.type == _STRING else fragment)
    if constants:
        return pa.repeat(pa.scalar(constant, _BINARY), count)
    if constant:
        pieces.append(_scalar(constant))
    pieces.append(_scalar(b""))
    return pc.call_function("binary_join_element_wise", pieces, _filled(null))


def row_of(fragments: Iterable[Fragment], null: bytes = b"") -> bytearray:
    """Return a single message, for which a kernel would be called in vain. ``null``: as in :func:`join`."""
    row = bytearray()
    for fragment in fragments:
        if not isinstance(fragment, bytes):
            (held,) = fragment.view(_BINARY).to_pylist()
            fragment = null if held is None else held
        row += fragment
    return row


def _equal_rows(fragments: Sequence[Fragment], count: int) -> pa.Array | None:
    """Return the messages as the rows of a byte matrix, ``None`` if they differ in length within a column.

    Where keys have the same number of digits this costs a fifth.
    """
    row, columns = bytearray(), []
    for fragment in fragments:
        if isinstance(fragment, bytes):
            row += fragment
            continue
        if fragment.null_count:
            return None
        parts = text_buffers(fragment)
        width, rest = divmod(len(parts.data), count)
        if rest or (parts.lengths != width).any():
            return None
        columns.append((len(row), parts.data, width))
        row += bytes(width)
    length = len(row)
    if not columns or not 0 < length * count <= _MOST_BYTES:
        return None
    rows = np.frombuffer(row * count, np.uint8)
    for place, data, width in columns:
        if width:
            cells = np.dtype(f"V{width}")
            np.ndarray(count, cells, rows, place, length)[:] = data.view(cells)
    return from_bytes(np.arange(0, len(rows) + 1, length, dtype=np.int32), rows, binary=True)


@cache
def _filled(null: bytes) -> pc.JoinOptions:
    return pc.JoinOptions(null_handling="replace", null_replacement=null)


def _scalar(constant: bytes) -> pa.Scalar:
    return _kept_scalar(constant) if len(constant) <= _KEPT_BYTES else pa.scalar(constant, _BINARY)


@lru_cache(maxsize=8192)
def _kept_scalar(constant: bytes) -> pa.Scalar:
    return pa.scalar(constant, _BINARY)


def gather(forms: Sequence[bytes], index: npt.NDArray[np.uint8] | npt.NDArray[np.int32]) -> Fragment:
    """Return for each row the form at ``index``."""
    return gathered(pa.array(forms, _BINARY), index)


def enclosed(text: pa.Array, around: tuple[bytes, bytes]) -> pa.Array:
    """Return each text with what opens and closes it, null where it is null."""
    whole = text.view(_BINARY) if text.type == _STRING else text
    if any(around):
        opening, closing = map(_scalar, around)
        whole = pc.call_function("binary_join_element_wise", [opening, whole, closing, _scalar(b"")], _WHOLE)
    return whole


def blank_where(text: pa.Array, hidden: Mask) -> pa.Array:
    """Return texts of which nothing is shown where they are hidden."""
    return pc.if_else(pa.array(hidden), pa.scalar(b"", text.type), text) if hidden.any() else text


def gathered(forms: pa.Array, index: npt.NDArray[np.uint8] | npt.NDArray[np.int32]) -> pa.Array:
    """Return for each row the form at ``index``, of forms in an array."""
    return pc.call_function("array_take", [forms, pa.array(index)], _IN_BOUNDS)


def share(
    one: Sequence[Fragment], other: Sequence[Fragment], count: int, null: bytes = b""
) -> tuple[list[Fragment], list[Fragment]]:
    """Join the runs that two equally long sequences have in common once, for both.

    The before and after objects of an update are mostly the same arrays: what is joined once is not joined twice.
    ``null``: as in :func:`join`.
    """
    shared: tuple[list[Fragment], list[Fragment]] = ([], [])
    for same, run in groupby(zip(one, other, strict=True), key=lambda pair: pair[0] is pair[1] or _equal(*pair)):
        left, right = zip(*run, strict=True)
        if same and sum(not isinstance(fragment, bytes) for fragment in left) > 1:
            left = right = (join(left, count, null),)
        shared[0].extend(left)
        shared[1].extend(right)
    return shared


def _equal(one: Fragment, other: Fragment) -> bool:
    return isinstance(one, bytes) and isinstance(other, bytes) and one == other
