"""The tasks of a changefeed in one of Spark's Python workers.

A worker collects garbage after every task. The libraries for encoding have so many objects that this takes longer than
a small task. So a worker's first task excludes imported objects from later collections. And each block of rows takes
and frees the same few dozen MiB. The C library would return them to the system every time, and every page would be
faulted in again. So a worker keeps some.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pyarrow as pa

from ticdc_emit.spark.row_tally import counted

__all__ = ["Step", "in_worker"]

Step: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
_KEPT_BYTES = 256 * 1024 * 1024
_ARRAY_BYTES = 32 * 1024 * 1024

_done = False


def in_worker(*steps: Step, tally: str | None = None) -> Step:
    """Return the steps, each of what the one before it yields, as a function for ``mapInArrow``.

    ``tally``: a folder where the rows that come in are counted (``row_tally``).
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # module-level names around the work, because the content of a pickled function is new in every task
        keep_memory()
        made = counted(batches, tally)
        for step in steps:
            made = step(made)
        yield from made
        set_aside()

    return run


def keep_memory() -> None:
    """Let glibc keep up to 256 MiB of freed memory, and take arrays of up to 32 MiB from it. Elsewhere: nothing."""
    if not _done:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
        if mallopt is not None:
            mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
            mallopt(_M_MMAP_THRESHOLD, _ARRAY_BYTES)


def set_aside() -> None:
    """Exclude the current objects from all later garbage collections, once per process."""
    global _done
    if not _done:
        _done = True
        gc.collect()
        gc.freeze()
