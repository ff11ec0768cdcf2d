"""Generated traffic as a query: warmed up before it must keep pace with the clock, and ended after a whole batch.

In: streaming changes, the sink that sends them, and a function that says when to stop. Out: what was sent, in total.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.delivery.base import Sink
from ticdc_emit.pipeline.report import RunTotal
from ticdc_emit.spark.batch import SparkBatch, in_micro_batch
from ticdc_emit.spark.session import warm_up_stream
from ticdc_emit.traffic.generate.results import stream_on_spark
from ticdc_emit.traffic.generate.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ticdc_emit.spark import TicdcSink

__all__ = ["send_stream", "warm_up_live"]

_POLL_S = 0.2
_LIVE_TRIGGER = "500 milliseconds"  # each batch costs about 0.3 s of CPU time, however few rows it has


def warm_up_live(
    spark: SparkSession, schema: str, settings: Settings, feed: ChangefeedConfig, sink: Sink | None
) -> None:
    """Rehearse with other changes of these tables, so that Spark compiles and every process that sends connects before
    the first real change is due. Nothing is sent.
    """
    stream = stream_on_spark(spark, schema, replace(settings, rows=None, ddl_rate=0.0), live=True)
    with stream.sink(feed, sink=sink) as unsent:

        def rehearse(batch: DataFrame, _: int) -> None:
            with in_micro_batch(batch.sparkSession):
                unsent.changefeed.rehearse(SparkBatch(batch, unsent.table))

        warm_up_stream(stream.changes, rehearse, _LIVE_TRIGGER)


def send_stream(
    changes: DataFrame, emitter: TicdcSink, rows: int | None, stop: Callable[[], bool], *, live: bool
) -> RunTotal:
    """Run the query until ``rows`` are sent or ``stop`` returns true, then end the changefeed after the last batch.

    ``rows``: ``None`` for no end. ``live``: batches at short intervals, else each after the other. Raises what the
    query raised.
    """
    busy = threading.Lock()
    stopping = False

    def ended() -> bool:
        return stopping or (rows is not None and emitter.total.rows >= rows)

    def send(batch: DataFrame, number: int) -> None:
        with busy:
            if not ended():  # after the last row there are only empty batches
                emitter(batch, number)

    with tempfile.TemporaryDirectory(prefix="ticdc-emit-", ignore_cleanup_errors=True) as checkpoint:
        writer = changes.writeStream.foreachBatch(send).option("checkpointLocation", checkpoint)
        query = writer.trigger(processingTime=_LIVE_TRIGGER if live else "0 seconds").start()
        try:
            while query.isActive and not ended() and not stop():
                time.sleep(_POLL_S)
            with busy:  # the current batch is sent completely
                stopping = True
        finally:
            query.stop()
        failure = query.exception()
        if failure is not None:
            raise failure
    emitter.finish()
    return emitter.total
