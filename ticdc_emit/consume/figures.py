"""Pictures of messages: an overview of a stream, and the timeline of a key in every partition that has it.

In: messages, as a :class:`~ticdc_emit.consume.verify.Verifier` reads them (``watch=points.see``), so nothing is decoded
twice, and its findings. Out: plotly figures of :class:`Point` records in the order of arrival, about 300 bytes for each
row and control message. plotly is imported only when a figure is drawn (extra ``plot``).
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.consume.invariants import Finding, Seen
from ticdc_emit.consume.verify import Verifier
from ticdc_emit.delivery.base import Message, Target
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import counted
from ticdc_emit.pictures import COLOURS, panels, require_plotly
from ticdc_emit.protocols.events import DdlEvent, RowEvent, commit_ms_of, kind_of, table_of
from ticdc_emit.protocols.registered_avro import SchemaSource

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


KINDS = ("insert", "update", "delete", "ddl", "bootstrap", "watermark", "unreadable")


@dataclass(frozen=True, slots=True)
class Point:
    """One row, statement, BOOTSTRAP or watermark. ``kind``: one of :data:`KINDS`.

    ``commit_ts``: TSO, and ``time_ms``: its physical time, if the message has them. ``bytes``: of key and value; 0 for
    further rows of the same message. ``again``: whether its partition has had it before. ``text``: a statement.
    """

    topic: str
    partition: int
    offset: int
    kind: str
    bytes: int
    table: str = ""
    key: str = ""
    commit_ts: int | None = None
    time_ms: int | None = None
    again: bool = False
    text: str = ""

    @property
    def target(self) -> Target:
        """Topic and partition."""
        return self.topic, self.partition

    @property
    def is_row(self) -> bool:
        """Whether it is an insert, update or delete."""
        return self.kind in KINDS[:3]


@dataclass
class Points:
    """Collects the points of messages."""

    all: list[Point] = field(default_factory=list)
    _controls: set[tuple[Target, str, int | None, str]] = field(default_factory=set)
    _last: tuple[str, int, int] | None = None

    def see(self, message: Message, seen: Seen | None) -> None:
        """Take one row or control message; ``None`` for a message that cannot be read."""
        place = message[:3]
        size = 0 if place == self._last else len(message.key or b"") + len(message.value or b"")
        self._last = place
        if seen is None:
            self.all.append(Point(*place, "unreadable", size))
            return
        event = seen.event
        table, commit_ts = table_of(event), event.commit_ts
        time_ms = commit_ms_of(event)
        if isinstance(event, RowEvent):
            again = not seen.first
            self.all.append(Point(*place, event.op, size, table, seen.key_text, commit_ts, time_ms, again))
            return
        text = event.query if isinstance(event, DdlEvent) else ""
        control = (message[:2], kind_of(event), commit_ts, text or table)
        again = control in self._controls and kind_of(event) != "bootstrap"  # TiCDC repeats these regularly
        self._controls.add(control)
        self.all.append(Point(*place, kind_of(event), size, table, "", commit_ts, time_ms, again, text))


KIND_COLOURS = dict(
    zip(KINDS, (COLOURS[2], COLOURS[0], COLOURS[5], COLOURS[3], COLOURS[4], COLOURS[7], "#000000"), strict=True)
)
_BINS = 60
_MOST_PARTITIONS = 12
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
    for number, (name, values) in enumerate(_counts_by_partition(points, axis)):
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
    labels, sizes = _counts_by_size(points)
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
        self.middles: list[Any] = [self._axis_value(each) for each in middles]
        self.range = [self._axis_value(self.edges[0]), self._axis_value(self.edges[-1])]
        self.title = "commit time (UTC)" if self.is_time else "order of arrival (the messages have no commit times)"
        self.width_text = f"{width / 1000:g} s" if self.is_time else counted(width, "message")

    def position(self, point: Point) -> int | None:
        return point.time_ms if self.is_time else self._arrival[id(point)]

    def bins_of(self, points: Sequence[Point]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the bin of each point that has a position."""
        positions = np.array(
            [position for point in points if (position := self.position(point)) is not None], np.float64
        )
        return np.clip(np.searchsorted(self.edges, positions, side="right") - 1, 0, len(self.edges) - 2)

    def counts(self, points: Sequence[Point]) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.bincount(self.bins_of(points), minlength=len(self.edges) - 1)

    def _axis_value(self, value: float) -> Any:
        return moment(round(value)) if self.is_time else float(value)


