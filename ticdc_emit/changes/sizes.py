"""Bounds on the size of messages, from what is known before they are made.

In: a row encoder and changes. Out: bytes, never fewer than any message can have. They serve twice: rows that might give
a message beyond ``max-message-bytes`` are encoded while nothing is sent yet, and batches are cut so that the messages
of one stay far below Arrow's 2 GiB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.columnar.buffers import element_lengths, longest
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.types import MySQLType

if TYPE_CHECKING:
    from ticdc_emit.changes.images import Image
    from ticdc_emit.changes.model import Changes, RowEncoder

__all__ = [
    "MESSAGE_OVERHEAD",
    "OUTPUT_BYTES",
    "json_overhead",
    "largest_message",
    "largest_messages",
    "largest_reduced",
    "rows_within",
]

MESSAGE_OVERHEAD = 36
"""Bytes that TiCDC adds to key and value for the size check: sarama's record overhead (semantics 2.0.7)."""

OUTPUT_BYTES = 512 * 1024 * 1024
"""How much of the messages of one Arrow batch may be constants; what values add is bounded by the input."""

_VECTOR_TEXT, _VECTOR_BYTES = 64, 4
_FLOAT_TEXT = {MySQLType.FLOAT: 64, MySQLType.DOUBLE: 352}  # fixed notation, every digit that a value can need
_OBJECT_NAME = 128  # bytes of the name of a stored message, and of what says that there is one
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
    return encoder.overhead + sum(
        _text_bound(column, longest(image.raw(column)), encoder.growth)
        for image in _images(changes)
        for column in changes.table.data_columns
    )


def largest_messages(encoder: RowEncoder, changes: Changes) -> npt.NDArray[np.int64]:
    """Return a bound on the size of each message; no closer one where a column's values are neither text nor bytes."""
    bounds = np.full(len(changes), encoder.overhead, np.int64)
    for image in _images(changes):
        for column in changes.table.data_columns:
            values, (floor, slope, offset) = image.raw(column), _text_terms(column, encoder.growth)
            if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
                bounds += np.maximum(element_lengths(values).astype(np.int64), floor) * slope + offset
            else:
                bounds += max(longest(values), floor) * slope + offset
    return bounds


def largest_reduced(encoder: RowEncoder, changes: Changes, location: int) -> int:
    """Return a bound on the size of any message that shows the handle key alone, and where the whole one is stored.

    ``location``: the length of what is said of the objects' folder.
    """
    shown = encoder.overhead + (location + _OBJECT_NAME) * encoder.growth
    return shown + sum(
        _text_bound(column, longest(image.raw(column)), encoder.growth)
        for image in _images(changes)
        for column in changes.table.handle_key
    )


def _images(changes: Changes) -> list[Image]:
    return [image for image in (changes.before, changes.after) if image is not None]


def _text_bound(column: Column, size: int, growth: int) -> int:
    """Return a bound on the text of a value that takes ``size`` bytes as it comes."""
    floor, slope, offset = _text_terms(column, growth)
    return max(size, floor) * slope + offset


def _text_terms(column: Column, growth: int) -> tuple[int, int, int]:
    """Return (floor, slope, offset) of the bound: ``max(size, floor) * slope + offset``."""
    if column.type is MySQLType.VECTOR_FLOAT32:
        return 0, _VECTOR_TEXT // _VECTOR_BYTES, 0
    padded = column.flen if column.is_binary and column.type is MySQLType.STRING else 0
    return padded, growth, _FLOAT_TEXT.get(column.type, 0)


def rows_within(overhead: int, rows: int, nbytes: int, limit: int) -> int:
    """Return how many of ``rows`` rows of ``nbytes`` bytes to take at once: by input up to ``limit``, and by output."""
    return max(1, min(rows * limit // max(nbytes, 1), OUTPUT_BYTES // max(overhead, 1)))
