"""Warm up Spark by making messages that are not sent.

The first batches of a session cost several times as much as later ones: Spark generates code, the JVM compiles it,
Python workers start and import. If the wall clock matters, this is done before the clock starts.
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

__all__ = ["MOST_WARM_UP_S", "warm_up", "warm_up_stream"]

MOST_WARM_UP_S = 20.0
_NO_FASTER = 0.9
_IN_A_ROW = 3


class _Rounds:
    """Counts rounds of the same work, until several in a row are not clearly faster than the fastest before them.

    One alone may be slow for another reason, and the JVM compiles what runs often in several passes.
    """

    def __init__(self) -> None:
        self._best = math.inf
        self._slower = 0
        self._until = time.monotonic() + MOST_WARM_UP_S

    def are_enough(self, seconds: float) -> bool:
        """Record the time of another round."""
        self._slower = self._slower + 1 if seconds > self._best * _NO_FASTER else 0
        self._best = min(self._best, seconds)
        return self._slower == _IN_A_ROW or time.monotonic() > self._until


def warm_up(rehearse: Callable[[], object]) -> None:
    """Call ``rehearse`` until that gets no faster, for at most 20 s.

    Each call has to plan its Spark job, because a plan that Spark has already optimized would skip part of the work.
    """
    rounds = _Rounds()
    enough = False
    while not enough:
        began = time.monotonic()
        rehearse()
        enough = rounds.are_enough(time.monotonic() - began)


def warm_up_stream(changes: DataFrame, send: Callable[[DataFrame, int], None], trigger: str) -> None:
    """Run a query over streaming ``changes`` until its batches get no faster, for at most 20 s, and stop it.

    ``send``: called with each batch and its id, as for ``foreachBatch``. ``trigger``: the time between batches, as
    Spark text. An error of a batch ends the query; the real query will raise it again.
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
