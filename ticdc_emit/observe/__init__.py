"""How a changefeed shows its progress: log lines, tables and Prometheus metrics, all made of its reports.

In: the :class:`~ticdc_emit.pipeline.report.RunReport` of each batch, by ``TicdcSink(..., on_report=...)``. Nothing
here sees a message, an option or a connection, so there is no secret to show. rich and prometheus_client are imported
when they are first needed.
"""

from __future__ import annotations

from ticdc_emit.observe.lines import ChangefeedMetrics, log_report, report_line
from ticdc_emit.pipeline.report import report_table

__all__ = ["ChangefeedMetrics", "log_report", "report_line", "report_table"]
