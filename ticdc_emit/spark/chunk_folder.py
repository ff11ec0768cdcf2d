"""A folder for the messages of a batch, where every task of a session runs on this machine.

In: a session. Out: for a local one (``local[2]``), a folder for one job, below the folder of the session's own files,
which goes when the session goes. None on a cluster, over Spark Connect, or where Spark encrypts what it writes to disk.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ticdc_emit.encode.chunk_files import ChunkFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["chunk_folder"]

_LOCAL = re.compile(r"local(\[.*\])?")
_ENCRYPTED = "spark.io.encryption.enabled"
_SHARE = 4  # what a batch may take of the memory and of the disk, as the divisor


@contextmanager
def chunk_folder(spark: SparkSession) -> Iterator[ChunkFolder | None]:
    """Give a folder to a job, or ``None``; remove it after."""
    if not _all_here(spark):
        yield None
        return
    from pyspark import SparkFiles

    with tempfile.TemporaryDirectory(
        prefix="ticdc-emit-", dir=SparkFiles.getRootDirectory(), ignore_cleanup_errors=True
    ) as path:
        yield ChunkFolder(path, min(_memory(), shutil.disk_usage(path).free) // _SHARE)


def _all_here(spark: SparkSession) -> bool:
    context = getattr(spark, "sparkContext", None)
    return (
        context is not None
        and _LOCAL.fullmatch(str(context.master)) is not None
        and spark.conf.get(_ENCRYPTED, "false") != "true"
    )


def _memory() -> int:
    """Return the bytes of the machine's memory, 0 where it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0
