"""The frames of keys and values, and how rows share a message.

::

    key:   version (1)  length  key  [length  key ...]
    value: length  value  [length  value ...]

Version and lengths are 64 bits, big-endian. A row's key has its length only: a message has the version once, whatever
rows are in it. Rule source: reference ``pingcap/tiflow: pkg/sink/codec/open/open_protocol_encoder.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.codec import Starts
from ticdc_emit.columnar.packed_fields import (
    LENGTH_BYTES,
    beyond,
    framed,
    joined,
)

__all__ = ["OpenPacking", "framed_key", "framed_value"]

_VERSION = (1).to_bytes(LENGTH_BYTES, "big")


@dataclass(frozen=True)
class OpenPacking:
    """See ``changes.codec.Packing``. ``max_rows``: ``max-batch-size``."""

    max_rows: int
    shared: int = len(_VERSION)

    def changed(self, values: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
        """Return values with what is in their frames changed; an empty one is that of a watermark."""
        if len(values) and pc.max(pc.binary_length(values)).as_py() == LENGTH_BYTES:
            return values
        return framed([change(beyond(values, LENGTH_BYTES))], len(values))

    def joined(self, keys: pa.Array, values: pa.Array, starts: Starts) -> tuple[pa.Array, pa.Array]:
        """Return the frames of each message's rows, after one version."""
        return joined(keys, starts, _VERSION), joined(values, starts)


def framed_key(key: bytes) -> bytes:
    """Return one key in its frame."""
    return _VERSION + framed_value(key)


def framed_value(value: bytes) -> bytes:
    """Return one value in its frame."""
    return len(value).to_bytes(LENGTH_BYTES, "big") + value
