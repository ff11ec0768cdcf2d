"""A digest of the messages of a batch's rows. It shows whether a replay has other values.

In: the messages of each topic-partition (``MESSAGE_SCHEMA``), in their order, in pieces of any size. Out: 128 bits per
topic-partition, which add up to those of the batch. So neither the number of tasks nor how their rows are cut into
pieces changes the digest; another value, another order within a topic-partition or another topic-partition does. It is
the same in every process, on every machine and with every version of Spark.
"""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.routing.topic import Target

__all__ = ["Digest", "RowsDigest", "sum_of_digests"]

Digest: TypeAlias = bytes

_BYTES = 16


class RowsDigest:
    """The digest of one topic-partition's row messages.

    Every column is hashed by itself, keys and values apart from their lengths: whole Arrow buffers, whatever the rows.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._columns = [hashlib.sha256() for _ in range(5)]

    def add(self, messages: pa.RecordBatch) -> None:
        """Add the next messages."""
        stamps, key_lengths, keys, value_lengths, values = self._columns
        stamps.update(messages.column("commit_ts").to_numpy().astype("<i8").tobytes())
        for name, lengths, content in (("key", key_lengths, keys), ("value", value_lengths, values)):
            cells = messages.column(name)
            sizes = pc.fill_null(pc.binary_length(cells), -1)  # so that NULL is not the empty text
            lengths.update(sizes.to_numpy().astype("<i4").tobytes())
            content.update(_bytes_of(cells))

    def value(self) -> Digest:
        """Return the digest of all that was added."""
        whole = hashlib.sha256(repr(self._target).encode())
        for column in self._columns:
            whole.update(column.digest())
        return whole.digest()[:_BYTES]


def sum_of_digests(*digests: Digest) -> Digest:
    """Return the digest of several topic-partitions; ``b""`` is that of no rows."""
    if not any(digests):
        return b""
    total = sum(int.from_bytes(each, "big") for each in digests)
    return (total % (1 << (8 * _BYTES))).to_bytes(_BYTES, "big")


def _bytes_of(cells: pa.Array) -> memoryview:
    """Return the bytes of all cells, one after the other."""
    if cells.null_count:
        cells = pc.fill_null(cells, b"")  # what is under a NULL is not defined
    _, offsets, content = cells.buffers()
    if not len(cells) or content is None:
        return memoryview(b"")
    bounds = np.frombuffer(offsets, np.int32, len(cells) + 1, 4 * cells.offset)
    return memoryview(content)[int(bounds[0]) : int(bounds[-1])]
