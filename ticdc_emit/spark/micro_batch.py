"""How Spark plans and compiles the jobs of batches: settings of the session while they run.

Adaptive execution makes a separate job of the part before a shuffle, and plans the rest again after it. Every batch of
a stream would pay for that, and its only shuffle, of chunks to the delivering tasks, has nothing to adapt.

Spark numbers the classes that it generates in a query. So for tables side by side it would compile the same code anew
for each, though their columns are the same (shards).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from ticdc_emit.spark.logs import without_size_warnings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["compiled_once", "in_micro_batch", "planned_at_once"]

_ADAPTIVE = "spark.sql.adaptive.enabled"
_NUMBERED = "spark.sql.codegen.useIdInClassName"


@contextmanager
def in_micro_batch(spark: SparkSession) -> Iterator[None]:
    """Run the block as a batch of a stream runs: planned at once, and without warnings about large tasks and plans."""
    with without_size_warnings(spark), planned_at_once(spark):
        yield


def planned_at_once(spark: SparkSession) -> AbstractContextManager[None]:
    """Plan queries in the block without adaptive execution. In a stream, the session is the query's own copy."""
    return _without(spark, _ADAPTIVE)


def compiled_once(spark: SparkSession) -> AbstractContextManager[None]:
    """Name generated classes alike in the block, so that equal code is compiled once."""
    return _without(spark, _NUMBERED)


@contextmanager
def _without(spark: SparkSession, setting: str) -> Iterator[None]:
    before = spark.conf.get(setting, "true")
    if before != "true":
        yield
        return
    spark.conf.set(setting, "false")
    try:
        yield
    finally:
        spark.conf.set(setting, before)
