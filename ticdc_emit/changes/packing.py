"""Messages of several rows: what a protocol that has them says of it.

In: messages of one row each, as an encoder makes them. Out: the same ones joined, so that one message holds several.
Which rows come together does not depend on the protocol: ``encode.packing`` decides it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Packing", "Starts"]

Starts = npt.NDArray[np.int64]
"""The places of the rows that begin messages, rising, the first one 0."""


class Packing(Protocol):
    """Picklable, free of state. ``max_rows``: of one message. ``shared``: the bytes of a row's message, of key and
    value together, that rows of one message have once.
    """

    max_rows: int
    shared: int

    def changed(self, values: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
        """Return the values of messages of one row (``binary``), what each says of it changed; nothing said stays so.

        What stands around that, such as its length, follows.
        """
        ...

    def joined(self, keys: pa.Array, values: pa.Array, starts: Starts) -> tuple[pa.Array, pa.Array]:
        """Return messages of one row as messages of several, each from one of ``starts`` to the next."""
        ...
