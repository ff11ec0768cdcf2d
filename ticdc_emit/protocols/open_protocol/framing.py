"""The frames of keys and values, and how rows share a message.

::

    key:   version (1)  length  key  [length  key ...]
    value: length  value  [length  value ...]

Version and lengths are 64 bits, big-endian. Rule source: reference ``pingcap/tiflow:
pkg/sink/codec/open/open_protocol_encoder.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.packing import Starts
from ticdc_emit.columnar.assemble import NULL, Fragment
from ticdc_emit.columnar.frames import LENGTH_BYTES, ROOM, beyond, framed, joined

__all__ = ["KEY_START", "VALUE_START", "OpenPacking", "framed_key", "framed_value", "keys_of", "values_of"]

_VERSION = (1).to_bytes(LENGTH_BYTES, "big")
KEY_START, VALUE_START = _VERSION + ROOM, ROOM


@dataclass(frozen=True)
class OpenPacking:
    """See ``changes.packing.Packing``; rows of one message have the version once. ``max_rows``: ``max-batch-size``."""

    max_rows: int
    shared: int = len(_VERSION)

    def changed(self, values: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
        """Return values with what is in their frames changed; an empty one is that of a watermark."""
        if len(values) and pc.max(pc.binary_length(values)).as_py() == LENGTH_BYTES:
            return values
        return values_of([VALUE_START, change(beyond(values, LENGTH_BYTES))], len(values))

    def joined(self, keys: pa.Array, values: pa.Array, starts: Starts) -> tuple[pa.Array, pa.Array]:
        """Return the frames of several rows after one version."""
        return joined(keys, starts, _VERSION), joined(values, starts)


def keys_of(fragments: Sequence[Fragment], count: int) -> pa.Array:
    """Return the keys of messages of one row; the fragments begin with ``KEY_START``."""
    return framed(fragments, count, _VERSION)


def values_of(fragments: Sequence[Fragment], count: int) -> pa.Array:
    """Return the values of messages of one row; the fragments begin with ``VALUE_START``. Nulls are JSON's."""
    return framed(fragments, count, null=NULL)


def framed_key(key: bytes) -> bytes:
    """Return one key in its frame."""
    return _VERSION + framed_value(key)


def framed_value(value: bytes) -> bytes:
    """Return one value in its frame."""
    return len(value).to_bytes(LENGTH_BYTES, "big") + value
