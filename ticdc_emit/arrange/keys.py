"""The keys of changes: the columns that identify and order them, in forms that Arrow compares by value.

In: batches in change form. Out: one array per key column, of the image that counts: after, or before of a delete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.arrange.transactions import (
    DELETED,
    kind_ranks,
)
from ticdc_emit.changes.images import image_column
from ticdc_emit.columnar.buffers import is_binary_like
from ticdc_emit.columnar.decimals import accept_decimal
from ticdc_emit.columnar.faults import ValueFault, bad_places
from ticdc_emit.columnar.floats import accept_float, fixed_text
from ticdc_emit.columnar.integers import parse_integers, whole_numbers
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.types import FLOAT_TYPES, INTEGER_TYPES, MySQLType

__all__ = ["key_columns", "sortable"]


def key_columns(batch: pa.RecordBatch, columns: Iterable[Column]) -> dict[str, pa.Array]:
    """Return these columns of each change: from the after image, or the before image of a delete.

    A column that no image of the batch has is left out.
    """
    images = [batch.column(name) for name in ("after", "before") if name in batch.schema.names]
    after = None
    if len(images) == 2:
        after = pc.and_(images[0].is_valid(), pa.array(kind_ranks(batch) != DELETED))
    keys = {}
    for column in columns:
        of_images = [values for image in images if (values := image_column(image, column.name)) is not None]
        if len({values.type for values in of_images}) > 1:
            of_images = [_text_of_floats(column, values) for values in of_images]
            are_bytes = any(is_binary_like(values.type) for values in of_images)  # which need not be text
            of_images = [values if is_binary_like(values.type) else values.cast(pa.string()) for values in of_images]
            of_images = [values.cast(pa.binary()) for values in of_images] if are_bytes else of_images
        if of_images:
            keys[column.name] = pc.if_else(after, *of_images) if len(of_images) > 1 else of_images[0]
    return keys


def _text_of_floats(column: Column, values: pa.Array) -> pa.Array:
    """Return floats as the texts that a column of other numbers reads; anything else as it is."""
    is_other = column.type not in FLOAT_TYPES and values.type in (pa.float32(), pa.float64())
    return fixed_text(values) if is_other else values


def sortable(column: Column, key: pa.Array) -> pa.Array:
    """Return a key in a form that Arrow sorts by value; numbers given as text too.

    What is no number is NULL here, and refused when values are read: how the others sort does not depend on it.
    """
    key = key.dictionary_decode() if pa.types.is_dictionary(key.type) else key
    read = _reader(column, key.type)
    try:
        while read is not None:
            try:
                return read(key)
            except ValueFault as fault:
                bad = np.zeros(len(key), np.bool_)
                bad[bad_places(key, fault, read)] = True
                key = pc.if_else(pa.array(bad), pa.scalar(None, key.type), key)
    except TypeError:
        return key  # refused likewise
    return key.cast(pa.string()) if pa.types.is_nested(key.type) else key


def _reader(column: Column, kind: pa.DataType) -> Callable[[pa.Array], pa.Array] | None:
    if column.type in INTEGER_TYPES and not pa.types.is_integer(kind):
        return lambda key: parse_integers(whole_numbers(key), unsigned=column.unsigned)
    is_float = pa.types.is_floating(kind)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_float:
        if column.type == MySQLType.NEWDECIMAL:
            return partial(accept_decimal, column)
        if column.type in FLOAT_TYPES and not is_float:
            return partial(accept_float, column)
    return None
