"""The tasks of a changefeed in one of Spark's Python workers.

A worker collects garbage after every task. The libraries for encoding have so many objects that this takes longer than
a small task. So a worker's first task excludes imported objects from later collections.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pyarrow as pa

from ticdc_emit.spark.row_tally import counted

__all__ = ["Step", "in_worker"]

Step: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_done = False


def in_worker(*steps: Step, tally: str | None = None) -> Step:
    """Return the steps, each of what the one before it yields, as a function for ``mapInArrow``.

    ``tally``: a folder where the rows that come in are counted (``row_tally``).
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made = counted(batches, tally)
        for step in steps:
            made = step(made)
        yield from made
        set_aside()  # a module-level name, because the content of a pickled function is new in every task

    return run


def set_aside() -> None:
    """Exclude the current objects from all later garbage collections, once per process."""
    global _done
    if not _done:
        _done = True
        gc.collect()
        gc.freeze()
