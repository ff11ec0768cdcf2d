"""Reports as a figure: messages by topic-partition, rate, lag to the watermark and sizes, batch by batch.

In: the reports of a run in the order of its batches. Out: a plotly figure: of several batches four panels with a bar or
point for each batch, of one batch two panels with a bar for each topic-partition.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import counted
from ticdc_emit.pictures import COLOURS, panels, require_plotly
from ticdc_emit.pipeline.report import RunReport, RunTotal

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from ticdc_emit.delivery.base import Place

__all__ = ["report_figure"]


_MOST_PLACES = 12
_OTHERS = "other topic-partitions"


def report_figure(reports: Sequence[RunReport | RunTotal], title: str = "Run") -> Figure:
    """Return the figure of reports; batches are placed by the wall clock at their end.

    Raises :class:`~ticdc_emit.errors.ConfigError` without a report, and
    :class:`~ticdc_emit.errors.MissingDependencyError` without plotly.
    """
    go = require_plotly()
    if not reports:
        raise ConfigError("there is no report to draw", remedy="Send a batch first")
    several = len(reports) > 1
    names = (
        "Messages by topic-partition",
        "Rows per second",
        "Lag of the watermark, seconds",
        "Bytes by topic-partition",
    )
    figure = panels(title, _subtitle(reports), names if several else (names[0], names[3]))
    when = [dt.datetime.fromtimestamp(each.finished_ms / 1000, dt.timezone.utc) for each in reports]
    labels = [_label(each) for each in reports]
    last = 4 if several else 2
    for number, (name, counts) in enumerate(_by_place(reports)):
        colour = COLOURS[number % len(COLOURS)]
        for row, attribute in ((1, 0), (last, 1)):
            values = [each[attribute] for each in counts]
            style = {"name": name, "legendgroup": name, "showlegend": row == 1 and several, "marker_color": colour}
            hover = f"{name}: %{{y:,}}<br>%{{customdata}}<extra></extra>"
            x: list[Any] = list(when) if several else [name]
            figure.add_trace(go.Bar(x=x, y=values, customdata=labels, hovertemplate=hover, **style), row=row, col=1)
    if several:
        rates = [round(each.rows_per_second, 1) for each in reports]
        _line(figure, 2, "rows/s", when, rates, labels, COLOURS[0])
        lags = [each.lag_ms if each.wall_lag_ms is None else each.wall_lag_ms for each in reports]
        _line(figure, 3, "lag", when, [None if lag is None else lag / 1000 for lag in lags], labels, COLOURS[5])
        figure.update_yaxes(rangemode="tozero")
        figure.update_xaxes(matches="x")
        figure.update_xaxes(title_text="wall clock at the end of the batch (UTC)", row=4, col=1)
    return figure


def _line(
    figure: Figure, row: int, name: str, x: Sequence[Any], y: Sequence[Any], labels: Sequence[str], colour: str
) -> None:
    go = require_plotly()
    hover = f"{name}: %{{y:,.1f}}<br>%{{customdata}}<extra></extra>"
    trace = go.Scatter(
        x=x, y=y, customdata=labels, name=name, mode="lines+markers", hovertemplate=hover, line_color=colour
    )
    figure.add_trace(trace.update(showlegend=False), row=row, col=1)


def _by_place(reports: Sequence[RunReport | RunTotal]) -> list[tuple[str, list[tuple[int, int]]]]:
    """Return messages and bytes of each report by topic-partition; beyond the busiest, together."""
    total: Counter[Place] = Counter()
    for report in reports:
        total.update({place: count.messages for place, count in report.delivery.per_partition.items()})
    kept = sorted(place for place, _ in total.most_common(_MOST_PLACES if len(total) > _MOST_PLACES + 1 else None))
    shown = [
        (f"{topic}/{partition}", [_count(report, {(topic, partition)}) for report in reports])
        for topic, partition in kept
    ]
    rest = set(total) - set(kept)
    return [*shown, (_OTHERS, [_count(report, rest) for report in reports])] if rest else shown


def _count(report: RunReport | RunTotal, places: set[Place]) -> tuple[int, int]:
    counts = [count for place, count in report.delivery.per_partition.items() if place in places]
    return sum(count.messages for count in counts), sum(count.bytes for count in counts)


def _label(report: RunReport | RunTotal) -> str:
    return report.name


def _subtitle(reports: Sequence[RunReport | RunTotal]) -> str:
    rows, messages = sum(each.rows for each in reports), sum(each.messages for each in reports)
    size, seconds = sum(each.bytes for each in reports), sum(each.seconds for each in reports)
    rate = f", {rows / seconds:,.0f} rows/s" if seconds else ""
    batches = sum(each.batches if isinstance(each, RunTotal) else 1 for each in reports)
    lag = reports[-1].lag_ms if reports[-1].wall_lag_ms is None else reports[-1].wall_lag_ms
    behind = "" if lag is None else f", watermark {lag / 1000:,.1f} s behind at the end"
    return (
        f"{counted(batches, 'batch', 'batches')}: {counted(rows, 'row')}, {counted(messages, 'message')}, "
        f"{counted(size, 'byte')}{rate}{behind}"
    )
