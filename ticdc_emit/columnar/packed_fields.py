"""Short binary values of whole columns, packed row by row: a join costs more per fragment than a strided store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, groupby
from struct import Struct
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.assemble import Fragment, gathered, join, row_of
from ticdc_emit.columnar.buffers import from_bytes, from_element, text_buffers

WORDS = (1, 2, 4, 8)
"""The bytes of the unsigned integers that numpy has."""

_NARROW = 2  # bytes that are sooner sifted
_APART_BYTES = 32  # that each row shows next to each other are sooner joined to the others than squeezed with them
_PACKED_CHOICE = 64
_KEPT_BYTES = 256  # longer constants are not cached: copying their bytes costs more than making the cell
Lengths: TypeAlias = "int | npt.NDArray[np.uint8]"


@dataclass(frozen=True)
class PackedField:
    """Row i is the first ``length`` bytes of ``data[i]``: a little-endian unsigned integer, or raw bytes (``V``)."""

    data: npt.NDArray[Any]
    length: Lengths

    @property
    def width(self) -> int:
        return self.data.dtype.itemsize

    @property
    def is_whole(self) -> bool:
        return isinstance(self.length, int) and self.length == self.width


Piece: TypeAlias = "bytes | PackedField | pa.Array"
"""A fragment of a message, or a packed field."""


def chosen(codes: npt.NDArray[Any], forms: Sequence[bytes]) -> list[Piece]:
    """Return for each row the bytes at its code."""
    width = max(map(len, forms))
    if width > _PACKED_CHOICE:
        return [pa.array(forms, pa.binary()).take(pa.array(codes))]
    width = next((size for size in WORDS if size >= width), width)
    kind = f"<u{width}" if width in WORDS else f"V{width}"
    table = np.frombuffer(b"".join(form.ljust(width, b"\0") for form in forms), kind)
    lengths = np.array([len(form) for form in forms], np.uint8)
    same = int(lengths[0]) if (lengths == lengths[0]).all() else lengths.take(codes)
    return [PackedField(table.take(codes), same)]


def join_pieces(pieces: Iterable[Piece], count: int) -> pa.Array:
    """Return a ``binary`` array of ``count`` messages, each the concatenation of its pieces; null counts as empty."""
    if count == 1:  # one row costs less in Python than as columns
        return from_element(b"".join(map(_only, pieces)))
    fragments = _fragments([*pieces], count)
    if len(fragments) == 1 and not isinstance(fragments[0], bytes) and fragments[0].null_count == 0:
        return fragments[0].view(pa.binary())
    return join(fragments, count)


def elements_of(pieces: Iterable[Piece], count: int) -> list[pa.Array]:
    """Return pieces as ``binary`` arrays of ``count`` elements, which make up messages one after the other."""
    arrays = []
    for fragment in _fragments([*pieces], count):
        if isinstance(fragment, bytes):
            arrays.append(pa.repeat(pa.scalar(fragment, pa.binary()), count))
        else:
            arrays.append(fragment.view(pa.binary()))
    return arrays


def _fragments(pieces: Sequence[Piece], count: int) -> list[Fragment]:
    fragments: list[Fragment] = [piece for piece in pieces if not isinstance(piece, PackedField)]
    if len(fragments) == len(pieces):
        return fragments
    fragments = []
    for arrays, run in groupby(pieces, key=lambda piece: isinstance(piece, pa.Array)):
        group = list(run)
        fragments += group if arrays else _packed(group, count)
    return fragments


def _only(piece: Piece) -> bytes:
    if isinstance(piece, bytes):
        return piece
    if isinstance(piece, PackedField):
        length = piece.length if isinstance(piece.length, int) else int(piece.length[0])
        return piece.data.tobytes()[:length]
    content = piece[0].as_buffer()
    return b"" if content is None else bytes(content.to_pybytes())


def share_pieces(
    one: Sequence[Sequence[Piece]], other: Sequence[Sequence[Piece]], count: int
) -> tuple[list[Piece], list[Piece]]:
    """Return two equally long sequences of entries as pieces. Runs of identical entries are joined only once."""
    shared: tuple[list[Piece], list[Piece]] = ([], [])
    for same, run in groupby(zip(one, other, strict=True), key=lambda pair: pair[0] is pair[1]):
        left, right = ([piece for entry in side for piece in entry] for side in zip(*run, strict=True))
        if same and not all(isinstance(piece, bytes) for piece in left):
            left = right = [join_pieces(left, count)]
        shared[0].extend(left)
        shared[1].extend(right)
    return shared


def _packed(run: Sequence[bytes | PackedField], count: int) -> list[Fragment]:
    cells: list[PackedField] = []
    constant = b""
    for piece in run:
        if isinstance(piece, bytes):
            constant += piece
            continue
        if constant:
            cells.append(_constant(constant))
            constant = b""
        cells.append(piece)
    if not cells or count == 0:
        return [constant]
    if constant:
        cells.append(_constant(constant))
    laid: list[Fragment] = []
    loose: list[PackedField] = []
    for same, group in groupby(cells, key=lambda cell: isinstance(cell.length, int)):
        part = list(group)
        if not same or sum(map(_length, part)) < _APART_BYTES:
            loose += part
            continue
        laid += [*_together(loose, count), _whole(part, count)]
        loose = []
    return [*laid, *_together(loose, count)]


def _together(cells: Sequence[PackedField], count: int) -> list[Fragment]:
    if all(isinstance(cell.length, int) for cell in cells):
        return [_whole(cells, count)] if cells else []
    return [_squeezed(cells, count)]


def _length(cell: PackedField) -> int:
    assert isinstance(cell.length, int)
    return cell.length


def _constant(value: bytes) -> PackedField:
    return _kept_constant(value) if len(value) <= _KEPT_BYTES else _cell_of(value)


def _cell_of(value: bytes) -> PackedField:
    return PackedField(np.frombuffer(value, f"V{len(value)}"), len(value))


_kept_constant = lru_cache(maxsize=8192)(_cell_of)


def _exact(cell: PackedField) -> Iterator[PackedField]:
    if cell.is_whole:
        yield cell
        return
    data = cell.data
    for size in (4, 2, 1):
        if cell.length & size:
            yield PackedField(data.astype(f"<u{size}"), size)
            data = data >> data.dtype.type(8 * size)


def _whole(cells: Sequence[PackedField], count: int) -> Fragment:
    cells = [part for cell in cells for part in _exact(cell)]
    width = sum(cell.width for cell in cells)
    rows = np.empty(count * width, np.uint8)
    place = 0
    for cell in cells:
        _field(rows, cell.data.dtype, place, count, width)[:] = cell.data
        place += cell.width
    return from_bytes(np.arange(0, (count + 1) * width, width, dtype=np.int32), rows, binary=True) if width else b""


def _squeezed(cells: Sequence[PackedField], count: int) -> pa.Array:
    width = sum(cell.width for cell in cells)
    offsets = np.zeros(count + 1, np.int32)
    lengths = np.full(count, sum(_length(cell) for cell in cells if isinstance(cell.length, int)), np.int32)
    for cell in cells:
        if not isinstance(cell.length, int):
            lengths += cell.length
    np.cumsum(lengths, out=offsets[1:])
    rows = _side_by_side([cell.data for cell in cells], count)
    if width > _NARROW and all(cell.is_whole for cell in cells[:-1]):  # a row uses its first bytes
        return from_bytes(offsets, _overlapping(rows, offsets), binary=True)
    keep = _side_by_side([_kept(cell.width).take(cell.length) for cell in cells], count)
    return from_bytes(offsets, rows.view(np.uint8)[keep.view(np.bool_)], binary=True)


def _side_by_side(columns: Sequence[npt.NDArray[Any]], count: int) -> npt.NDArray[np.void]:
    width = sum(column.itemsize for column in columns)
    kind = np.dtype((np.void, width))
    if len(columns) == 1 and columns[0].size == count:
        return np.ascontiguousarray(columns[0]).view(kind)
    rows = np.empty(count * width, np.uint8)
    place = 0
    for column in columns:
        _field(rows, column.dtype, place, count, width)[:] = column
        place += column.itemsize
    return rows.view(kind)


def _overlapping(rows: npt.NDArray[np.void], offsets: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
    size = int(offsets[-1])
    data = np.empty(size + rows.itemsize, np.uint8)
    _field(data, rows.dtype, 0, size + 1, 1)[offsets[:-1].astype(np.intp)] = rows
    return data[:size]


def _field(rows: npt.NDArray[np.uint8], kind: np.dtype[Any], place: int, count: int, width: int) -> npt.NDArray[Any]:
    elements: npt.NDArray[Any] = np.ndarray((count,), kind, rows.data, place, (width,))
    return elements


@lru_cache(maxsize=64)
def _kept(width: int) -> npt.NDArray[Any]:
    kind = f"<u{width}" if width in WORDS else f"V{width}"
    rows = np.tri(width + 1, width, -1, np.uint8)
    return np.frombuffer(rows.tobytes(), kind)


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


def drop_prefix(array: pa.Array, count: int) -> pa.Array:
    # without an end, the kernel would request negative memory
    longest = int(text_buffers(array).lengths.max(initial=count))
    return pc.binary_slice(array, count, longest)


Block: TypeAlias = "tuple[int, Sequence[int]]"


def interleaved(elements: pa.Array, blocks: Sequence[Block]) -> list[pa.Array]:
    """Return for each block ``binary`` rows: row i is what stands i elements behind each start; null is empty."""
    counts, widths = [count for count, _ in blocks], [len(starts) for _, starts in blocks]
    rows = np.arange(max(counts), dtype=np.int32)
    places = [np.add.outer(rows[:count], np.array(starts, np.int32)).ravel() for count, starts in blocks]
    parts = text_buffers(gathered(elements, np.concatenate(places)))
    ends = np.cumsum(np.append(0, np.repeat(widths, counts)))
    rows_of_all = from_bytes(parts.offsets[ends], parts.data, binary=True)
    return [
        rows_of_all.slice(start, count) for start, count in zip(accumulate(counts, initial=0), counts, strict=False)
    ]
