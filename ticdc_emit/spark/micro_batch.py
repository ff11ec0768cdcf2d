"""How Spark plans a micro-batch: at once, without adaptive execution.

Adaptive execution makes what stands before a shuffle a job of its own, and plans the rest again behind it. A batch of a
stream pays that each time, and its one shuffle, of chunks to as many tasks as deliver, has nothing to adapt.
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
    """Plan queries in the block without adaptive execution: in a stream, the session is a copy that is the query's."""
    before = spark.conf.get(_ADAPTIVE, "true")
    if before != "true":
        yield
        return
    spark.conf.set(_ADAPTIVE, "false")
    try:
        yield
    finally:
        spark.conf.set(_ADAPTIVE, before)
