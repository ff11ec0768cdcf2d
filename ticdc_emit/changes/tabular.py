"""Whatever holds a table of changes, as one Arrow table.

In: an Arrow table or record batch, a pandas or polars DataFrame, or anything else with Arrow's C interface
(``__arrow_c_stream__``, ``__arrow_c_array__``). Out: a ``pyarrow.Table``. Dicts in a pandas column become structs.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ticdc_emit.errors import UnsupportedTypeError

__all__ = ["changes_table", "is_tabular"]

_INTERFACES = ("__arrow_c_stream__", "__arrow_c_array__")


def is_tabular(changes: Any) -> bool:
    """Return whether :func:`changes_table` reads the object. Spark's DataFrames may be tabular too: test them first."""
    return any(hasattr(changes, name) for name in _INTERFACES) or _is_pandas(changes)


def changes_table(changes: Any) -> pa.Table:
    """Return the object's rows as an Arrow table; the index of a pandas DataFrame is left out.

    Raises :class:`~ticdc_emit.errors.UnsupportedTypeError` for an object that holds no table, and for columns whose
    values are not of one type.
    """
    if isinstance(changes, pa.Table):
        return changes
    if isinstance(changes, pa.RecordBatch):
        return pa.Table.from_batches([changes])
    try:
        if _is_pandas(changes):
            return pa.Table.from_pandas(changes, preserve_index=False)
        if is_tabular(changes):
            return pa.table(changes)
        cause = "it is not a table"
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as fault:
        cause = str(fault)
    raise UnsupportedTypeError(
        f"{type(changes).__name__} cannot be read as an Arrow table: {cause}",
        remedy="Give an Arrow table, a pandas or polars DataFrame, or an object with __arrow_c_stream__. "
        "The values of one column need one type",
    )


def _is_pandas(changes: Any) -> bool:
    kind = type(changes)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"
