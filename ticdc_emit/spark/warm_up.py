"""Messages made for nothing, so that those that count come at speed.

The first batches of a session cost several times what later ones do: Spark generates code, the Java beneath it
compiles, Python workers start and import. Where a clock runs, that is done before the clock is started.
"""

from __future__ import annotations

import math
import tempfile
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["warm_up", "warm_up_stream"]

_AT_MOST_S = 20.0
_NO_FASTER = 0.9


class _Rounds:
    """Counts rounds of the same work. They are enough when one is not clearly faster than the fastest before it."""

    def __init__(self) -> None:
        self._best = math.inf
        self._until = time.monotonic() + _AT_MOST_S

    def are_enough(self, seconds: float) -> bool:
        """Take the time of one more round."""
        slower = seconds > self._best * _NO_FASTER
        self._best = min(self._best, seconds)
        return slower or time.monotonic() > self._until


def warm_up(messages: Callable[[], DataFrame]) -> None:
    """Have Spark make the DataFrame's messages, and drop them, until it gets no faster, for 20 s at most.

    ``messages`` is called for each round: a plan that Spark has optimized already would leave out what later ones cost.
    """
    rounds = _Rounds()
    enough = False
    while not enough:
        began = time.monotonic()
        messages().groupBy("topic").count().collect()
        enough = rounds.are_enough(time.monotonic() - began)


def warm_up_stream(changes: DataFrame, send: Callable[[DataFrame, int], None], trigger: str) -> None:
    """Run a query over streaming ``changes`` until its batches get no faster, for 20 s at most, and stop it.

    ``send`` takes each batch and its id, as of ``foreachBatch``; ``trigger`` is the time between batches, in Spark's
    words. An error of a batch ends the query: who runs it in earnest meets it again.
    """
    rounds, warm = _Rounds(), threading.Event()

    def timed(batch: DataFrame, number: int) -> None:
        began = time.monotonic()
        send(batch, number)
        if rounds.are_enough(time.monotonic() - began):
            warm.set()

    with tempfile.TemporaryDirectory(prefix="ticdc-emit-", ignore_cleanup_errors=True) as folder:
        writer = changes.writeStream.foreachBatch(timed).option("checkpointLocation", folder)
        query = writer.trigger(processingTime=trigger).start()
        while query.isActive and not warm.wait(0.05):
            pass
        query.stop()
