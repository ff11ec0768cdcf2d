"""An overview of topics: messages by topic-partition over time, rate, lag to the watermark, sizes.

In: points. Out: a plotly figure with four panels. Time is commit time or, if messages do not have it (Avro without the
TiDB extension), the order of arrival.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ticdc_emit.decode.points import KINDS, Point
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import counted
from ticdc_emit.pictures import COLOURS, panels, require_plotly

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from ticdc_emit.delivery.base import Place

__all__ = ["KIND_COLOURS", "moment", "overview_figure"]

KIND_COLOURS = dict(
    zip(KINDS, (COLOURS[2], COLOURS[0], COLOURS[5], COLOURS[3], COLOURS[4], COLOURS[7], "#000000"), strict=True)
)
_BINS = 60
_MOST_PLACES = 12
_OTHERS = "other topic-partitions"


def overview_figure(points: Sequence[Point], title: str = "Messages") -> Figure:
    """Return the figure of points.

    Raises :class:`~ticdc_emit.errors.ConfigError` without a message, and
    :class:`~ticdc_emit.errors.MissingDependencyError` without plotly.
    """
    go = require_plotly()
    if not points:
        raise ConfigError("there is no message to draw", remedy="Read a topic that has messages")
    axis = _Axis(points)
    names = (
        f"Messages by topic-partition, per {axis.width_text}, by {axis.title}",
        "Rows per second" if axis.is_time else f"Rows per {axis.width_text}",
        "Rows ahead of their partition's last watermark, seconds of commit time",
        "Sizes: key and value, bytes",
    )
    figure = panels(title, _subtitle(points), names)
    for number, (name, values) in enumerate(_by_place(points, axis)):
        hover = f"{escape(name)}: %{{y:,}} messages<extra></extra>"
        bar = go.Bar(
            x=axis.middles,
            y=values,
            name=escape(name),
            hovertemplate=hover,
            marker_color=COLOURS[number % len(COLOURS)],
        )
        figure.add_trace(bar.update(legend="legend"), row=1, col=1)
    rows = [point for point in points if point.is_row]
    for kind in KINDS[:3]:
        counts = axis.counts([point for point in rows if point.kind == kind])
        if counts.any():
            rate = (counts / axis.seconds if axis.is_time else counts).round(3)
            line = go.Scatter(x=axis.middles, y=rate.tolist(), name=kind, mode="lines", line_color=KIND_COLOURS[kind])
            figure.add_trace(line.update(legend="legend2", line_shape="hvh"), row=2, col=1)
    _add_lags(figure, points, axis)
    labels, sizes = _sizes(points)
    for kind, values in sizes.items():
        bar = go.Bar(x=labels, y=values, name=kind, marker_color=KIND_COLOURS[kind])
        figure.add_trace(bar.update(legend="legend4", hovertemplate=f"{kind}: %{{y:,}}<extra></extra>"), row=4, col=1)
    for row in (1, 2, 3):
        figure.update_xaxes(range=axis.range, row=row, col=1)
    figure.update_yaxes(rangemode="tozero")
    for row, name in enumerate(("legend", "legend2", "legend3", "legend4"), 1):
        top = figure.layout[f"yaxis{row if row > 1 else ''}"].domain[1]
        figure.update_layout({name: {"x": 1.01, "y": top, "yanchor": "top", "traceorder": "normal"}})
    figure.update_layout(margin={"r": 190})
    return figure


def moment(time_ms: int) -> dt.datetime:
    """Return ms since 1970 as a UTC time without zone, as plotly's axes take them."""
    return dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=time_ms)


def _round_width(least: float) -> int:
    """Return 1, 2 or 5 times a power of ten, at least ``least``."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                return factor * power
        power *= 10


class _Axis:
    """Bins of equal width over commit time, or over the order of arrival."""

    def __init__(self, points: Sequence[Point]) -> None:
        self.is_time = any(point.time_ms is not None for point in points)
        self._arrival = {id(point): number for number, point in enumerate(points)}
        positions = [position for point in points if (position := self.position(point)) is not None]
        low, high = min(positions), max(positions)
        width = _round_width((high - low) / _BINS)
        begin = low // width * width
        self.edges = np.arange(begin, high + width + 1, width).astype(np.float64)
        self.seconds = float(self.edges[1] - self.edges[0]) / 1000
        middles = (self.edges[:-1] + self.edges[1:]) / 2
        self.middles: list[Any] = [self._shown(each) for each in middles]
        self.range = [self._shown(self.edges[0]), self._shown(self.edges[-1])]
        self.title = "commit time (UTC)" if self.is_time else "order of arrival (the messages have no commit times)"
        self.width_text = f"{width / 1000:g} s" if self.is_time else counted(width, "message")

    def position(self, point: Point) -> int | None:
        return point.time_ms if self.is_time else self._arrival[id(point)]

    def bins_of(self, points: Sequence[Point]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the bin of each point that has a position."""
        positions = np.array([place for point in points if (place := self.position(point)) is not None], np.float64)
        return np.clip(np.searchsorted(self.edges, positions, side="right") - 1, 0, len(self.edges) - 2)

    def counts(self, points: Sequence[Point]) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.bincount(self.bins_of(points), minlength=len(self.edges) - 1)

    def _shown(self, value: float) -> Any:
        return moment(round(value)) if self.is_time else float(value)


