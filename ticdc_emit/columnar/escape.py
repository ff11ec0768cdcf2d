"""JSON string escaping of whole columns, as TiCDC's four Go writers do it (semantics 2.0.1).

Most columns have nothing to escape, as a few searches over the buffer show. Otherwise the whole buffer is escaped at
once, and the offsets are shifted by what was added before them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain, zip_longest

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from ticdc_emit.columnar.buffers import from_bytes, hits_before, text_buffers
from ticdc_emit.schema.defaults import NOT_UTF8

_PLAIN = re.compile(rb"[\w .:/-]*")  # nothing to escape: no need to look at each writer's characters
_LINE_SEPARATORS = (b"\xe2\x80\xa8", b"\xe2\x80\xa9")


@dataclass(frozen=True)
class JsonWriter:
    """What a Go JSON writer escapes besides the quote, the backslash and the control characters."""

    name: str
    html: bool  # < > & as \u003c \u003e \u0026, and U+2028/9
    short_bf: bool  # \b \f instead of \u0008 \u000c
    invalid: bytes | None = None  # the replacement of each byte that is not UTF-8; None: the byte itself

    def replacement(self, char: int) -> bytes:
        """Return the escape of one ASCII character."""
        short = _SHORT | (_SHORT_BF if self.short_bf else {})
        return short.get(char) or b"\\u%04x" % char


_SHORT = {0x22: b'\\"', 0x5C: b"\\\\", 0x0A: b"\\n", 0x0D: b"\\r", 0x09: b"\\t"}
_SHORT_BF = {0x08: b"\\b", 0x0C: b"\\f"}

_REPLACED = rb"\ufffd"

EASYJSON = JsonWriter("easyjson", True, False, _REPLACED)  # Canal-JSON DML; goccy/go-json (DDL) writes the same
GO_STD = JsonWriter("encoding/json", True, True, _REPLACED)  # Simple JSON, registry bodies
JSONITER = JsonWriter("json-iterator", html=False, short_bf=False)  # Debezium

_HTML = b"<>&"
_FIRST_PRINTABLE = 0x20
_NOT_CONTROL = bytes(range(_FIRST_PRINTABLE, 256))


def quoted(text: str | bytes, writer: JsonWriter) -> bytes:
    """Return one text as a JSON string with quotes."""
    return b'"%s"' % escape_one(text, writer)


def escape_one(text: str | bytes, writer: JsonWriter) -> bytes:
    """:func:`escape_bytes` for one text."""
    raw = text.encode() if isinstance(text, str) else text
    if _PLAIN.fullmatch(raw):
        return raw
    pieces = NOT_UTF8.split(raw.decode(errors="surrogateescape"))  # text and single bytes, in turn
    valid = [_escape_valid(piece.encode(), writer) for piece in pieces[::2]]
    invalid = [writer.invalid or piece.encode(errors="surrogateescape") for piece in pieces[1::2]]
    return b"".join(chain.from_iterable(zip_longest(valid, invalid, fillvalue=b"")))


def _escape_valid(raw: bytes, writer: JsonWriter) -> bytes:
    specials = _specials(raw, np.frombuffer(raw, np.uint8), writer)
    return _escape_buffer(raw, specials, writer) if specials else raw


def first_invalid_utf8(offsets: npt.NDArray[np.int32], data: npt.NDArray[np.uint8]) -> int | None:
    """Return the first element that is not UTF-8 on its own, which a buffer that is valid as a whole may have."""
    raw = data.tobytes()
    if raw.isascii():
        return None
    end = len(data)
    try:
        raw.decode()
    except UnicodeDecodeError as fault:
        end = fault.start
    starts = offsets[:-1][offsets[:-1] < end]
    split = np.flatnonzero(data[starts] & 0xC0 == 0x80)
    if len(split):
        return int(split[0]) - 1
    return None if end == len(data) else int(np.searchsorted(offsets, end, side="right")) - 1


def escape_text(array: pa.Array, writer: JsonWriter) -> pa.Array:
    """Return the elements of a plain array escaped, which are known to be valid UTF-8."""
    parts = text_buffers(array)
    raw = parts.data.tobytes()
    specials = _specials(raw, parts.data, writer)
    if not specials:
        return array
    escaped = _escape_buffer(raw, specials, writer)
    if len(array) == 1:
        return from_bytes(np.array([0, len(escaped)], np.int32), escaped, like=array)
    offsets = _shifted(parts.offsets, parts.data, specials, writer)
    return from_bytes(offsets, escaped, like=array)


def escape_bytes(array: pa.Array, writer: JsonWriter) -> pa.Array:
    """:func:`escape_text` for bytes that may not be UTF-8; the writer replaces them in its own way."""
    parts = text_buffers(array)
    if first_invalid_utf8(parts.offsets, parts.data) is None:
        return escape_text(array, writer)
    elements = (escape_one(element or b"", writer) for element in array.view(pa.binary()).to_pylist())
    escaped = pa.array(elements, pa.binary())
    parts = text_buffers(escaped)
    return from_bytes(parts.offsets, parts.data, like=array)


def _specials(raw: bytes, data: npt.NDArray[np.uint8], writer: JsonWriter) -> set[int]:
    # most columns have none, as one search per character (memchr) shows sooner than any pass over each byte
    specials = {char for char in b'"\\' + (_HTML if writer.html else b"") if bytes([char]) in raw}
    if len(data) and int(data.min()) < _FIRST_PRINTABLE:
        rest = raw.translate(None, delete=_NOT_CONTROL)
        while rest:  # one pass per character in C is faster than one over every byte in Python
            specials.add(rest[0])
            rest = rest.translate(None, delete=rest[:1])
    if writer.html and not raw.isascii() and any(separator in raw for separator in _LINE_SEPARATORS):
        specials.add(0xE2)  # U+2028 or U+2029
    return specials


def _escape_buffer(raw: bytes, specials: set[int], writer: JsonWriter) -> bytes:
    if specials.isdisjoint(_SHORT_BF):
        raw = orjson.dumps(raw.decode())[1:-1]
    else:  # orjson prints \b and \f short: escape one character after the other, the backslash first
        for char in sorted(specials - set(_HTML) - {0xE2}, key=lambda char: char != 0x5C):
            raw = raw.replace(bytes([char]), writer.replacement(char))
    for char in specials & set(_HTML):
        raw = raw.replace(bytes([char]), writer.replacement(char))
    if 0xE2 in specials:
        raw = raw.replace(_LINE_SEPARATORS[0], b"\\u2028").replace(_LINE_SEPARATORS[1], b"\\u2029")
    return raw


def _shifted(
    offsets: npt.NDArray[np.int32], data: npt.NDArray[np.uint8], specials: set[int], writer: JsonWriter
) -> npt.NDArray[np.int32]:
    grown: npt.NDArray[np.int32] = offsets.copy()
    by_growth: dict[int, list[int]] = {}
    for char in specials - {0xE2}:
        by_growth.setdefault(len(writer.replacement(char)) - 1, []).append(char)
    for growth, chars in by_growth.items():
        hit = data == chars[0]
        for char in chars[1:]:
            hit |= data == char
        grown += hits_before(hit, offsets) * np.int32(growth)
    if 0xE2 in specials:
        at = np.flatnonzero(data[:-2] == 0xE2)
        at = at[(data[at + 1] == 0x80) & (data[at + 2] & 0xFE == 0xA8)]
        grown += np.searchsorted(at, offsets).astype(np.int32) * np.int32(3)
    return grown