def _counts_by_partition(points: Sequence[Point], axis: _Axis) -> list[tuple[str, list[int]]]:
    """Return messages in each bin by topic-partition; all but the busiest are combined."""
    sent = [point for point in points if point.bytes or point.kind == "unreadable"]
    total = Counter(point.target for point in sent)
    targets = sorted(
        target for target, _ in total.most_common(_MOST_PARTITIONS if len(total) > _MOST_PARTITIONS + 1 else None)
    )
    grouped: dict[Target | None, list[Point]] = defaultdict(list)
    for point in sent:
        grouped[point.target if point.target in set(targets) else None].append(point)
    shown = [(f"{topic}/{number}", axis.counts(grouped[topic, number]).tolist()) for topic, number in targets]
    return [*shown, (_OTHERS, axis.counts(grouped[None]).tolist())] if None in grouped else shown


def _add_lags(figure: Figure, points: Sequence[Point], axis: _Axis) -> None:
    """Draw for each bin the greatest distance of a row from the last watermark before it in its partition."""
    go = require_plotly()
    passed: dict[Target, int] = {}
    lags: dict[Target, list[tuple[Point, float]]] = defaultdict(list)
    for point in points:
        if point.time_ms is None:
            continue
        if point.kind == "watermark":
            passed[point.target] = max(point.time_ms, passed.get(point.target, 0))
        elif point.is_row and not point.again and point.target in passed:
            lags[point.target].append((point, (point.time_ms - passed[point.target]) / 1000))
    if not lags:
        text = "no row comes after a watermark"
        nothing = go.Scatter(x=axis.range, y=[None, None], showlegend=False)  # a panel without a trace has no axes
        figure.add_trace(nothing, row=3, col=1)
        figure.add_annotation(text=text, x=0.5, y=0.5, xref="x3 domain", yref="y3 domain", showarrow=False)
    for number, (target, lags_of_target) in enumerate(sorted(lags.items())[:_MOST_PARTITIONS]):
        most: dict[int, float] = {}
        for each, (_, lag) in zip(
            axis.bins_of([point for point, _ in lags_of_target]).tolist(), lags_of_target, strict=True
        ):
            most[each] = max(lag, most.get(each, lag))
        name = escape(f"{target[0]}/{target[1]}")
        line = go.Scatter(
            x=[axis.middles[each] for each in sorted(most)],
            y=[most[each] for each in sorted(most)],
            name=name,
            mode="lines+markers",
            marker_size=4,
            line_color=COLOURS[number % len(COLOURS)],
        )
        figure.add_trace(line.update(legend="legend3"), row=3, col=1)


def _counts_by_size(points: Sequence[Point]) -> tuple[list[str], dict[str, list[int]]]:
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
    targets = len({point.target for point in points})
    return f"{counts} on {counted(targets, 'topic-partition')}, {counted(size, 'byte')}, {again:,} redelivered"


_RED = "#C00000"
_HEIGHT_PX = 560
_LINE_SHARE = 0.045  # of the plot's height
_MOST_TOLD = 3
_MOST_MARKS = 5
_LONGEST = 56


def timeline_figures(points: Sequence[Point], findings: Sequence[Finding]) -> list[Figure]:
    """Return a timeline of each partition with a finding, at most five.

    Without findings: of the partitions that have the same key, following it; without such a key, of the busiest.
    """
    targets = list(dict.fromkeys((each.topic, each.partition) for each in findings))
    there = {point.target for point in points}
    shown = [target for target in targets if target in there][:_MOST_MARKS]
    if not shown:
        key, targets = _key_in_several_partitions(points)
        if key:
            return [timeline_figure(points, topic=topic, partition=number, key=key) for topic, number in targets]
        return [timeline_figure(points, findings)] if points else []
    return [timeline_figure(points, findings, topic=topic, partition=number) for topic, number in shown]