def _by_place(points: Sequence[Point], axis: _Axis) -> list[tuple[str, list[int]]]:
    """Return messages in each bin by topic-partition; all but the busiest are combined."""
    sent = [point for point in points if point.bytes or point.kind == "unreadable"]
    total = Counter(point.place for point in sent)
    places = sorted(place for place, _ in total.most_common(_MOST_PLACES if len(total) > _MOST_PLACES + 1 else None))
    grouped: dict[Place | None, list[Point]] = defaultdict(list)
    for point in sent:
        grouped[point.place if point.place in set(places) else None].append(point)
    shown = [(f"{topic}/{number}", axis.counts(grouped[topic, number]).tolist()) for topic, number in places]
    return [*shown, (_OTHERS, axis.counts(grouped[None]).tolist())] if None in grouped else shown


def _add_lags(figure: Figure, points: Sequence[Point], axis: _Axis) -> None:
    """Draw for each bin the greatest distance of a row from the last watermark before it in its partition."""
    go = require_plotly()
    passed: dict[Place, int] = {}
    lags: dict[Place, list[tuple[Point, float]]] = defaultdict(list)
    for point in points:
        if point.time_ms is None:
            continue
        if point.kind == "watermark":
            passed[point.place] = max(point.time_ms, passed.get(point.place, 0))
        elif point.is_row and not point.again and point.place in passed:
            lags[point.place].append((point, (point.time_ms - passed[point.place]) / 1000))
    if not lags:
        text = "no row comes after a watermark"
        nothing = go.Scatter(x=axis.range, y=[None, None], showlegend=False)  # a panel without a trace has no axes
        figure.add_trace(nothing, row=3, col=1)
        figure.add_annotation(text=text, x=0.5, y=0.5, xref="x3 domain", yref="y3 domain", showarrow=False)
    for number, (place, lags_of_place) in enumerate(sorted(lags.items())[:_MOST_PLACES]):
        most: dict[int, float] = {}
        for each, (_, lag) in zip(
            axis.bins_of([point for point, _ in lags_of_place]).tolist(), lags_of_place, strict=True
        ):
            most[each] = max(lag, most.get(each, lag))
        name = escape(f"{place[0]}/{place[1]}")
        line = go.Scatter(
            x=[axis.middles[each] for each in sorted(most)],
            y=[most[each] for each in sorted(most)],
            name=name,
            mode="lines+markers",
            marker_size=4,
            line_color=COLOURS[number % len(COLOURS)],
        )
        figure.add_trace(line.update(legend="legend3"), row=3, col=1)


def _sizes(points: Sequence[Point]) -> tuple[list[str], dict[str, list[int]]]:
    """Return the number of messages of each kind by size, in powers of two."""
    sizes: dict[str, Counter[int]] = defaultdict(Counter)
    for point in points:
        if point.bytes:
            sizes[point.kind][point.bytes.bit_length()] += 1
    powers = [power for counts in sizes.values() for power in counts]
    spread = range(min(powers, default=1), max(powers, default=1) + 1)
    labels = [f"{1 << power - 1:,} to {(1 << power) - 1:,}" for power in spread]
    return labels, {kind: [sizes[kind][power] for power in spread] for kind in KINDS if kind in sizes}


def _subtitle(points: Sequence[Point]) -> str:
    kinds = Counter("row" if point.is_row else point.kind for point in points)
    words = {"row": "row", "ddl": "DDL message", "bootstrap": "BOOTSTRAP", "unreadable": "unreadable message"}
    counts = ", ".join(counted(count, words.get(kind, kind)) for kind, count in kinds.items())
    again = sum(point.again for point in points)
    size = sum(point.bytes for point in points)
    places = len({point.place for point in points})
    return f"{counts} on {counted(places, 'topic-partition')}, {counted(size, 'byte')}, {again:,} redelivered"
