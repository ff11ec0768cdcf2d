"""Where the work of ``demo``, ``generate`` and ``emit`` runs: in this process, or on a local Spark.

In: the amount of rows or bytes, and the user's options. Out: the decision, which is made only here, and the Spark
session if needed. The messages are the same. Spark takes about ten seconds of CPU time to start, and then uses all
cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pyarrow as pa

from ticdc_emit.cli.console import step
from ticdc_emit.cli.session import local_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["MOST_BYTES_HERE", "MOST_ROWS_HERE", "CountedBatches", "runs_here", "spark_for"]

MOST_ROWS_HERE = 500_000
"""Up to this number of row changes, this process is done before Spark would be."""

MOST_BYTES_HERE = 16 * 1024 * 1024
"""The same for files whose rows are not counted yet."""


_BATCH_ROWS = 10_000


def runs_here(amount: float | None, most: int, *, on_spark: bool, settings: Mapping[str, str]) -> bool:
    """Return whether a command runs in this process.

    ``amount``: its rows or bytes, ``None`` for a stream. ``on_spark``, ``settings``: the user's ``--on-spark`` and
    ``--spark``, which choose Spark.
    """
    return amount is not None and amount <= most and not on_spark and not settings


def spark_for(
    stack: ExitStack, name: str, *, short: bool, settings: Mapping[str, str] | None = None, quiet: bool
) -> SparkSession:
    """Start Spark until the stack is left, and show that. ``short``: its jobs take seconds."""
    with step("starting Spark", quiet=quiet):
        return stack.enter_context(local_spark(name, settings=settings, short=short, quiet=quiet))


class CountedBatches:
    """Record batches, or those of a table, and in ``read`` how many of their rows were read so far."""

    def __init__(self, batches: Iterable[pa.RecordBatch] | pa.Table) -> None:
        if isinstance(batches, pa.Table):
            none = pa.RecordBatch.from_pylist([], batches.schema)
            batches = batches.to_batches(_BATCH_ROWS) or [none]
        self._batches: Iterable[pa.RecordBatch] = batches
        self.read = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            yield batch
            self.read += batch.num_rows
