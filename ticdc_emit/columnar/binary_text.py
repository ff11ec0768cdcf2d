"""Text forms of binary columns and BIT values for JSON strings, each byte looked up in a table of texts."""

from __future__ import annotations

import base64
import binascii
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import FEW, Bytes, fixed_values, from_bytes, inserted, text_buffers
from ticdc_emit.columnar.escape import JsonWriter, escape_one, escape_text

_IN_BOUNDS = pc.TakeOptions(boundscheck=False)
_BYTE_BITS = 8
_PADDING = ord("=")


@lru_cache(maxsize=4)
def _latin1_table(writer: JsonWriter) -> pa.Array:
    return escape_text(pa.array([chr(code) for code in range(256)], pa.string()), writer)


def latin1_json(data: pa.Array, writer: JsonWriter) -> pa.Array:
    """Return each byte as the code point of the same number, escaped for a JSON string (semantics 2.6). All are
    gathered from one table, so the gathered offsets at the old offsets are the new offsets.
    """
    parts = text_buffers(data)
    mapped = text_buffers(pc.call_function("array_take", [_latin1_table(writer), pa.array(parts.data)], _IN_BOUNDS))
    return from_bytes(mapped.offsets[parts.offsets], mapped.data, like=data)


_HEX_DIGITS = np.frombuffer(bytes(range(256)).hex().encode(), "V2")


def hex_text(data: pa.Array) -> pa.Array:
    parts = text_buffers(data)
    return from_bytes(parts.offsets * 2, _HEX_DIGITS[parts.data].view(np.uint8), like=data)


def url_safe_base64_text(data: pa.Array) -> pa.Array:
    """Return base64 with padding, with ``-`` and ``_`` for ``+`` and ``/``."""
    return pc.replace_substring(pc.replace_substring(base64_text(data), "+", "-"), "/", "_")


def base64_text(data: pa.Array) -> pa.Array:
    if len(data) <= FEW:
        few = [None if item is None else base64.b64encode(item) for item in data.to_pylist()]
        return pa.array(few, pa.binary()).view(pa.string())
    parts = text_buffers(data)
    groups = (parts.lengths + np.int32(2)) // np.int32(3)  # of three bytes, the last one filled with zeros
    offsets = np.zeros(len(parts.offsets), np.int32)
    np.cumsum(groups * np.int32(4), out=offsets[1:])
    width, rows = int(parts.lengths.max(initial=0)), np.count_nonzero(groups > 0)
    if rows and rows * width == len(parts.data):  # all have one length, as hashes and UUIDs have
        short = -width % 3
        cells, whole = np.dtype(f"V{width}"), np.zeros((rows, width + short), np.uint8)
        np.ndarray(rows, cells, whole, 0, width + short)[:] = parts.data.view(cells)
        coded = _base64(whole).reshape(rows, -1)
        for place in range(1, short + 1):
            coded[:, -place] = _PADDING
        return from_bytes(offsets, coded.ravel(), like=data)
    missing = groups * np.int32(3) - parts.lengths
    coded = _base64(inserted(parts.data, np.repeat(parts.offsets[1:], missing), b"\0"))
    ends = offsets[1:]
    coded[ends[missing > 0] - 1] = _PADDING
    coded[ends[missing > 1] - 2] = _PADDING
    return from_bytes(offsets, coded, like=data)


def _base64(whole: Bytes) -> Bytes:
    coded: Bytes = np.frombuffer(binascii.b2a_base64(whole.data, newline=False), np.uint8).copy()
    return coded


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


_LETTERS = {0x07: "a", 0x08: "b", 0x09: "t", 0x0A: "n", 0x0B: "v", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}
_DELETE, _TWO_BYTES, _SURROGATES, _AFTER_THEM, _BMP_END, _LAST = 0x7F, 0x80, 0xD800, 0xE000, 0x10000, 0x10FFFF
# places in a table of texts: single bytes; nothing; characters of two and three bytes, among which are no surrogates;
# the bytes of characters of four: each as it is, or the beginning and pairs of digits of what stands for one
_NOTHING, _CHARACTERS = 256, 257 - _TWO_BYTES
_AS_IT_IS = _CHARACTERS + _BMP_END - (_AFTER_THEM - _SURROGATES)
_DIGITS, _BEGINNINGS = _AS_IT_IS + 256, _AS_IT_IS + 512
_FOLLOWS = np.int8(-0x40)  # as signed numbers, the bytes 10xxxxxx are less than this
_BEHIND = np.zeros(3, np.uint8)
_FIRST_OF_TWO, _FIRST_OF_THREE, _FIRST_OF_FOUR = np.uint8(0xC2), np.uint8(0xE0), 0xF0
_FIRSTS_OF_TWO, _FIRSTS_OF_MORE = np.uint8(0xE0 - 0xC2), np.uint8(0xF5 - 0xE0)
_PLACE_OF_TWO = np.uint16((_CHARACTERS - (0xC0 << 6) - 0x80) & 0xFFFF)
"""What makes of the bytes of a character of two, read as one number of 16 bits, its place in the table."""

_FEW_BYTES = 1_000
"""Up to this number, a few elements are quoted by themselves: the table of texts pays with many bytes."""

_PRINTABLE = 0x20
_MANY = 256  # characters, from which it pays to look at distinct ones only

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
"""Characters of Unicode 15.0 that 13.0 lacks."""
_NOT_PRINTED = "2FFC-2FFF 31EF 2EBF0-2EE5D"
"""Characters of 15.1 that 15.0 lacks."""


