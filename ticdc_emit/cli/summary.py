"""What a run delivered: a table on a terminal, else plain lines."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ticdc_emit.caller import warn_caller
from ticdc_emit.changefeed.report import RunReport, RunTotal
from ticdc_emit.config.load import ConfigWarning

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
        for (topic, partition), count in sorted(report.delivery.per_partition.items()):
            console.print(Text(f"{topic} partition {partition}: {count.messages} messages, {count.bytes} bytes"))
    rate = f" ({report.rows_per_second:,.0f} rows/s)" if report.rows_per_second >= 1 else ""
    late = f", {report.late_rows:,} late rows dropped" if report.late_rows else ""
    skipped = f", {report.skipped_rows:,} bad rows skipped" if report.skipped_rows else ""
    filtered = f", {report.filtered_rows:,} rows filtered" if report.filtered_rows else ""
    console.print(
        Text(
            f"{report.rows:,} rows, {report.messages:,} messages, {report.bytes:,} bytes in {report.seconds:.1f} s"
            f"{rate}{late}{skipped}{filtered}",
            "bold green",
        )
    )
