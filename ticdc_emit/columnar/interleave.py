"""Rows of many groups, each put together from elements of columns, in one call.

In: an array of elements, column after column, and blocks of rows: how many, and where the columns of the block begin.
Out: the rows. To gather an element costs half of what it costs to join it, and no call for each block.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from ticdc_emit.columnar.assemble import gathered
from ticdc_emit.columnar.buffers import from_bytes, text_buffers

__all__ = ["Block", "interleaved"]

Block: TypeAlias = "tuple[int, Sequence[int]]"


def interleaved(elements: pa.Array, blocks: Sequence[Block]) -> list[pa.Array]:
    """Return for each block ``binary`` rows: row i is what stands i elements behind each start; null counts as empty.

    Raises ``pa.ArrowInvalid`` beyond 2 GiB.
    """
    counts, widths = [count for count, _ in blocks], [len(starts) for _, starts in blocks]
    rows = np.arange(max(counts), dtype=np.int32)
    places = [np.add.outer(rows[:count], np.array(starts, np.int32)).ravel() for count, starts in blocks]
    parts = text_buffers(gathered(elements, np.concatenate(places)))
    ends = np.cumsum(np.append(0, np.repeat(widths, counts)))
    rows_of_all = from_bytes(parts.offsets[ends], parts.data, binary=True)
    return [
        rows_of_all.slice(start, count) for start, count in zip(accumulate(counts, initial=0), counts, strict=False)
    ]
