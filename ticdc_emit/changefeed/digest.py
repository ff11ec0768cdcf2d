"""A digest of the messages of a batch's rows. It shows whether a replay has other values.

In: the messages of each topic-partition, in their order, in pieces of any size. Out: 128 bits per
topic-partition, which add up to those of the batch. So neither the number of tasks nor how their rows are cut into
pieces changes the digest; another value, another order within a topic-partition or another topic-partition does. It is
the same in every process, on every machine and with every version of Spark.
"""

from __future__ import annotations

import hashlib
from typing import TypeAlias

from ticdc_emit.encode.window import Window
from ticdc_emit.routing.topic import Target

__all__ = ["Digest", "RowsDigest", "sum_of_digests"]

Digest: TypeAlias = bytes

_BYTES = 16


class RowsDigest:
    """The digest of one topic-partition's row messages.

    Every column is hashed by itself, keys and values apart from their lengths: all bytes of many rows at once.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._columns = [hashlib.sha256() for _ in range(5)]

    def add(self, messages: Window) -> None:
        """Add the next messages."""
        stamps, *columns = self._columns
        stamps.update(messages.stamps.astype("<u8").tobytes())
        for cells, lengths, content in zip((messages.keys, messages.values), columns[::2], columns[1::2], strict=True):
            lengths.update(cells.lengths.astype("<i4").tobytes())  # -1 for NULL, so that it is not the empty text
            content.update(b"".join(filter(None, cells.objects)))

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
