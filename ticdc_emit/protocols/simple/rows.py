"""Shared by both encodings of Simple rows."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.schema.model import Column

__all__ = ["ENVELOPE_BYTES", "constant_of", "named_columns"]

ENVELOPE_BYTES = 512
"""The maximum bytes of a row message besides the table's names and the images: numbers, a checksum."""


def named_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return columns in bytewise order of their names: that of ``data`` and ``old``."""
    return tuple(sorted(columns, key=lambda column: column.name.encode()))


def constant_of(numbers: pa.Array) -> int | None:
    """Return the only distinct number in an integer array without nulls; ``None`` if there are several."""
    bounds = pc.min_max(numbers)
    least: int | None = bounds["min"].as_py()
    return least if least == bounds["max"].as_py() else None
