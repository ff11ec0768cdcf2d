"""Bounds on the size of messages, from what is known before they are made.

In: a row encoder and changes. Out: bytes, never fewer than any message can have. They serve twice: rows that might give
a message beyond ``max-message-bytes`` are encoded while nothing is sent yet, and batches are cut so that the messages
of one stay far below Arrow's 2 GiB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from ticdc_emit.columnar.buffers import longest
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.types import MySQLType

if TYPE_CHECKING:
    from ticdc_emit.encode.changes import Changes, RowEncoder

__all__ = ["MESSAGE_OVERHEAD", "OUTPUT_BYTES", "json_overhead", "largest_message", "rows_within"]

MESSAGE_OVERHEAD = 36
"""Bytes that TiCDC adds to key and value for the size check: sarama's record overhead (semantics 2.0.7)."""

OUTPUT_BYTES = 512 * 1024 * 1024
"""How much of the messages of one Arrow batch may be constants; what values add is bounded by the input."""

_VECTOR_TEXT, _VECTOR_BYTES = 64, 4
_FLOAT_TEXT = {MySQLType.FLOAT: 64, MySQLType.DOUBLE: 352}  # fixed notation, every digit that a value can need
_CELL = 512  # bytes that a value of fixed width and what stands around any value can add


def json_overhead(table: TableInfo, name_uses: int, label_uses: int = 1) -> int:
    """Return an encoder's ``overhead`` for JSON messages that print every column's name and labels so many times."""
    return sum(
        len(column.name.encode()) * 6 * name_uses
        + sum(len(label.encode()) for label in column.elems) * 6 * label_uses
        + _CELL
        for column in table.columns
    )


def largest_message(encoder: RowEncoder, changes: Changes) -> int:
    """Return a bound on the size of any message: every cell as long as its column's longest, every byte escaped."""
    images = [image for image in (changes.before, changes.after) if image is not None]
    values = sum(
        _longest_text(column, image.raw(column), encoder.growth)
        for image in images
        for column in changes.table.data_columns
    )
    return encoder.overhead + values


def _longest_text(column: Column, values: pa.Array, growth: int) -> int:
    if column.type is MySQLType.VECTOR_FLOAT32:
        return longest(values) * _VECTOR_TEXT // _VECTOR_BYTES
    size = longest(values)
    if column.is_binary and column.type is MySQLType.STRING:
        size = max(size, column.flen)  # padded
    return size * growth + _FLOAT_TEXT.get(column.type, 0)


def rows_within(overhead: int, rows: int, nbytes: int, limit: int) -> int:
    """Return how many of ``rows`` rows of ``nbytes`` bytes to take at once: by input up to ``limit``, and by output."""
    return max(1, min(rows * limit // max(nbytes, 1), OUTPUT_BYTES // max(overhead, 1)))