def timeline_figure(
    points: Sequence[Point],
    findings: Sequence[Finding] = (),
    *,
    topic: str | None = None,
    partition: int | None = None,
    key: str | None = None,
    most: int = 1000,
) -> Figure:
    """Return the timeline of a partition; default that of the first finding, else the busiest.

    ``key``: the handle key to follow (``id=7``); default that of the first finding there. ``most``: how many points are
    drawn, those around the first finding, else the first ones.

    Raises :class:`~ticdc_emit.errors.ConfigError` for a partition or key without messages, and
    :class:`~ticdc_emit.errors.MissingDependencyError` without plotly.
    """
    require_plotly()
    name, number = _choose_partition(points, findings, topic, partition)
    here = [point for point in points if point.target == (name, number)]
    findings_here = [each for each in findings if (each.topic, each.partition) == (name, number)]
    if key is None:
        key = next((each.key for each in findings_here if each.key), None)
    elif all(point.key != key for point in here):
        some = ", ".join(sorted({point.key for point in here if point.key})[:5])
        raise ConfigError(
            f"no message of {name}/{number} has the key {key!r}", remedy=f"Keys there: {some or 'none'}", option="key"
        )
    shown = _Timeline(here, findings_here, key, most)
    subtitle = counted(len(here), "message") if len(shown.points) == len(here) else shown.span(len(here))
    findings_text = counted(len(findings_here), "finding") if findings_here else "no findings"
    followed = "" if key is None else f", following {escape(key)}{_other_partitions(points, here, key)}"
    figure = panels(
        f"{escape(name)} partition {number}", f"{subtitle}, {findings_text}{followed}", ("",), height=_HEIGHT_PX
    )
    shown.draw(figure)
    figure.update_xaxes(title_text="offset", dtick=1 if len(shown.points) <= 30 else None)
    figure.update_yaxes(title_text="commit time (UTC)")
    first, last = shown.points[0].offset, shown.points[-1].offset
    figure.update_xaxes(range=[first - 1, last + 1])
    figure.update_layout(hovermode="closest", legend_traceorder="normal", margin_t=85)
    return figure


def _key_in_several_partitions(points: Sequence[Point]) -> tuple[str, list[Target]]:
    """Return the first key whose changes are in several partitions of a topic, and those partitions, at most five."""
    targets_of: dict[tuple[str, str, str], dict[Target, None]] = {}
    for point in points:
        if point.is_row and point.key:
            targets_of.setdefault((point.topic, point.table, point.key), {})[point.target] = None
    for (_, _, key), targets in targets_of.items():
        if len(targets) > 1:
            return key, sorted(targets)[:_MOST_MARKS]
    return "", []


def _other_partitions(points: Sequence[Point], here: Sequence[Point], key: str) -> str:
    """Return in which other partitions a key of this one is, in words."""
    topic, table = here[0].topic, next((point.table for point in here if point.key == key), "")
    others = {point.partition for point in points if (point.topic, point.table, point.key) == (topic, table, key)}
    others.discard(here[0].partition)
    if not others:
        return ""
    return f", which is also in partition{'s' * (len(others) > 1)} {', '.join(map(str, sorted(others)))}"


def _choose_partition(
    points: Sequence[Point], findings: Sequence[Finding], topic: str | None, partition: int | None
) -> tuple[str, int]:
    targets = [point.target for point in points]
    fits = [target for target in targets if topic in (None, target[0]) and partition in (None, target[1])]
    if not fits:
        there = ", ".join(f"{name}/{number}" for name, number in sorted(set(targets))[:5])
        wanted = f"{topic or 'any topic'}/{'any' if partition is None else partition}"
        raise ConfigError(
            f"there is no message of {wanted}",
            remedy=f"Partitions with messages: {there or 'none'}",
            option="partition",
        )
    first = next(((each.topic, each.partition) for each in findings if (each.topic, each.partition) in set(fits)), None)
    return first or max(sorted(set(fits)), key=fits.count)


