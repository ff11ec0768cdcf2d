"""A task of a changefeed in one of Spark's Python workers.

A worker collects garbage after every task. The libraries for encoding have so many objects that this takes longer than
a small task. So a worker's first task excludes imported objects from later collections.
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
    """Return the task as a function for ``mapInArrow``. ``tally``: a folder where its rows are counted
    (``row_tally``).
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from task(counted(batches, tally))
        set_aside()  # a module-level name, because the content of a pickled function is new in every task

    return run


def set_aside() -> None:
    """Exclude the current objects from all later garbage collections, once per process."""
    global _done
    if not _done:
        _done = True
        gc.collect()
        gc.freeze()
