"""TSOs of rows in the forms that messages use.

In: ``uint64`` TSOs, those of one transaction next to each other. Out: decimal text of each, or of its physical time in
ms. Equal neighbours are printed once.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import FEW, to_text
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import ColumnFlag, MySQLType
from ticdc_emit.tso import LOGICAL_BITS

__all__ = ["COMMIT_TS", "commit_times", "tso_ms_text", "tso_text"]

COMMIT_TS = Column(0, "commit_ts", MySQLType.LONGLONG, 20, 0, flags=ColumnFlag.UNSIGNED | ColumnFlag.NOT_NULL)
"""TSOs as a column, so that ``columnar.pool`` can render them like a table's columns."""

_SHARED = 0.6  # from this share of rows that begin a transaction, each TSO is printed by itself


@cache
def _logical_bits() -> pa.Scalar:
    return pa.scalar(LOGICAL_BITS, pa.uint64())  # not at import: the first scalar of Arrow imports pandas


def commit_times(stamps: pa.Array) -> pa.Array:
    """Return the physical time of TSOs, in ms since the epoch."""
    if len(stamps) <= FEW:
        return pa.array([stamp >> LOGICAL_BITS for stamp in stamps.to_pylist()], pa.uint64())
    return pc.call_function("shift_right", [stamps, _logical_bits()])


def tso_text(column: Column, stamps: pa.Array) -> pa.Array:
    """Return the decimal text of TSOs."""
    distinct, places = _runs(stamps)
    text = to_text(distinct)
    return text if places is None else text.take(places)


def tso_ms_text(column: Column, stamps: pa.Array) -> pa.Array:
    """Return the physical time of TSOs as decimal text."""
    distinct, places = _runs(stamps)
    text = to_text(commit_times(distinct))
    return text if places is None else text.take(places)


def _runs(stamps: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Return the distinct TSOs of neighbours and each row's index into them; ``None`` if sharing does not pay."""
    numbers = stamps.to_numpy()
    if len(numbers) < 2:
        return stamps, None
    starts = np.append(True, numbers[1:] != numbers[:-1])
    if np.count_nonzero(starts) > _SHARED * len(starts):
        return stamps, None
    return pa.array(numbers[starts]), pa.array(np.cumsum(starts, dtype=np.int32) - 1)
