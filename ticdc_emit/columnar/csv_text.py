"""The fields of CSV lines: in quotes, or escaped without a quote, null where the value is null.

Each has its delimiter, because constants between them would cost the join as much as more columns. Source:
``pkg/sink/codec/csv/csv_message.go`` of pingcap/tiflow.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pyarrow as pa

from ticdc_emit.columnar.assemble import enclosed
from ticdc_emit.columnar.buffers import FEW, from_bytes, hits_before, inserted, text_buffers
from ticdc_emit.columnar.floats import general_text
from ticdc_emit.columnar.integers import integer_text

_BINARY = pa.binary()
_LINE_BREAKS = {b"\r": b"\\r", b"\n": b"\\n", b"\\": b"\\\\"}


def number_fields(values: pa.Array, delimiter: bytes) -> pa.Array:
    """Return accepted numbers as fields, each with the delimiter before it."""
    return (general_text if pa.types.is_floating(values.type) else integer_text)(values, delimiter)


def text_fields(texts: pa.Array, delimiter: bytes, quote: bytes) -> pa.Array:
    """Return texts as fields, each with the delimiter before it: in quotes, or escaped without a ``quote``."""
    whole = texts.view(_BINARY) if texts.type == pa.string() else texts
    if len(texts) <= FEW:
        few = whole.to_pylist()
        return pa.array([None if each is None else delimiter + field(each, delimiter, quote) for each in few], _BINARY)
    if not quote:
        return enclosed(escaped_content(whole, delimiter), (delimiter, b""))
    return enclosed(quoted_content(whole, quote), (delimiter + quote, quote))


def field(text: bytes, delimiter: bytes, quote: bytes) -> bytes:
    """Return one text as a field without a delimiter."""
    return quote + text.replace(quote, quote * 2) + quote if quote else escaped(text, delimiter)


def quoted_content(texts: pa.Array, quote: bytes) -> pa.Array:
    """Return each text with every quote, a byte of ASCII, doubled; nothing else changes between quotes."""
    parts = text_buffers(texts)
    if quote not in parts.data.tobytes():
        return texts
    hits = parts.data == quote[0]
    grown = parts.offsets + hits_before(hits, parts.offsets)
    return from_bytes(grown, inserted(parts.data, np.flatnonzero(hits), quote), like=texts, binary=True)


def escaped_content(texts: pa.Array, delimiter: bytes) -> pa.Array:
    """Return each text with a backslash before line breaks (as ``r`` and ``n``), backslashes and each byte of a
    delimiter; one that is not ASCII becomes the character of that number.
    """
    special = _special(delimiter)
    if not special.search(text_buffers(texts).data.tobytes()):
        return texts
    held = texts.to_pylist()
    return pa.array([None if text is None else escaped(text, delimiter) for text in held], _BINARY)


def escaped(text: bytes, delimiter: bytes) -> bytes:
    written = written_delimiter(delimiter)
    return _special(delimiter).sub(lambda found: _LINE_BREAKS.get(found[0], written), text)


def written_delimiter(delimiter: bytes) -> bytes:
    """Return what stands in a text for a delimiter."""
    return b"".join(b"\\" + chr(byte).encode() for byte in delimiter)


@cache
def _special(delimiter: bytes) -> re.Pattern[bytes]:
    return re.compile(re.escape(delimiter) + rb"|[\r\n\\]")
