"""Which partition an event goes to: TiCDC's position-inertia hash.

In: schema and table name, and the columns of a batch that a rule hashes.  Out: an unsigned 32-bit hash, ``partition =
hash mod partitions``.  The hash is the CRC-32 of schema and table joined, XOR the CRC-32 of each hashed column's name
and value text joined.

Source: ``pkg/hash/position_inertia.go``, ``cdc/sink/dmlsink/mq/dispatcher/partition/`` and ``ColumnValueString`` of
``cdc/model/sink.go`` in pingcap/tiflow; semantics 4.6.
"""

from __future__ import annotations

from itertools import repeat
from typing import Protocol
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.columnar.buffers import null_mask
from ticdc_emit.columnar.values import plain_text
from ticdc_emit.routing.rules import Hashed, PartitionRule
from ticdc_emit.schema.model import Column

__all__ = ["RowValues", "partition_of", "partitions_of", "table_hash"]

Hashes = npt.NDArray[np.uint32]


class RowValues(Protocol):
    """The rows of a batch, column by column."""

    def values(self, column: Column) -> pa.Array:
        """Return the accepted values of a column (``columnar.values``)."""


def table_hash(schema: str, table: str) -> int:
    """Return the hash of the ``table`` (and ``default``) dispatcher: CRC-32 (IEEE) of both names joined, as UTF-8."""
    return crc32((schema + table).encode())


def partition_of(hash_value: int, partitions: int) -> int:
    """Return the partition, ``0 <= partition < partitions``, of an unsigned 32-bit hash."""
    return hash_value % partitions


def partitions_of(
    rule: PartitionRule,
    hashed: Hashed,
    seed: int | Hashes,
    image: RowValues,
    commit_ts: pa.Array,
    count: int,
    null_text: bytes | None,
) -> int | pa.Array:
    """Return the partition of each row of a table (``int32``), or one number if it is the same for all rows.

    ``hashed`` is the rule's for this table version, ``seed`` the :func:`table_hash` of all rows or of each, ``image``
    the rows after the change (before it for deletes), ``commit_ts`` their TSOs (``uint64``), ``count`` the number of
    partitions.  ``null_text`` is hashed for NULL; with ``None`` the column's name is not hashed either. Raises the
    errors of reading a value.
    """
    if count == 1:
        return 0
    if rule.kind == "ts":
        return pa.array((commit_ts.to_numpy() % np.uint64(count)).astype(np.int32))
    if not hashed and isinstance(seed, int):
        return partition_of(seed, count)
    hashes: Hashes = np.full(len(commit_ts), seed, np.uint32)
    for name, column in hashed:
        hashes ^= _column_hashes(name, column, image.values(column), null_text)
    return pa.array((hashes % np.uint32(count)).astype(np.int32))


def _column_hashes(name: bytes, column: Column, values: pa.Array, null_text: bytes | None) -> Hashes:
    """Return the contribution of one column to the hash of each row."""
    nulls = null_mask(values)
    places: npt.NDArray[np.int64] | None = None
    if pa.types.is_dictionary(values.type):
        places = values.indices.fill_null(0).to_numpy().astype(np.int64)
        values = values.dictionary
    texts = plain_text(column, values).cast(pa.binary())
    start = crc32(name)
    # fill_null: the value under a null has no text
    hashes = np.fromiter(
        map(crc32, texts.fill_null(b"").to_numpy(zero_copy_only=False).tolist(), repeat(start)), np.uint32, len(texts)
    )
    if places is not None:
        hashes = hashes[places] if len(hashes) else np.zeros(len(places), np.uint32)
    if nulls is not None:
        hashes[nulls] = 0 if null_text is None else crc32(null_text, start)
    return hashes
