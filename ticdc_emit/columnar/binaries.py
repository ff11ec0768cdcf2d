"""Text forms of binary columns: the JSON-escaped ISO-8859-1 reading (Canal-JSON) and base64 (Simple, Debezium)."""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import FEW, from_bytes, text_buffers
from ticdc_emit.columnar.escape import JsonWriter, escape_text

__all__ = ["base64_text", "latin1_json"]

_IN_BOUNDS = pc.TakeOptions(boundscheck=False)


@lru_cache(maxsize=4)
def _latin1_table(writer: JsonWriter) -> pa.Array:
    """Return the escaped characters of the bytes 0..255."""
    return escape_text(pa.array([chr(code) for code in range(256)], pa.string()), writer)


def latin1_json(data: pa.Array, writer: JsonWriter) -> pa.Array:
    """Return each byte as the code point of the same number, in UTF-8 and escaped for a JSON string (semantics 2.6).

    All bytes of the column are gathered from a table of 256 texts. The gathered array's offsets at the old offsets are
    the new offsets.
    """
    parts = text_buffers(data)
    mapped = text_buffers(pc.call_function("array_take", [_latin1_table(writer), pa.array(parts.data)], _IN_BOUNDS))
    return from_bytes(mapped.offsets[parts.offsets], mapped.data, like=data)


def base64_text(data: pa.Array) -> pa.Array:
    """Return standard base64 with padding."""
    if len(data) <= FEW:
        coded = [None if item is None else base64.b64encode(item) for item in data.to_pylist()]
        return pa.array(coded, pa.binary()).view(pa.string())
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
