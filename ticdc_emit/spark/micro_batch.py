"""Plan micro-batches at once, without adaptive execution.

Adaptive execution makes a separate job of the part before a shuffle, and plans the rest again after it. Every batch of
a stream would pay for that, and its only shuffle, of chunks to the delivering tasks, has nothing to adapt.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["planned_at_once"]

_ADAPTIVE = "spark.sql.adaptive.enabled"


@contextmanager
def planned_at_once(spark: SparkSession) -> Iterator[None]:
    """Plan queries in the block without adaptive execution. In a stream, the session is the query's own copy."""
    before = spark.conf.get(_ADAPTIVE, "true")
    if before != "true":
        yield
        return
    spark.conf.set(_ADAPTIVE, "false")
    try:
        yield
    finally:
        spark.conf.set(_ADAPTIVE, before)
