"""Zero-copy views over Arrow buffers as numpy arrays, and back. Text has ``int32`` offsets: chunks are below 2 GiB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

FEW = 4
"""Up to this number of values, a Python loop is faster than a kernel, whose call costs some microseconds."""

Bytes = npt.NDArray[np.uint8]
_BINARY, _BINARIES, _NULL = pa.binary(), pa.list_(pa.binary()), pa.null()
_PAIR = Struct("=ii")  # offsets
_AS_TEXT = pc.CastOptions.safe(pa.string())
_NO_BYTES = np.zeros(0, np.uint8)
_KEPT_BYTES = 256  # longer constants are not kept: a scalar of them costs little beside its bytes


@dataclass(frozen=True)
class TextBuffers:
    """Offsets (``length + 1``, starting at 0) and bytes of a string or binary array, cut to exactly its elements."""

    offsets: npt.NDArray[np.int32]
    data: Bytes

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        return self.offsets[1:] - self.offsets[:-1]


def as_text(array: pa.Array) -> pa.Array:
    """Return string-like arrays as plain ``string``/``binary`` (views, large and dictionary types are converted)."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return as_text(array.dictionary_decode())
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return array
    if pa.types.is_null(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        return array.cast(pa.string())
    if is_binary_like(kind):
        return array.cast(pa.binary())
    raise TypeError(f"{kind} is neither text nor binary")


def to_text(array: pa.Array) -> pa.Array:
    """Return numbers, dates or timestamps as Arrow prints them."""
    return pc.call_function("cast", [array], _AS_TEXT)


def to_number(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return integers, all of which the integer type ``kind`` holds or wraps, as it."""
    if array.type == kind:
        return array
    if array.type.bit_width == kind.bit_width:
        return array.view(kind)
    if len(array) <= FEW:
        return pa.array(array.to_pylist(), kind)
    return array.cast(kind, safe=False)


def is_binary_like(kind: pa.DataType) -> bool:
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(test(kind) for test in tests) or bool(kind == pa.binary_view())


def text_buffers(array: pa.Array) -> TextBuffers:
    """Return offsets and data of a plain string/binary array; the bytes of null elements are kept as they are."""
    _, raw_offsets, raw_data = array.buffers()
    count = len(array)
    if raw_offsets is None or count == 0:
        return TextBuffers(np.zeros(count + 1, np.int32), _NO_BYTES)
    offsets = np.frombuffer(raw_offsets, np.int32, count + 1, array.offset * 4)
    start, end = int(offsets[0]), int(offsets[-1])
    data = np.frombuffer(raw_data, np.uint8, end - start, start) if raw_data is not None and end > start else _NO_BYTES
    return TextBuffers(offsets - np.int32(start) if start else offsets, data)


def compact(array: pa.Array) -> pa.Array:
    """Return a plain string/binary array without bytes under its nulls, which whole-buffer kernels would read."""
    nulls = null_mask(array)
    if nulls is None or not (text_buffers(array).lengths * nulls).any():
        return array
    return array.take(pa.array(np.arange(len(array))))  # if_else would keep them


def extremes(array: pa.Array) -> tuple[Any, Any] | None:
    """Return the least and the greatest value, ``None`` if all are null."""
    if len(array) <= FEW:
        held = [value for value in array.to_pylist() if value is not None]
        return (min(held), max(held)) if held else None
    least, greatest = pc.call_function("min_max", [array]).values()
    return (least.as_py(), greatest.as_py()) if least.is_valid else None


def null_mask(array: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Return a mask that is true where ``array`` is null, or ``None`` if it holds no null at all."""
    valid = valid_mask(array)
    return None if valid is None else ~valid


def valid_mask(array: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Return a mask that is true where ``array`` is not null, or ``None`` if it holds no null at all."""
    if array.null_count == 0:
        return None
    if array.type == _NULL:  # a struct's field has the struct's bitmap, in which these rows are valid
        return np.zeros(len(array), np.bool_)
    bitmap = array.buffers()[0]
    if bitmap is None or pa.types.is_dictionary(array.type):
        return np.asarray(pc.is_valid(array).to_numpy(zero_copy_only=False), dtype=np.bool_)
    first = array.offset // 8
    start = array.offset - 8 * first
    end = start + len(array)
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8, -(-end // 8), first), bitorder="little")
    return bits[start:end].view(np.bool_)


def python_value(scalar: pa.Scalar) -> Any:
    """Return a scalar's value; for text that is not UTF-8, its bytes."""
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        text = scalar.value if isinstance(scalar, pa.DictionaryScalar) else scalar
        return text.as_buffer().to_pybytes()


def fixed_values(array: pa.Array, dtype: npt.DTypeLike) -> npt.NDArray[np.generic]:
    """Return the value buffer of a fixed-width array as ``dtype``; values under nulls are unspecified."""
    item = np.dtype(dtype)
    data = array.buffers()[1]
    if data is None:
        return np.zeros(len(array), item)
    return np.frombuffer(data, item, len(array), array.offset * item.itemsize)


def from_bytes(
    offsets: npt.NDArray[np.int32], data: bytes | Bytes, *, like: pa.Array | None = None, binary: bool = False
) -> pa.Array:
    """Build a string (or binary) array of ``len(offsets) - 1`` elements, null where ``like`` is."""
    validity = None
    if like is not None and like.null_count:
        validity = like.buffers()[0] if like.offset == 0 else pc.is_valid(like).buffers()[1]
    buffers = [validity, pa.py_buffer(np.ascontiguousarray(offsets, np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(_BINARY if binary else pa.string(), len(offsets) - 1, buffers)


def from_element(element: bytes | bytearray) -> pa.Array:
    return pa.Array.from_buffers(_BINARY, 1, [None, pa.py_buffer(_PAIR.pack(0, len(element))), pa.py_buffer(element)])


def binary_scalar(constant: bytes) -> pa.Scalar:
    return _kept_scalar(constant) if len(constant) <= _KEPT_BYTES else pa.scalar(constant, _BINARY)


_kept_scalar = lru_cache(maxsize=8192)(lambda constant: pa.scalar(constant, _BINARY))


def from_byte_matrix(
    matrix: Bytes, keep: npt.NDArray[np.bool_], *, like: pa.Array | None = None, binary: bool = False
) -> pa.Array:
    """Build an array as :func:`from_bytes` does from the rows of a matrix, without cells where ``keep`` is false."""
    offsets = np.zeros(len(matrix) + 1, np.int32)
    np.cumsum(keep.sum(axis=1), out=offsets[1:])
    return from_bytes(offsets, matrix[keep], like=like, binary=binary)


_BITS_BELOW = (np.uint64(1) << np.arange(64, dtype=np.uint64)) - np.uint64(1)


def hits_before(hit: npt.NDArray[np.bool_], offsets: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return for each offset how many elements of ``hit`` before it are true (population counts of 64-bit words)."""
    packed = np.packbits(hit, bitorder="little")
    words = np.zeros(len(packed) // 8 + 2, np.uint64)
    words.view(np.uint8)[: len(packed)] = packed
    before = np.zeros(len(words) + 1, np.int32)
    np.cumsum(np.bitwise_count(words), out=before[1:], dtype=np.int32)
    word = offsets >> 6
    below = words.take(word) & _BITS_BELOW.take(offsets & 63)
    counts: npt.NDArray[np.int32] = before.take(word) + np.bitwise_count(below)
    return counts


def inserted(data: Bytes, places: npt.NDArray[np.integer[Any]], what: bytes) -> Bytes:
    """Return bytes with ``what`` before each of the rising places, also the end. Joining costs less than any pass."""
    ends = np.empty(len(places) + 2, np.int32)
    ends[0], ends[1:-1], ends[-1] = 0, places, len(data)
    between = from_bytes(ends, data, binary=True)
    bounds = pa.py_buffer(_PAIR.pack(0, len(between)))
    only_row = pa.Array.from_buffers(_BINARIES, 1, [None, bounds], children=[between])
    return text_buffers(pc.call_function("binary_join", [only_row, binary_scalar(what)])).data


_Places = npt.NDArray[np.int64]
_COUNTED = 1 << 16  # numpy sorts numbers of 16 bits by counting them


def order_of_codes(codes: npt.NDArray[np.integer[Any]]) -> _Places:
    """Return the order of numbers that count something, from 0 on."""
    small = int(codes.max(initial=0)) < _COUNTED
    return np.argsort(codes.astype(np.uint16) if small else codes, kind="stable")


def order_of_pairs(firsts: npt.NDArray[np.uint64], seconds: npt.NDArray[np.uint32]) -> _Places:
    """Return the order of pairs. It takes little where the first numbers are nearly in order, or several runs of it."""
    if not len(firsts):
        return np.zeros(0, np.int64)
    least, seconds_end = firsts.min(), int(seconds.max()) + 1
    if (int(firsts.max()) - int(least) + 1) * seconds_end <= 1 << 64:  # one number for each pair
        return np.argsort((firsts - least) * np.uint64(seconds_end) + seconds, kind="stable")
    order = np.argsort(firsts, kind="stable")
    firsts, seconds = firsts[order], seconds[order]
    pairs = np.zeros(len(order), np.int64)
    np.cumsum(firsts[1:] != firsts[:-1], out=pairs[1:])
    pairs *= seconds_end
    pairs += seconds
    return order[np.argsort(pairs, kind="stable")]


class Columns(Mapping[str, pa.Array]):
    """The columns of ``count`` rows from row ``start`` of ``whole`` on."""

    __slots__ = ("_cut", "count", "start", "whole")

    def __init__(self, whole: Mapping[str, pa.Array], start: int, count: int) -> None:
        self.whole, self.start, self.count = whole, start, count
        self._cut: dict[str, pa.Array] = {}

    def __getitem__(self, name: str) -> pa.Array:
        if name not in self._cut:
            self._cut[name] = self.whole[name].slice(self.start, self.count)
        return self._cut[name]

    def __contains__(self, name: object) -> bool:
        return name in self.whole

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole)

    def __len__(self) -> int:
        return len(self.whole)
