"""A report as one line, for logs.

In: a report. Out: text; what is zero or unknown is left out.
"""

from __future__ import annotations

import datetime as dt
import logging

from ticdc_emit.changefeed.report import RunReport, RunTotal
from ticdc_emit.tso import physical_ms

__all__ = ["log_report", "report_line", "shown_lag", "shown_watermark"]

logger = logging.getLogger("ticdc_emit.changefeed")


def report_line(report: RunReport | RunTotal) -> str:
    """Return ``batch 7: 120,000 rows, 120,310 messages, 71,808 rows/s, watermark 2026-01-01 ..., lag 3.0 s``."""
    name = f"batch {report.batch_id}" if isinstance(report, RunReport) else f"{report.batches:,} batches"
    parts = [f"{report.rows:,} rows", f"{report.messages:,} messages"]
    if report.rows_per_second >= 1:
        parts.append(f"{report.rows_per_second:,.0f} rows/s")
    if report.watermark is not None:
        parts += [f"watermark {shown_watermark(report.watermark)}", f"lag {shown_lag(report)}"]
    for count, what in (
        (report.late_rows, "late rows dropped"),
        (report.claims, "objects stored"),
        (report.retries, "retries"),
    ):
        if count:
            parts.append(f"{count:,} {what}")
    return f"{name}: {', '.join(parts)}"


def log_report(report: RunReport) -> None:
    """Log the line of a report (``on_report=log_report``): logger ``ticdc_emit.changefeed``, level INFO."""
    logger.info("%s", report_line(report))


def shown_watermark(watermark: int) -> str:
    """Return the physical time of a TSO, in UTC to the millisecond."""
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(milliseconds=physical_ms(watermark))
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def shown_lag(report: RunReport | RunTotal) -> str:
    """Return how far the watermark is behind: the wall clock in a live run, the last row in a replay."""
    lag = report.lag_ms if report.wall_lag_ms is None else report.wall_lag_ms
    return f"{(lag or 0) / 1000:,.1f} s"
