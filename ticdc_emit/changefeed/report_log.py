"""The reports of a changefeed's batches: kept, summed, and handed to whoever asked for them."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable

from ticdc_emit.changefeed.report import ReportCallback, RunReport, RunTotal

__all__ = ["ReportLog"]

logger = logging.getLogger("ticdc_emit.changefeed.run")  # the name in docs/observability.md

_KEPT_REPORTS = 1_000


class ReportLog:
    """``newest``: the last thousand reports, in order; ``total``: the sum of all. ``callbacks``: called with each."""

    def __init__(self, callbacks: Iterable[ReportCallback]) -> None:
        self.newest: deque[RunReport] = deque(maxlen=_KEPT_REPORTS)
        self.total = RunTotal.of(())
        self._callbacks = tuple(callbacks)

    def add(self, report: RunReport) -> None:
        """Keep a report and hand it on. An exception of a callback is logged: the batch is done, whatever it does."""
        self.newest.append(report)
        self.total = self.total.plus(report)
        for callback in self._callbacks:
            try:
                callback(report)
            except Exception:
                logger.exception("on_report failed for batch %d", report.batch_id)
