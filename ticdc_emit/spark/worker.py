"""A task of a changefeed in one of Spark's Python workers.

A worker looks for garbage after every task, among all objects that it has: with the libraries that encoding needs
these are so many that it takes longer than a small task. So a worker's first task sets aside what was imported.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pyarrow as pa

from ticdc_emit.spark.row_tally import counted

__all__ = ["in_worker"]

_done = False


def in_worker(
    task: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], tally: str | None = None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the task as ``mapInArrow`` takes it. ``tally``: a folder where its rows are counted (``row_tally``)."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from task(counted(batches, tally))
        set_aside()  # by its name in this module: what a pickled function holds itself is new in every task

    return run


def set_aside() -> None:
    """Leave what there is now, once in a process, out of all later searches for garbage."""
    global _done
    if not _done:
        _done = True
        gc.collect()
        gc.freeze()
