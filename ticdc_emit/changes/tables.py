"""Rows of many tables, by table: the places of each table's rows.

In: two columns that name each row's schema and table. Out: one entry per pair of names, with the rows in their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.columnar.sorting import order_of_codes

__all__ = ["TABLE_NAMES", "rows_by_table"]

TABLE_NAMES = ("_schema", "_table")
"""The columns that name each row's table, where rows of many tables come in change form."""


def rows_by_table(schemas: pa.Array, tables: pa.Array) -> list[tuple[tuple[Any, Any], npt.NDArray[np.int64]]]:
    """Return each (schema, table) with the places of its rows; a NULL name is a name of its own."""
    one, two = schemas.dictionary_encode("encode"), tables.dictionary_encode("encode")
    codes = np.asarray(one.indices).astype(np.int64) * len(two.dictionary) + np.asarray(two.indices)
    order = order_of_codes(codes)
    groups = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else []
    return [((schemas[int(rows[0])].as_py(), tables[int(rows[0])].as_py()), rows) for rows in groups]
