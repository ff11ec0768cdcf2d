"""What both encodings of Simple rows have in common."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.schema.model import Column

__all__ = ["ENVELOPE_BYTES", "constant_of", "named_columns"]

ENVELOPE_BYTES = 512
"""Bounds what a row message has beside the table's names and the images: numbers, a checksum."""


def named_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return columns in bytewise order of their names: that of ``data`` and ``old``."""
    return tuple(sorted(columns, key=lambda column: column.name.encode()))


def constant_of(numbers: pa.Array) -> int | None:
    """Return the one number that an integer array without nulls holds, ``None`` if it holds several."""
    bounds = pc.min_max(numbers)
    least: int | None = bounds["min"].as_py()
    return least if least == bounds["max"].as_py() else None
