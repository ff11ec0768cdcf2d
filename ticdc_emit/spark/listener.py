"""A streaming query's progress: Spark's figures of a micro-batch joined with the sink's report.

Over Spark Connect, ``foreachBatch`` runs in a process of the server, so the client's sink has no reports. Use the
sink's ``on_report`` there, which runs where the batches run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.streaming.listener import StreamingQueryListener

from ticdc_emit.observe import report_line
from ticdc_emit.pipeline.report import RunReport

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

    from ticdc_emit.spark.sink import TicdcSink

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class BatchProgress:
    """A micro-batch, with Spark's figures and the sink's report.

    ``query``: its name, else its id. ``input_rows``: of the sources, maybe not ``report.rows``. ``duration_ms``:
    Spark's breakdown (``addBatch`` is the sink's part).
    """

    query: str
    batch_id: int
    input_rows: int
    input_rows_per_second: float
    processed_rows_per_second: float
    duration_ms: Mapping[str, int]
    report: RunReport


def log_progress(progress: BatchProgress) -> None:
    """Log a batch as one line, level INFO: the report's (``observe.report_line``) with Spark's figures."""
    logger.info(
        "%s: %s; read %s rows at %s rows/s, batch took %s ms",
        progress.query,
        report_line(progress.report),
        f"{progress.input_rows:,}",
        f"{progress.input_rows_per_second:,.0f}",
        f"{progress.duration_ms.get('triggerExecution', 0):,}",
    )


class ProgressListener(StreamingQueryListener):
    """``spark.streams.addListener(ProgressListener(sink))``: calls back for each batch that the sink has sent.

    ``query``: name or id of the sink's query; without it, every query counts as the sink's. An exception of the
    callback is logged.
    """

    def __init__(
        self, sink: TicdcSink, callback: Callable[[BatchProgress], object] = log_progress, *, query: str | None = None
    ) -> None:
        self._sink = sink
        self._callback = callback
        self._query = query

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        try:
            progress = self._joined(event)
            if progress is not None:
                self._callback(progress)
        except Exception:
            logger.exception("the callback of a progress listener failed")

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Does nothing: nothing has been sent yet."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Does nothing: nothing was sent."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Does nothing: the callback has had its last batch."""

    def _joined(self, event: QueryProgressEvent) -> BatchProgress | None:
        """Return the batch; ``None`` for another query's batch, or one that this sink has not sent."""
        seen = event.progress
        names = (seen.name, str(seen.id))
        if self._query is not None and self._query not in names:
            return None
        report = next((each for each in reversed(self._sink.reports) if each.batch_id == seen.batchId), None)
        if report is None:
            return None
        return BatchProgress(
            seen.name or str(seen.id),
            seen.batchId,
            seen.numInputRows,
            _rate(seen.inputRowsPerSecond),
            _rate(seen.processedRowsPerSecond),
            dict(seen.durationMs),
            report,
        )


def _rate(value: float | None) -> float:
    """Spark's rate is NaN or infinite for a batch that took no time."""
    return value if value is not None and 0 <= value < float("inf") else 0.0
