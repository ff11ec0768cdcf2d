"""Bounds on the size of messages, from what is known before they are made.

In: a table, and how often messages name its columns and labels. Out: bytes, by which batches are cut so that the
messages of one stay far below Arrow's 2 GiB.
"""

from __future__ import annotations

from ticdc_emit.schema.model import TableInfo

__all__ = [
    "MESSAGE_OVERHEAD",
    "OUTPUT_BYTES",
    "json_overhead",
    "rows_within",
]

MESSAGE_OVERHEAD = 36
"""Bytes that TiCDC adds to key and value for the size check: sarama's record overhead (semantics 2.0.7)."""

OUTPUT_BYTES = 512 * 1024 * 1024
"""How much of the messages of one Arrow batch may be constants; what values add is bounded by the input."""

_CELL = 512  # bytes that a value of fixed width and what stands around any value can add


def json_overhead(table: TableInfo, name_uses: int, label_uses: int = 1) -> int:
    """Return an encoder's ``overhead`` for JSON messages that print every column's name and labels so many times."""
    return sum(
        len(column.name.encode()) * 6 * name_uses
        + sum(len(label.encode()) for label in column.elems) * 6 * label_uses
        + _CELL
        for column in table.columns
    )


def rows_within(overhead: int, rows: int, nbytes: int, limit: int) -> int:
    """Return how many of ``rows`` rows of ``nbytes`` bytes to take at once: by input up to ``limit``, and by output."""
    return max(1, min(rows * limit // max(nbytes, 1), OUTPUT_BYTES // max(overhead, 1)))
