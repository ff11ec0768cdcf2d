"""A report as a rich table or as lines: totals, what the messages are, and a line per topic-partition.

In: a report. Out: something that a rich console prints, or lines; ``console.print(report)`` and ``print(report)`` lead
here by themselves.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from ticdc_emit.changefeed.report import RunReport, RunTotal
from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.hints import counted
from ticdc_emit.tso import physical_ms

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["report_facts", "report_lines", "report_table", "shown_lag", "shown_watermark", "total_line"]


def report_table(report: RunReport | RunTotal, *, most: int = 50) -> Group:
    """Return the tables; at most ``most`` topic-partitions, those with the most messages, in order of topic.

    Raises :class:`~ticdc_emit.errors.MissingDependencyError` without rich.
    """
    try:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        raise MissingDependencyError("a table needs rich", extra="cli") from None
    facts = Table(title=report.name, title_justify="left", show_header=False)
    facts.add_column()
    facts.add_column(justify="right")
    for name, value in report_facts(report):
        facts.add_row(name, value)
    counts = report.delivery.per_partition
    shown = sorted(sorted(counts, key=lambda place: (-counts[place].messages, place))[:most])
    places = Table(title="acknowledged", title_justify="left")
    for name in ("topic", "partition", "messages", "bytes"):
        places.add_column(name, justify="left" if name == "topic" else "right")
    for topic, partition in shown:
        count = counts[topic, partition]
        places.add_row(Text(topic), f"{partition}", f"{count.messages:,}", f"{count.bytes:,}")
    if len(shown) < len(counts):
        rest = [count for place, count in counts.items() if place not in set(shown)]
        messages, size = sum(count.messages for count in rest), sum(count.bytes for count in rest)
        places.add_row(f"{len(rest):,} more", "", f"{messages:,}", f"{size:,}")
    return Group(facts, places)


def report_lines(report: RunReport | RunTotal) -> list[str]:
    """Return a line for each topic-partition in order of topic, and last that of the totals."""
    places = [
        f"{topic} partition {partition}: {counted(count.messages, 'message')}, {counted(count.bytes, 'byte')}"
        for (topic, partition), count in sorted(report.delivery.per_partition.items())
    ]
    return [*places, total_line(report)]


def total_line(report: RunReport | RunTotal) -> str:
    """Return ``1,000 rows, 1,010 messages, 10,100 bytes in 0.5 s (2,000 rows/s)``, and what was left out."""
    rate = f" ({report.rows_per_second:,.0f} rows/s)" if report.rows_per_second >= 1 else ""
    parts = [counted(report.rows, "row"), counted(report.messages, "message"), counted(report.bytes, "byte")]
    left_out = [
        f", {counted(count, thing)} {what}"
        for count, thing, what in (
            (report.late_rows, "late row", "dropped"),
            (report.skipped_rows, "bad row", "skipped"),
            (report.filtered_rows, "row", "filtered"),
        )
        if count
    ]
    return f"{', '.join(parts)} in {report.seconds:.1f} s{rate}{''.join(left_out)}"


def report_facts(report: RunReport | RunTotal) -> list[tuple[str, str]]:
    """Return the totals by name, as texts; what is zero and rare is left out."""
    kinds = report.messages_by_kind
    facts = [
        ("rows", f"{report.rows:,}"),
        ("late rows dropped", f"{report.late_rows:,}"),
        *([("bad rows skipped", f"{report.skipped_rows:,}")] if report.skipped else []),
        *((f"  of {table}", f"{count:,}") for table, count in report.skipped.items()),
        *([("rows filtered", f"{report.filtered_rows:,}")] if report.filtered else []),
        *((f"  by {rule}", f"{count:,}") for rule, count in report.filtered.items()),
        *((f"DDL filtered by {rule}", f"{count:,}") for rule, count in report.filtered_ddl.items()),
        ("messages", f"{report.messages:,}"),
        *((f"  of {kind}" if kind != "ddl" else "  of DDL", f"{count:,}") for kind, count in kinds.items() if count),
        ("bytes", f"{report.bytes:,}"),
        ("seconds", f"{report.seconds:,.1f}"),
        ("rows/s", f"{report.rows_per_second:,.0f}"),
        ("messages/s", f"{report.messages_per_second:,.0f}"),
    ]
    if report.watermark is not None:
        facts += [("watermark", shown_watermark(report.watermark)), ("lag", shown_lag(report))]
    facts += [("objects stored", f"{report.claims:,}")] if report.claims else []
    return [*facts, ("retries", f"{report.retries:,}")]


def shown_watermark(watermark: int) -> str:
    """Return the physical time of a TSO, in UTC to the millisecond."""
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(milliseconds=physical_ms(watermark))
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def shown_lag(report: RunReport | RunTotal) -> str:
    """Return how far the watermark is behind: the wall clock in a live run, the last row in a replay."""
    lag = report.lag_ms if report.wall_lag_ms is None else report.wall_lag_ms
    return f"{(lag or 0) / 1000:,.1f} s"
