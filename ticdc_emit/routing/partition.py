"""Which partition an event goes to: TiCDC's position-inertia hash.

Schema and table names in, an unsigned 32-bit hash out; ``partition = hash mod partitions``.  Source:
``pkg/hash/position_inertia.go`` and ``cdc/sink/dmlsink/mq/dispatcher/partition/table.go`` of pingcap/tiflow.  The
table's hash is also the seed of the hashes over column values, each of which XORs ``crc32(name + value)`` into it.
"""

from __future__ import annotations

from zlib import crc32

__all__ = ["partition_of", "table_hash"]


def table_hash(schema: str, table: str) -> int:
    """The hash of the ``table`` (and ``default``) dispatcher: CRC-32 (IEEE) of both names joined, as UTF-8."""
    return crc32((schema + table).encode())


def partition_of(hash_value: int, partitions: int) -> int:
    """The partition, ``0 <= partition < partitions``, of an unsigned 32-bit hash."""
    return hash_value % partitions
