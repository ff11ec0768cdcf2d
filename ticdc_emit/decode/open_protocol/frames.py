"""Parse the frames of keys and values.

In: a record. Out: the content of its frames, and records of one row each. A key begins with a version; each key and
value has its length before it, 64 bits, big-endian.
"""

from __future__ import annotations

from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.event_reader import Part

__all__ = ["contents", "records_of"]

_LENGTH = 8
_VERSION = (1).to_bytes(_LENGTH, "big")


def contents(key: bytes | None, value: bytes | None) -> list[tuple[bytes, bytes]]:
    """Return keys and values without their frames. Raises :class:`DecodeError` for a record without frames."""
    if key is None or not key.startswith(_VERSION):
        raise DecodeError("a key of Open Protocol begins with version 1", part="key")
    keys, values = _unframed(key, len(_VERSION), "key"), _unframed(value or b"", 0, "value")
    if len(keys) != len(values) or not keys:
        raise DecodeError(f"the record has {len(keys)} keys and {len(values)} values", part="value")
    return list(zip(keys, values, strict=True))


def records_of(key: bytes | None, value: bytes | None) -> list[Part]:
    """Return one record per row of a record; raises the errors of :func:`contents`."""
    parts = contents(key, value)
    if len(parts) == 1:
        return [(key, value)]
    return [(_VERSION + _framed(own), _framed(content)) for own, content in parts]


def _framed(content: bytes) -> bytes:
    return len(content).to_bytes(_LENGTH, "big") + content


def _unframed(data: bytes, start: int, part: str) -> list[bytes]:
    parts = []
    while start < len(data):
        begin = start + _LENGTH
        end = begin + int.from_bytes(data[start:begin], "big")
        if begin > len(data) or end > len(data):
            raise DecodeError(f"a frame of the {part} is longer than the {part}", part=part)
        parts.append(data[begin:end])
        start = end
    return parts