def go_quoted_json(data: pa.Array, writer: JsonWriter) -> pa.Array:
    """Return each element quoted by Go and escaped by ``writer``, without the quotes around it; nulls stay null."""
    parts = text_buffers(data)
    if len(data) <= FEW and len(parts.data) <= _FEW_BYTES:
        texts = _texts(writer)
        held = (None if each is None else each.decode(errors="surrogateescape") for each in data.to_pylist())
        return pa.array([each and each.translate(texts) for each in held], pa.string())
    has_characters = len(parts.data) and int(parts.data.max()) >= _TWO_BYTES
    places = _places(parts.offsets, parts.data) if has_characters else parts.data
    mapped = text_buffers(pc.call_function("array_take", [_table(writer), pa.array(places)], _IN_BOUNDS))
    return from_bytes(mapped.offsets[parts.offsets], mapped.data, like=data)


def _places(offsets: npt.NDArray[np.int32], data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint16]:
    follows = np.concatenate((data, _BEHIND)).view(np.int8) < _FOLLOWS
    follows[offsets] = False  # with these bytes elements begin, and a character is inside of one
    places = data.astype(np.uint16)
    # 110aaaaa 10bbbbbb
    two = np.flatnonzero((data - _FIRST_OF_TWO < _FIRSTS_OF_TWO) & follows[1:-2])
    places[two] = (places[two] << 6) + places[two + 1] + _PLACE_OF_TWO
    places[two + 1] = _NOTHING
    # 1110aaaa 10bbbbbb 10cccccc, 11110aaa 10bbbbbb 10cccccc 10dddddd
    more = np.flatnonzero((data - _FIRST_OF_THREE < _FIRSTS_OF_MORE) & follows[1:-2] & follows[2:-1])
    first, second, third = (data[more + byte].astype(np.int32) for byte in range(3))
    codes = (first & 0x0F) << 12 | (second & 0x3F) << 6 | third & 0x3F
    of_four, high = first >= _FIRST_OF_FOUR, codes & 0xF800
    valid = ~of_four & (high > 0) & (high != _SURROGATES)
    starts, held = more[valid], codes[valid]
    places[starts] = held + _CHARACTERS - (held >= _AFTER_THEM) * (_AFTER_THEM - _SURROGATES)
    places[starts + 1] = places[starts + 2] = _NOTHING
    if of_four.any():
        more, codes = more[of_four], codes[of_four]
        codes = (codes & 0x7FFF) << 6 | data.take(more + 3, mode="clip") & np.int32(0x3F)
        valid = follows[more + 3] & (codes >= _BMP_END) & (codes <= _LAST)
        _put_four(places, more[valid], codes[valid])
    return places


def _put_four(places: npt.NDArray[np.uint16], starts: npt.NDArray[np.int64], codes: npt.NDArray[np.int32]) -> None:
    numbers: Any = slice(None)
    if len(codes) > _MANY:
        codes, numbers = np.unique(codes, return_inverse=True)
    places_of_four = np.array([_places_of_four(code) for code in codes.tolist()], np.uint16).reshape(-1, 4)
    places[starts[:, None] + np.arange(4)] = places_of_four[numbers]


@lru_cache(maxsize=4096)
def _places_of_four(code: int) -> tuple[int, ...]:
    if _is_printed(code):
        return tuple(_AS_IT_IS + byte for byte in chr(code).encode())
    return _BEGINNINGS + (code >> 16), _DIGITS + (code >> 8 & 0xFF), _DIGITS + (code & 0xFF), _NOTHING


class _Texts(dict[int, str]):
    """What Go shows of each character, escaped by ``writer``. Surrogates are bytes of none (``surrogateescape``)."""

    def __init__(self, writer: JsonWriter) -> None:
        super().__init__()
        self._writer = writer

    def __missing__(self, code: int) -> str:
        if code < _TWO_BYTES or _SURROGATES <= code < _AFTER_THEM:
            text = escape_one(_of_byte(code & 0xFF), self._writer)
        else:
            text = _of_character(code)
        self[code] = shown = text.decode()
        return shown


_texts = lru_cache(maxsize=4)(_Texts)


@lru_cache(maxsize=4)
def _table(writer: JsonWriter) -> pa.Array:
    singles = [escape_one(_of_byte(byte), writer) for byte in range(256)]
    characters = map(_of_character, (*range(_TWO_BYTES, _SURROGATES), *range(_AFTER_THEM, _BMP_END)))
    as_they_are = (bytes([byte]) for byte in range(256))
    digits = (b"%02x" % byte for byte in range(256))
    beginnings = (b"\\\\U00%02x" % plane for plane in range(17))
    return pa.array([*singles, b"", *characters, *as_they_are, *digits, *beginnings], pa.binary())


def _of_byte(byte: int) -> str:
    if byte in _LETTERS:
        return "\\" + _LETTERS[byte]
    return chr(byte) if _PRINTABLE <= byte < _DELETE else f"\\x{byte:02x}"


def _of_character(code: int) -> bytes:
    if _is_printed(code):
        return chr(code).encode()
    return b"\\\\u%04x" % code if code < _BMP_END else b"\\\\U%08x" % code


def _is_printed(code: int) -> bool:
    known = _differing().get(code)
    return chr(code).isprintable() if known is None else known


@cache
def _differing() -> dict[int, bool]:
    printed: dict[int, bool] = {}
    for ranges, whether in ((_PRINTED, True), (_NOT_PRINTED, False)):
        for first, _, last in (part.partition("-") for part in ranges.split()):
            printed.update(dict.fromkeys(range(int(first, 16), int(last or first, 16) + 1), whether))
    return printed
