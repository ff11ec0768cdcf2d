"""A folder for the messages of a batch, where every task of a session runs on this machine, once.

In: a session. Out: for a local one (``local[2]``), a folder for one job, below the folder of the session's own files,
which goes when the session goes. None on a cluster, over Spark Connect, where a task that failed is run again
(``local[2, 3]``) and would miss the files that it has read, where Spark encrypts what it writes to disk, or where no
folder can be made: messages are then shuffled.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from ticdc_emit.encode.chunk_files import ChunkFolder
from ticdc_emit.spark.session import is_on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["chunk_folder"]

_LOCAL = re.compile(r"local(\[(\*|\d+)\])?")
_ENCRYPTED = "spark.io.encryption.enabled"
_SHARE = 4  # what a batch may take of the memory and of the disk, as the divisor


@contextmanager
def chunk_folder(spark: SparkSession) -> Iterator[ChunkFolder | None]:
    """Give a folder to a job, or ``None``; remove it after."""
    with ExitStack() as stack:
        yield _folder(stack) if _all_here(spark) else None


def _folder(stack: ExitStack) -> ChunkFolder | None:
    """Make a folder that ``stack`` removes."""
    from pyspark import SparkFiles

    below = SparkFiles.getRootDirectory()
    try:
        made = tempfile.TemporaryDirectory(prefix="ticdc-emit-", dir=below, ignore_cleanup_errors=True)
        path = stack.enter_context(made)
        return ChunkFolder(path, min(_memory(), shutil.disk_usage(path).free) // _SHARE)
    except OSError:  # a full disk, or a cleaner of old temporary folders
        return None


def _all_here(spark: SparkSession) -> bool:
    context = getattr(spark, "sparkContext", None)
    return context is not None and _LOCAL.fullmatch(str(context.master)) is not None and not is_on(spark, _ENCRYPTED)


def _memory() -> int:
    """Return the bytes of the machine's memory, 0 where it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0
