"""Messages of several rows: what a protocol that has them says of it.

In: messages of one row each, as an encoder makes them and compression leaves them. Out: the same ones framed, so that
each stands for itself, and joined, so that one message holds several. Which rows come together is no matter of the
protocol: ``encode.packing`` decides it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Packing", "Starts"]

Starts = npt.NDArray[np.int64]
"""The places of the rows that begin messages, rising, the first one 0."""


class Packing(Protocol):
    """Picklable, free of state. ``max_rows``: of one message. ``shared``: the bytes of a framed row, of key and value
    together, that rows of one message have once.
    """

    max_rows: int
    shared: int

    def framed(self, keys: pa.Array, values: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return keys and values (``binary``) as messages of one row each."""
        ...

    def joined(self, keys: pa.Array, values: pa.Array, starts: Starts) -> tuple[pa.Array, pa.Array]:
        """Return framed rows as messages of several, each from one of ``starts`` to the next."""
        ...
