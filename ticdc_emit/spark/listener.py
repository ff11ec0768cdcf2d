"""A streaming query's progress: Spark's figures of a micro-batch joined with the sink's report.

Over Spark Connect, ``foreachBatch`` runs in a process of the server, so the client's sink has no reports. Use the
sink's ``on_report`` there, which runs where the batches run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql.streaming.listener import StreamingQueryListener

from ticdc_emit.observe import report_line
from ticdc_emit.pipeline.report import RunReport

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryProgress,
    )

    from ticdc_emit.spark.sink import TicdcSink

logger = logging.getLogger(__name__)


def log_progress(progress: StreamingQueryProgress, report: RunReport) -> None:
    """Log a batch as one line, level INFO: the report's (``observe.report_line``) with Spark's figures."""
    logger.info(
        "%s: %s; read %s rows, batch took %s ms",
        progress.name or progress.id,
        report_line(report),
        f"{progress.numInputRows:,}",
        f"{progress.durationMs.get('triggerExecution', 0):,}",
    )


class ProgressListener(StreamingQueryListener):
    """``spark.streams.addListener(ProgressListener(sink))``: calls back for each batch that the sink has sent.

    ``callback``: gets Spark's progress and the sink's report; its exceptions are logged. ``query``: name or id of the
    sink's query; without it, every query counts as the sink's.
    """

    def __init__(
        self,
        sink: TicdcSink,
        callback: Callable[[StreamingQueryProgress, RunReport], object] = log_progress,
        *,
        query: str | None = None,
    ) -> None:
        self._sink = sink
        self._callback = callback
        self._query = query

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        try:
            report = self._report_of(event.progress)
            if report is not None:
                self._callback(event.progress, report)
        except Exception:
            logger.exception("the callback of a progress listener failed")

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Does nothing: nothing has been sent yet."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Does nothing: the callback has had its last batch."""

    def _report_of(self, seen: StreamingQueryProgress) -> RunReport | None:
        """Return the batch's report; ``None`` for another query's batch, or one that this sink has not sent."""
        if self._query is not None and self._query not in (seen.name, str(seen.id)):
            return None
        return next((each for each in reversed(self._sink.reports) if each.batch_id == seen.batchId), None)
