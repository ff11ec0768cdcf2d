"""Binary data as Go's ``strconv.Quote`` prints it, inside a JSON string.

In: ``binary`` arrays. Out: ``string`` arrays: what stands between the quotes, escaped once more for JSON. Quote keeps
characters that can be printed, has letters for seven controls (``\\n``), and shows other bytes as ``\\x00``, other
characters as ``\\u0085`` or ``\\U000e0001``. What can be printed depends on the version of Unicode: Go has 15.0, Python
13.0 to 15.1, so what these differ in is listed here.

All bytes of the column are gathered from a table of texts. A byte that begins a character is never inside another one,
so that characters are found everywhere at once.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import from_bytes, text_buffers
from ticdc_emit.columnar.escape import JsonWriter, quoted

__all__ = ["go_quoted_json"]

_IN_BOUNDS = pc.TakeOptions(boundscheck=False)
_LETTERS = {0x07: "a", 0x08: "b", 0x09: "t", 0x0A: "n", 0x0B: "v", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}
_DELETE, _BMP_END = 0x7F, 0x10000
_NOTHING, _AS_IT_IS, _OTHERS = 256, 257, 513  # places in a table of texts, whose first 256 are those of single bytes

_PRINTED = """
61D 870-88E 898-89F 8B5 8C8-8D2 C3C C5D CDD CF3 ECE 170D 1715 171F 180F 1AC1-1ACE 1B4C 1B7D-1B7E 1DFA 20C0 2C2F 2C5F
2E53-2E5D 9FFD-9FFF A7C0-A7C1 A7D0-A7D1 A7D3 A7D5-A7D9 A7F2-A7F4 FBC2 FD40-FD4F FDCF FDFE-FDFF 10570-1057A 1057C-1058A
1058C-10592 10594-10595 10597-105A1 105A3-105B1 105B3-105B9 105BB-105BC 10780-10785 10787-107B0 107B2-107BA 10EFD-10EFF
10F70-10F89 11070-11075 110C2 1123F-11241 116B9 11740-11746 11AB0-11ABF 11B00-11B09 11F00-11F10 11F12-11F3A 11F3E-11F59
12F90-12FF2 1342F 13440-13455 16A70-16ABE 16AC0-16AC9 1AFF0-1AFF3 1AFF5-1AFFB 1AFFD-1AFFE 1B11F-1B122 1B132 1B155
1CF00-1CF2D 1CF30-1CF46 1CF50-1CFC3 1D1E9-1D1EA 1D2C0-1D2D3 1DF00-1DF1E 1DF25-1DF2A 1E030-1E06D 1E08F 1E290-1E2AE
1E4D0-1E4F9 1E7E0-1E7E6 1E7E8-1E7EB 1E7ED-1E7EE 1E7F0-1E7FE 1F6DC-1F6DF 1F774-1F776 1F77B-1F77F 1F7D9 1F7F0 1F979 1F9CC
1FA75-1FA77 1FA7B-1FA7C 1FA87-1FA88 1FAA9-1FAAF 1FAB7-1FABD 1FABF 1FAC3-1FAC5 1FACE-1FACF 1FAD7-1FADB 1FAE0-1FAE8
1FAF0-1FAF8 2A6DE-2A6DF 2B735-2B739 31350-323AF
"""
"""Characters that Unicode 15.0 has and 13.0 has not."""
_NOT_PRINTED = "2FFC-2FFF 31EF 2EBF0-2EE5D"
"""Those that 15.1 has and 15.0 has not."""

_Ints = npt.NDArray[np.int32]


class _Characters(NamedTuple):
    """Characters beyond ASCII: where each begins, its bytes, its code point."""

    starts: npt.NDArray[np.int64]
    lengths: _Ints
    codes: _Ints


def go_quoted_json(data: pa.Array, writer: JsonWriter) -> pa.Array:
    """Return each element quoted by Go and escaped by ``writer``, without the quotes around it; nulls stay null."""
    parts = text_buffers(data)
    table, places = _table(writer), pa.array(parts.data)
    found = _characters(parts.offsets, parts.data)
    if len(found.starts):
        table, places = _with_characters(table, parts.data, found)
    mapped = text_buffers(pc.call_function("array_take", [table, places], _IN_BOUNDS))
    return from_bytes(mapped.offsets[parts.offsets], mapped.data, like=data)


def _with_characters(table: pa.Array, data: npt.NDArray[np.uint8], found: _Characters) -> tuple[pa.Array, pa.Array]:
    """Return the table with what characters need of it, and the places of all bytes in it."""
    places = data.astype(np.uint16)
    printed = _are_printed(found.codes)
    for byte in range(int(found.lengths.max())):
        longer = found.lengths > byte
        places[found.starts[printed & longer] + byte] += _AS_IT_IS
        places[found.starts[~printed & longer] + byte] = _NOTHING
    others, numbers = np.unique(found.codes[~printed], return_inverse=True)
    if len(others):
        if len(others) >= _BMP_END - _OTHERS:
            places = places.astype(np.int32)
        places[found.starts[~printed]] = _OTHERS + numbers
        table = pa.concat_arrays([table, pa.array(map(_escaped, others.tolist()), pa.binary())])
    return table, pa.array(places)


@lru_cache(maxsize=4)
def _table(writer: JsonWriter) -> pa.Array:
    singles = [quoted(_of_byte(byte), writer)[1:-1] for byte in range(256)]
    return pa.array([*singles, b"", *(bytes([byte]) for byte in range(256))], pa.binary())


def _of_byte(byte: int) -> str:
    if byte in _LETTERS:
        return "\\" + _LETTERS[byte]
    return chr(byte) if ord(" ") <= byte < _DELETE else f"\\x{byte:02x}"


def _escaped(code: int) -> bytes:
    """Return a character that is not printed, its backslash escaped for JSON."""
    return b"\\\\u%04x" % code if code < _BMP_END else b"\\\\U%08x" % code


def _characters(offsets: npt.NDArray[np.int32], data: npt.NDArray[np.uint8]) -> _Characters:
    """Find all valid characters beyond ASCII that are inside one element."""
    begins = np.zeros(len(data) + 3, np.bool_)  # an element
    begins[offsets] = True
    starts = np.flatnonzero((data[:-1] >= 0xC2) & (data[1:] & 0xC0 == 0x80) & ~begins[1 : len(data)])
    firsts = data[starts]
    short = firsts < 0xE0
    two, longer = starts[short], starts[~short & (firsts <= 0xF4)]
    padded = np.append(data, np.zeros(2, np.uint8))
    longer = longer[padded[longer + 2] & 0xC0 == 0x80]
    codes = (data[two].astype(np.int32) & 0x1F) << 6 | data[two + 1] & 0x3F
    lengths = np.full(len(two), 2, np.int32)
    if not len(longer):
        return _Characters(two, lengths, codes)
    first, second, third, fourth = (padded[longer + byte].astype(np.int32) for byte in range(4))
    has_four = first >= 0xF0
    valid = ~begins[longer + 2]
    valid &= ~has_four | ((fourth & 0xC0 == 0x80) & ~begins[longer + 3])
    valid &= ~((first == 0xE0) & (second < 0xA0)) & ~((first == 0xED) & (second > 0x9F))
    valid &= ~((first == 0xF0) & (second < 0x90)) & ~((first == 0xF4) & (second > 0x8F))
    code = (first & 0x0F) << 12 | (second & 0x3F) << 6 | third & 0x3F
    code = np.where(has_four, (code & 0x7FFF) << 6 | fourth & 0x3F, code)
    return _Characters(
        np.append(two, longer[valid]),
        np.append(lengths, np.where(has_four, 4, 3)[valid].astype(np.int32)),
        np.append(codes, code[valid]),
    )


def _are_printed(codes: _Ints) -> npt.NDArray[np.bool_]:
    printed = _bmp()[np.minimum(codes, _BMP_END - 1)]
    beyond = np.flatnonzero(codes >= _BMP_END)
    printed[beyond] = [_is_printed(code) for code in codes[beyond].tolist()]
    return printed


@lru_cache(maxsize=1)
def _bmp() -> npt.NDArray[np.bool_]:
    """Return for each character of the Basic Multilingual Plane whether it is printed."""
    return np.array([_is_printed(code) for code in range(_BMP_END)], np.bool_)


def _is_printed(code: int) -> bool:
    for ranges, whether in ((_PRINTED, True), (_NOT_PRINTED, False)):
        firsts, lasts = _bounds(ranges)
        place = bisect_right(firsts, code) - 1
        if place >= 0 and code <= lasts[place]:
            return whether
    return chr(code).isprintable()


@lru_cache(maxsize=2)
def _bounds(ranges: str) -> tuple[list[int], list[int]]:
    """Return the first and last code points of ranges."""
    pairs = [(part.split("-") * 2)[:2] for part in ranges.split()]
    return [int(first, 16) for first, _ in pairs], [int(last, 16) for _, last in pairs]