class _Timeline:
    """The drawn points of a partition, with a height for those without a commit time."""

    def __init__(self, here: Sequence[Point], findings: Sequence[Finding], key: str | None, most: int) -> None:
        self._key, self._findings = key, findings
        begin = 0
        if len(here) > most:
            at = next((each.offset for each in findings if each.offset is not None), here[0].offset)
            middle = next(number for number, point in enumerate(here) if point.offset >= at)
            begin = min(max(middle - most // 2, 0), len(here) - most)
        self._times: dict[int, int] = {}
        self._passed: list[int | None] = []
        last = next((point.time_ms for point in here if point.time_ms is not None), 0)
        watermark: int | None = None
        for point in here:
            last = last if point.time_ms is None else point.time_ms
            self._times[id(point)] = last
            if point.kind == "watermark" and point.time_ms is not None:
                watermark = max(point.time_ms, watermark or 0)
            self._passed.append(watermark)
        self.points = here[begin : begin + most]
        self._passed = self._passed[begin : begin + most]

    def span(self, whole: int) -> str:
        first, last = self.points[0].offset, self.points[-1].offset
        return f"offsets {first:,} to {last:,}: {len(self.points):,} of the {counted(whole, 'message')} read"

    def draw(self, figure: Figure) -> None:
        go = require_plotly()
        self._draw_watermark(figure)
        rows = [point for point in self.points if point.is_row]
        if self._key is not None:
            followed = [point for point in rows if point.key == self._key]
            line = self._coordinates(followed, name=f"the row {escape(self._key)}", mode="lines", hoverinfo="skip")
            figure.add_trace(go.Scatter(**line, line={"color": "#555", "width": 1, "dash": "dot"}))
        for kind, symbol in (("insert", "circle"), ("update", "diamond"), ("delete", "x")):
            self._draw_points(figure, kind, lambda point, k=kind: point.kind == k and not point.again, symbol, size=10)
        self._draw_points(
            figure, "redelivered", lambda point: point.is_row and point.again, "circle-open", size=10, colour="#777777"
        )
        self._draw_points(
            figure, "DDL", lambda point: point.kind == "ddl", "triangle-up", size=14, colour=KIND_COLOURS["ddl"]
        )
        self._draw_points(
            figure, "BOOTSTRAP", lambda point: point.kind == "bootstrap", "square", colour=KIND_COLOURS["bootstrap"]
        )
        self._draw_points(
            figure, "watermark", lambda point: point.kind == "watermark", "line-ew-open", colour="#444444", size=12
        )
        self._draw_points(
            figure, "unreadable", lambda point: point.kind == "unreadable", "asterisk-open", colour="#000000"
        )
        for point in self.points:
            if point.kind == "ddl" and not point.again:
                figure.add_vline(x=point.offset, line={"color": KIND_COLOURS["ddl"], "width": 1, "dash": "dot"})
        self._draw_findings(figure)

    def _draw_watermark(self, figure: Figure) -> None:
        go = require_plotly()
        passed = [(point.offset, ts) for point, ts in zip(self.points, self._passed, strict=True) if ts is not None]
        if not passed:
            return
        offsets = [offset for offset, _ in passed] + [self.points[-1].offset + 0.5]
        heights = [moment(ts) for _, ts in passed] + [moment(passed[-1][1])]
        lowest = min([*(self._times[id(point)] for point in self.points), *(ts for _, ts in passed)])
        step = {"x": offsets, "mode": "lines", "line_shape": "hv", "hoverinfo": "skip"}
        floor = go.Scatter(**step, y=[moment(lowest)] * len(offsets), line_width=0, showlegend=False)
        figure.add_trace(floor)
        area = go.Scatter(**step, y=heights, name="behind the watermark", fill="tonexty")
        figure.add_trace(area.update(line={"color": "#999", "width": 1}, fillcolor="rgba(120,120,120,0.18)"))

    def _draw_points(
        self,
        figure: Figure,
        name: str,
        wanted: Callable[..., bool],
        symbol: str,
        *,
        size: int = 9,
        colour: str | None = None,
    ) -> None:
        chosen = [point for point in self.points if wanted(point)]
        if not chosen:
            return
        go = require_plotly()
        others = self._key is not None and chosen[0].is_row
        faint = [0.35 if others and point.key != self._key else 1.0 for point in chosen]
        marker = {
            "symbol": symbol,
            "size": size,
            "color": colour or KIND_COLOURS[chosen[0].kind],
            "opacity": faint,
            "line": {"width": 2 if symbol.endswith("-open") else 0.5},
        }
        trace = self._coordinates(
            chosen, name=name, mode="markers", marker=marker, hovertemplate="%{text}<extra></extra>"
        )
        figure.add_trace(go.Scatter(**trace, text=[_hover_text(point) for point in chosen]))

    def _draw_findings(self, figure: Figure) -> None:
        go = require_plotly()
        by_offset = {point.offset: point for point in self.points}
        placed = [each for each in self._findings if each.offset in by_offset]
        if placed:
            chosen = [by_offset[each.offset] for each in placed if each.offset is not None]
            trace = self._coordinates(chosen, name="finding", mode="markers", hovertemplate="%{text}<extra></extra>")
            marker = {"symbol": "circle-open", "size": 22, "color": _RED, "line": {"width": 3}}
            figure.add_trace(go.Scatter(**trace, marker=marker, text=[_wrap(str(each)) for each in placed]))
            self._draw_texts(figure, placed, by_offset)
        for number, each in enumerate([each for each in self._findings if each.offset is None][:_MOST_TOLD]):
            text, depth = _wrap(f"{each.text} ({each.invariant})"), 0.02 + 0.06 * number
            figure.add_annotation(
                text=text, x=0.01, y=1 - depth, xref="paper", yref="paper", showarrow=False, font={"color": _RED}
            )

    def _draw_texts(self, figure: Figure, findings: Sequence[Finding], by_offset: Mapping[int, Point]) -> None:
        """Write the first findings at the top left, where there is room because commit times rise."""
        texts: dict[int, list[str]] = {}
        for each in findings:
            if each.offset is not None:
                texts.setdefault(each.offset, []).append(_wrap(f"{each.text} ({each.invariant})"))
        times = [self._times[id(point)] for point in self.points]
        first, last, lowest, highest = self.points[0].offset, self.points[-1].offset, min(times), max(times)
        lines = 0
        for offset, each_text in list(texts.items())[:_MOST_TOLD]:
            text = "<br>".join(each_text)
            figure.add_annotation(
                x=offset,
                y=moment(self._times[id(by_offset[offset])]),
                text=text,
                axref="x",
                ayref="y",
                ax=first + (last - first) * 0.02,
                ay=moment(round(highest - (highest - lowest) * lines * _LINE_SHARE)),
                xanchor="left",
                yanchor="top",
                align="left",
                font={"color": _RED, "size": 12},
                arrowcolor=_RED,
                bgcolor="rgba(255,255,255,0.85)",
                standoff=10,
            )
            lines += text.count("<br>") + 2

    def _coordinates(self, points: Sequence[Point], **more: Any) -> dict[str, Any]:
        heights = [moment(self._times[id(point)]) for point in points]
        return {"x": [point.offset for point in points], "y": heights, **more}


def _hover_text(point: Point) -> str:
    """Return the hover text of a point."""
    facts = [
        f"<b>offset {point.offset:,}: {point.kind}{', again' if point.again else ''}</b>",
        escape(" ".join(part for part in (point.table, point.key) if part)),
        escape(point.text),
        "no commit time" if point.time_ms is None else f"commit time {moment(point.time_ms):%Y-%m-%d %H:%M:%S.%f}"[:-3],
        "" if point.commit_ts is None else f"commit_ts {point.commit_ts}",
        f"{counted(point.bytes, 'byte')}" if point.bytes else "",
    ]
    return "<br>".join(fact for fact in facts if fact)


def _wrap(text: str) -> str:
    words, lines = text.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > _LONGEST:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(map(escape, lines))


def plot_messages(
    messages: Iterable[Message], config: ChangefeedConfig | str, *, schemas: SchemaSource | None = None
) -> Figure:
    """Return an overview: messages by topic-partition over commit time, rate, lag to the watermark, sizes.

    ``config``: the changefeed that sent the messages, or its sink URI. ``schemas``: Avro schemas by id, default the
    changefeed's registry. Raises :class:`~ticdc_emit.errors.ConfigError` without a message.
    """
    points, _ = _read_points(messages, config, schemas, None)
    return overview_figure(points)


def plot_timeline(
    messages: Iterable[Message],
    config: ChangefeedConfig | str,
    *,
    topic: str | None = None,
    partition: int | None = None,
    key: str | None = None,
    partitions: Mapping[str, int] | int | None = None,
    schemas: SchemaSource | None = None,
    most: int = 1000,
) -> Figure:
    """Return one partition's commit times against offsets, with the findings of :func:`~ticdc_emit.verify` marked.

    ``topic``, ``partition``: default those of the first finding, else of the busiest partition. ``key``: the handle key
    to follow (``id=7``), default the first finding's. ``most``: how many messages to draw. ``config``, ``schemas``: as
    for :func:`plot_messages`; ``partitions``: as for :func:`~ticdc_emit.verify`. Raises
    :class:`~ticdc_emit.errors.ConfigError` for a partition or key without messages.
    """
    points, findings = _read_points(messages, config, schemas, partitions)
    return timeline_figure(points, findings, topic=topic, partition=partition, key=key, most=most)


def _read_points(
    messages: Iterable[Message],
    config: ChangefeedConfig | str,
    schemas: SchemaSource | None,
    partitions: Mapping[str, int] | int | None,
) -> tuple[list[Point], list[Finding]]:
    require_plotly()
    points = Points()
    verifier = Verifier(config, schemas=schemas, watch=points.see)
    for message in messages:
        verifier.see(message)
    return points.all, verifier.finish(partitions)
