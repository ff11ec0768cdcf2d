"""A folder for the messages of a batch, where every task of a session runs on this machine.

In: a session. Out: for a local one (``local[2]``), a folder for one job, below the folder of the session's own files,
which goes when the session goes. None on a cluster, over Spark Connect, where Spark encrypts what it writes to disk, or
where no folder can be made: messages are then shuffled.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from ticdc_emit.pipeline.chunks import ChunkFolder
from ticdc_emit.spark.session import is_on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["chunk_folder"]

_LOCAL = re.compile(r"local(\[.*\])?")
_ENCRYPTED = "spark.io.encryption.enabled"
_SHARE = 4  # what a batch may take of the memory and of the disk, as the divisor


@contextmanager
def chunk_folder(spark: SparkSession) -> Iterator[ChunkFolder | None]:
    """Give a folder to a job, or ``None``; remove it after."""
    with ExitStack() as stack:
        master = _local_master(spark)
        yield None if master is None else _folder(stack, read_once="," not in master)  # local[2,4]: four attempts


def _folder(stack: ExitStack, *, read_once: bool) -> ChunkFolder | None:
    """Make a folder that ``stack`` removes."""
    from pyspark import SparkFiles

    below = SparkFiles.getRootDirectory()
    try:
        made = tempfile.TemporaryDirectory(prefix="ticdc-emit-", dir=below, ignore_cleanup_errors=True)
        path = stack.enter_context(made)
        return ChunkFolder(path, min(_memory(), shutil.disk_usage(path).free) // _SHARE, read_once)
    except OSError:  # a full disk, or a cleaner of old temporary folders
        return None


def _local_master(spark: SparkSession) -> str | None:
    """Return where the session's tasks run if that is here, and if they may write what they like."""
    context = getattr(spark, "sparkContext", None)
    master = "" if context is None else str(context.master)
    return master if _LOCAL.fullmatch(master) and not is_on(spark, _ENCRYPTED) else None


def _memory() -> int:
    """Return the bytes of the machine's memory, 0 where it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0
