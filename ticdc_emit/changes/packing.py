"""Messages of several rows: what a protocol that has them says of it.

In: rows, as an encoder makes them. Out: messages of one row or of several. Which rows come together does not depend on
the protocol: ``encode.packing`` decides it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.row_encoder import Encoded

__all__ = ["Packing", "Starts", "alone"]

Starts = npt.NDArray[np.int64]
"""The places of the rows that begin messages, rising, the first one 0."""


class Packing(Protocol):
    """Picklable, free of state. ``max_rows``: of one message. ``shared``: the bytes that a message has, in key and
    value together, beside those of its rows.
    """

    max_rows: int
    shared: int

    def changed(self, values: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
        """Return the values of rows (``binary``), what each says of its row changed; nothing said stays so.

        What stands around that, such as its length, follows.
        """
        ...

    def joined(self, keys: pa.Array, values: pa.Array, starts: Starts) -> tuple[pa.Array, pa.Array]:
        """Return the keys and values of messages, each of the rows from one of ``starts`` to the next."""
        ...


def alone(rows: Encoded, packing: Packing | None) -> Encoded:
    """Return each row as a message of its own; without a ``packing`` it is one as it is."""
    if packing is None:
        return rows
    keys, values = packing.joined(rows.filled_keys(), rows.values, np.arange(len(rows)))
    return Encoded(values, keys, rows.claims)
