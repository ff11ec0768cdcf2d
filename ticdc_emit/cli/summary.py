"""What a run delivered, for people: totals, and a line per topic-partition from the delivery reports."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ticdc_emit.spark.report import RunReport

__all__ = ["print_summary"]


def print_summary(console: Console, report: RunReport) -> None:
    """Print the totals and the counts of every topic-partition."""
    if console.is_terminal:
        table = Table(title="acknowledged", title_justify="left")
        for name in ("topic", "partition", "messages", "bytes"):
            table.add_column(name, justify="left" if name == "topic" else "right")
        for (topic, partition), count in sorted(report.delivery.per_partition.items()):
            table.add_row(topic, f"{partition}", f"{count.messages:,}", f"{count.bytes:,}")
        console.print(table)
    else:
        for (topic, partition), count in sorted(report.delivery.per_partition.items()):
            console.print(Text(f"{topic} partition {partition}: {count.messages} messages, {count.bytes} bytes"))
    rate = f" ({report.rows_per_second:,.0f} rows/s)" if report.rows_per_second >= 1 else ""
    late = f", {report.late_rows:,} late rows dropped" if report.late_rows else ""
    console.print(
        Text(
            f"{report.rows:,} rows, {report.messages:,} messages, {report.bytes:,} bytes in {report.seconds:.1f} s"
            f"{rate}{late}",
            "bold green",
        )
    )
