"""What a run delivered: a table on a terminal, else plain lines."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ticdc_emit.caller import warn_caller
from ticdc_emit.config.document import ConfigWarning
from ticdc_emit.pipeline.report import RunReport, RunTotal, report_lines, total_line

__all__ = ["print_summary", "warn_of_nothing"]


def warn_of_nothing(report: RunReport | RunTotal) -> None:
    """Warn if the changefeed's filter left no row of a whole run."""
    if report.filtered_rows and not report.rows:
        rules = ", ".join(name for name, count in report.filtered.items() if count)
        warn_caller(f"[filter] left out all {report.filtered_rows:,} rows ({rules}): nothing was sent", ConfigWarning)


def print_summary(console: Console, report: RunReport | RunTotal) -> None:
    """Print the totals and the counts of every topic-partition."""
    if console.is_terminal:
        console.print(report)
    else:
        for line in report_lines(report)[:-1]:
            console.print(Text(line))
    console.print(Text(total_line(report), "bold green"))
