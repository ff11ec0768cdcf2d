"""Text forms of binary columns: the JSON-escaped ISO-8859-1 reading (Canal-JSON) and base64 (Simple, Debezium)."""

from __future__ import annotations

import binascii

import numpy as np
import pyarrow as pa

from ticdc_emit.columnar.buffers import from_bytes, hits_before, text_buffers
from ticdc_emit.columnar.escape import JsonWriter, escape_text

__all__ = ["base64_text", "latin1_json"]


def latin1_json(data: pa.Array, writer: JsonWriter) -> pa.Array:
    """Return each byte as the code point of the same number, in UTF-8 and escaped for a JSON string (semantics 2.6)."""
    parts = text_buffers(data)
    text = parts.data.tobytes().decode("latin-1").encode()
    offsets = parts.offsets + hits_before(parts.data >= 0x80, parts.offsets)
    return escape_text(from_bytes(offsets, text, like=data), writer)


def base64_text(data: pa.Array) -> pa.Array:
    """Return standard base64 with padding."""
    parts = text_buffers(data)
    lengths = parts.lengths
    groups = -(-lengths // 3)
    padded = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(groups * 3, out=padded[1:])
    spread = np.zeros(int(padded[-1]), np.uint8)
    spread[np.arange(len(parts.data)) + np.repeat(padded[:-1] - parts.offsets[:-1], lengths)] = parts.data
    coded = np.frombuffer(binascii.b2a_base64(spread.tobytes(), newline=False), np.uint8).copy()
    offsets = padded // 3 * 4
    missing = groups * 3 - lengths
    coded[offsets[1:][missing > 0] - 1] = 0x3D
    coded[offsets[1:][missing > 1] - 2] = 0x3D
    return from_bytes(offsets, coded, like=data)
