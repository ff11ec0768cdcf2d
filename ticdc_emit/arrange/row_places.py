"""What names a row in an error: its handle key, and its place in what the caller gave.

In: a batch in change form (``arrange.reader``) and the numbers of its bad rows. Out: the error of the first of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.columnar.buffers import python_value
from ticdc_emit.errors import RowError
from ticdc_emit.schema.model import TableInfo

__all__ = ["POSITION", "first_of", "row_place"]

POSITION = "_position"
"""The column with each row's place."""


def row_place(batch: pa.RecordBatch, info: TableInfo, index: int) -> dict[str, object]:
    """Return what names a row in an error: the handle key of an image that has it, and the row's place."""
    key: dict[str, object] = {}
    for name in ("after", "before"):
        image = batch.column(name)[index] if name in batch.schema.names else None
        if key or image is None or not image.is_valid:
            continue
        if pa.types.is_struct(image.type):
            held = {field.name for field in image.type}
            columns = (column.name for column in info.whole_handle_key if column.name in held)
            key = {name: python_value(image[name]) for name in columns}
        elif pa.types.is_map(image.type):
            entries = image.values
            texts = {python_value(entry["key"]): entry["value"] for entry in entries}
            columns = (column.name for column in info.whole_handle_key if column.name in texts)
            key = {name: python_value(texts[name]) for name in columns}
    return {**key, "position": batch.column(POSITION)[index].as_py()}


def first_of(batch: pa.RecordBatch, rows: npt.NDArray[np.int64], error: Callable[[int], RowError]) -> RowError:
    """Return the error of the first of these rows, with all of them; ``error``: of a row of the batch."""
    places = batch.column(POSITION).take(pa.array(rows)).to_pylist()
    return RowError.first(places, lambda number: error(int(rows[number])))
