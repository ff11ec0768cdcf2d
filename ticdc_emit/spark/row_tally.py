"""The number of rows that a running job has read to encode. Workers report it through a folder that the driver sees
too.

In: a folder in the session's setting :data:`SETTING`, which only a local session can have. Out: a file for each worker
process, with a line for each batch of rows. Tasks that run again are counted again, so it is only for display.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SETTING", "counted", "tallied", "tally_folder"]

SETTING = "spark.ticdcEmit.tally"


def tally_folder(spark: SparkSession) -> str | None:
    """Return the folder where a session's workers count rows; ``None``: they do not."""
    folder: str | None = spark.conf.get(SETTING, None)
    return folder


def counted(batches: Iterator[pa.RecordBatch], folder: str | None) -> Iterator[pa.RecordBatch]:
    """Yield the batches, and record the rows of each."""
    for batch in batches:
        yield batch
        if folder is not None:
            with suppress(OSError), Path(folder, str(os.getpid())).open("a") as notes:
                notes.write(f"{batch.num_rows}\n")


def tallied(folder: Path) -> int:
    """Return the rows that all workers have recorded so far."""
    return sum(int(line) for notes in folder.iterdir() for line in notes.read_text().splitlines())
