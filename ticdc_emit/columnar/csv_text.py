"""The texts of CSV fields, as TiCDC's CSV codec writes them.

In: a string or binary array, and the changefeed's quote or delimiter. Out: the array as it is between quotes, or
escaped where there are none. Most columns have nothing to change, as a search over their buffer shows. Source:
``pkg/sink/codec/csv/csv_message.go`` of pingcap/tiflow.
"""

from __future__ import annotations

import re
from functools import cache

import pyarrow as pa

from ticdc_emit.columnar.buffers import from_bytes, hits_before, text_buffers

_BINARY = pa.binary()
_LINE_BREAKS = {b"\r": b"\\r", b"\n": b"\\n", b"\\": b"\\\\"}


def quoted_content(texts: pa.Array, quote: bytes) -> pa.Array:
    """Return each text with every quote, a byte of ASCII, doubled; nothing else changes between quotes."""
    parts = text_buffers(texts)
    raw = parts.data.tobytes()
    if quote not in raw:
        return texts
    grown = parts.offsets + hits_before(parts.data == quote[0], parts.offsets)
    return from_bytes(grown, raw.replace(quote, quote * 2), like=texts, binary=True)


def escaped_content(texts: pa.Array, delimiter: bytes) -> pa.Array:
    """Return each text with a backslash before line breaks (as ``r`` and ``n``), backslashes and delimiters.

    As in TiCDC, each byte of a delimiter gets a backslash, and one that is not ASCII becomes the character of that
    number.
    """
    whole = texts.view(_BINARY) if texts.type == pa.string() else texts
    special = _special(delimiter)
    if not special.search(text_buffers(whole).data.tobytes()):
        return whole
    held = whole.to_pylist()
    return pa.array([None if text is None else escaped(text, delimiter) for text in held], _BINARY)


def escaped(text: bytes, delimiter: bytes) -> bytes:
    """Return one text as :func:`escaped_content` does."""
    written = written_delimiter(delimiter)
    return _special(delimiter).sub(lambda found: _LINE_BREAKS.get(found[0], written), text)


def written_delimiter(delimiter: bytes) -> bytes:
    """Return what stands in a text for a delimiter."""
    return b"".join(b"\\" + chr(byte).encode() for byte in delimiter)


@cache
def _special(delimiter: bytes) -> re.Pattern[bytes]:
    return re.compile(re.escape(delimiter) + rb"|[\r\n\\]")
