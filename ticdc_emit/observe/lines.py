"""A report as one line, for logs.

In: a report. Out: text; what is zero or unknown is left out.
"""

from __future__ import annotations

import logging

from ticdc_emit.hints import counted
from ticdc_emit.pipeline.report import RunReport, RunTotal, shown_lag, shown_watermark

__all__ = ["log_report", "report_line"]

logger = logging.getLogger("ticdc_emit.pipeline")


def report_line(report: RunReport | RunTotal) -> str:
    """Return ``batch 7: 120,000 rows, 120,310 messages, 71,808 rows/s, watermark 2026-01-01 ..., lag 3.0 s``."""
    parts = [counted(report.rows, "row"), counted(report.messages, "message")]
    if report.rows_per_second >= 1:
        parts.append(f"{report.rows_per_second:,.0f} rows/s")
    if report.watermark is not None:
        parts += [f"watermark {shown_watermark(report.watermark)}", f"lag {shown_lag(report)}"]
    for count, thing, things in (
        (report.late_rows, "late row dropped", "late rows dropped"),
        (report.skipped_rows, "bad row skipped", "bad rows skipped"),
        (report.filtered_rows, "row filtered", "rows filtered"),
        (sum(report.filtered_ddl.values()), "DDL filtered", "DDL filtered"),
        (report.claims, "object stored", "objects stored"),
        (report.retries, "retry", "retries"),
    ):
        if count:
            parts.append(counted(count, thing, things))
    return f"{report.name}: {', '.join(parts)}"


def log_report(report: RunReport) -> None:
    """Log the line of a report (``on_report=log_report``): logger ``ticdc_emit.pipeline``, level INFO."""
    logger.info("%s", report_line(report))
