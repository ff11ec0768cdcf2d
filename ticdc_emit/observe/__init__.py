"""How a changefeed shows its progress (``reports``), and the HTML page of messages (``page``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:  # it imports the pipeline, which readers do without, and they show pages
    from ticdc_emit.observe.reports import ChangefeedMetrics as ChangefeedMetrics
    from ticdc_emit.observe.reports import log_report as log_report
    from ticdc_emit.observe.reports import report_line as report_line

__getattr__, __dir__ = lazy(__name__)
