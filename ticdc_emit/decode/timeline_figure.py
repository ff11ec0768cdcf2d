"""The life of one partition: commit time against offset, with DDL, BOOTSTRAP, watermarks, redeliveries and findings.

In: points, and what :func:`~ticdc_emit.decode.verify` found. Out: a plotly figure. A watermark means that every change
up to its commit time has arrived. The shaded area is what it covers. A row there is a redelivery or an error, because a
consumer that trusts the watermark has already moved on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ticdc_emit.decode.invariants.finding import Finding
from ticdc_emit.decode.overview_figure import KIND_COLOURS, moment
from ticdc_emit.decode.points import Point
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import counted
from ticdc_emit.pictures import panels, require_plotly

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from ticdc_emit.delivery.base import Place

__all__ = ["timeline_figure", "timeline_figures"]

_RED = "#C00000"
_HEIGHT_PX = 560
_LINE_SHARE = 0.045  # of the plot's height
_MOST_TOLD = 3
_MOST_PLACES = 5
_LONGEST = 56


def timeline_figures(points: Sequence[Point], findings: Sequence[Finding]) -> list[Figure]:
    """Return a timeline of each partition with a finding, at most five.

    Without findings: of the partitions that have the same key, following it; without such a key, of the busiest.
    """
    places = list(dict.fromkeys((each.topic, each.partition) for each in findings))
    there = {point.place for point in points}
    shown = [place for place in places if place in there][:_MOST_PLACES]
    if not shown:
        key, places = _wandering(points)
        if key:
            return [timeline_figure(points, topic=topic, partition=number, key=key) for topic, number in places]
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
    name, number = _place(points, findings, topic, partition)
    here = [point for point in points if point.place == (name, number)]
    findings_here = [each for each in findings if (each.topic, each.partition) == (name, number)]
    if key is None:
        key = next((each.key for each in findings_here if each.key), None)
    elif all(point.key != key for point in here):
        some = ", ".join(sorted({point.key for point in here if point.key})[:5])
        raise ConfigError(
            f"no message of {name}/{number} has the key {key!r}", remedy=f"Keys there: {some or 'none'}", option="key"
        )
    shown = _Shown(here, findings_here, key, most)
    subtitle = counted(len(here), "message") if len(shown.points) == len(here) else shown.span(len(here))
    findings_text = counted(len(findings_here), "finding") if findings_here else "no findings"
    followed = "" if key is None else f", following {escape(key)}{_elsewhere(points, here, key)}"
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


def _wandering(points: Sequence[Point]) -> tuple[str, list[Place]]:
    """Return the first key whose changes are in several partitions of a topic, and those partitions, at most five."""
    places_of: dict[tuple[str, str, str], dict[Place, None]] = {}
    for point in points:
        if point.is_row and point.key:
            places_of.setdefault((point.topic, point.table, point.key), {})[point.place] = None
    found = next(((key, places) for (_, _, key), places in places_of.items() if len(places) > 1), ("", {}))
    return found[0], sorted(found[1])[:_MOST_PLACES]


def _elsewhere(points: Sequence[Point], here: Sequence[Point], key: str) -> str:
    """Return in which other partitions a key of this one is, in words."""
    topic, table = here[0].topic, next((point.table for point in here if point.key == key), "")
    others = {point.partition for point in points if (point.topic, point.table, point.key) == (topic, table, key)}
    others.discard(here[0].partition)
    if not others:
        return ""
    return f", which is also in partition{'s' * (len(others) > 1)} {', '.join(map(str, sorted(others)))}"


def _place(
    points: Sequence[Point], findings: Sequence[Finding], topic: str | None, partition: int | None
) -> tuple[str, int]:
    places = [point.place for point in points]
    fits = [place for place in places if topic in (None, place[0]) and partition in (None, place[1])]
    if not fits:
        there = ", ".join(f"{name}/{number}" for name, number in sorted(set(places))[:5])
        wanted = f"{topic or 'any topic'}/{'any' if partition is None else partition}"
        raise ConfigError(
            f"there is no message of {wanted}",
            remedy=f"Partitions with messages: {there or 'none'}",
            option="partition",
        )
    first = next(((each.topic, each.partition) for each in findings if (each.topic, each.partition) in set(fits)), None)
    return first or max(sorted(set(fits)), key=fits.count)


class _Shown:
    """The drawn points of a partition, with a height for those without a commit time."""

    def __init__(self, here: Sequence[Point], findings: Sequence[Finding], key: str | None, most: int) -> None:
        self._key, self._findings = key, findings
        begin = 0
        if len(here) > most:
            at = next((each.offset for each in findings if each.offset is not None), here[0].offset)
            middle = next(place for place, point in enumerate(here) if point.offset >= at)
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
            line = self._line(followed, name=f"the row {escape(self._key)}", mode="lines", hoverinfo="skip")
            figure.add_trace(go.Scatter(**line, line={"color": "#555", "width": 1, "dash": "dot"}))
        for kind, symbol in (("insert", "circle"), ("update", "diamond"), ("delete", "x")):
            self._dots(figure, kind, lambda point, k=kind: point.kind == k and not point.again, symbol, size=10)
        self._dots(
            figure, "redelivered", lambda point: point.is_row and point.again, "circle-open", size=10, colour="#777777"
        )
        self._dots(figure, "DDL", lambda point: point.kind == "ddl", "triangle-up", size=14, colour=KIND_COLOURS["ddl"])
        self._dots(
            figure, "BOOTSTRAP", lambda point: point.kind == "bootstrap", "square", colour=KIND_COLOURS["bootstrap"]
        )
        self._dots(
            figure, "watermark", lambda point: point.kind == "watermark", "line-ew-open", colour="#444444", size=12
        )
        self._dots(figure, "unreadable", lambda point: point.kind == "unreadable", "asterisk-open", colour="#000000")
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

    def _dots(
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
        trace = self._line(chosen, name=name, mode="markers", marker=marker, hovertemplate="%{text}<extra></extra>")
        figure.add_trace(go.Scatter(**trace, text=[_told(point) for point in chosen]))

    def _draw_findings(self, figure: Figure) -> None:
        go = require_plotly()
        by_offset = {point.offset: point for point in self.points}
        placed = [each for each in self._findings if each.offset in by_offset]
        if placed:
            chosen = [by_offset[each.offset] for each in placed if each.offset is not None]
            trace = self._line(chosen, name="finding", mode="markers", hovertemplate="%{text}<extra></extra>")
            marker = {"symbol": "circle-open", "size": 22, "color": _RED, "line": {"width": 3}}
            figure.add_trace(go.Scatter(**trace, marker=marker, text=[_wrapped(str(each)) for each in placed]))
            self._draw_texts(figure, placed, by_offset)
        for number, each in enumerate([each for each in self._findings if each.offset is None][:_MOST_TOLD]):
            text, place = _wrapped(f"{each.text} ({each.invariant})"), 0.02 + 0.06 * number
            figure.add_annotation(
                text=text, x=0.01, y=1 - place, xref="paper", yref="paper", showarrow=False, font={"color": _RED}
            )

    def _draw_texts(self, figure: Figure, findings: Sequence[Finding], by_offset: Mapping[int, Point]) -> None:
        """Write the first findings at the top left, where there is room because commit times rise."""
        texts: dict[int, list[str]] = {}
        for each in findings:
            if each.offset is not None:
                texts.setdefault(each.offset, []).append(_wrapped(f"{each.text} ({each.invariant})"))
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

    def _line(self, points: Sequence[Point], **more: Any) -> dict[str, Any]:
        heights = [moment(self._times[id(point)]) for point in points]
        return {"x": [point.offset for point in points], "y": heights, **more}


def _told(point: Point) -> str:
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


def _wrapped(text: str) -> str:
    words, lines = text.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > _LONGEST:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(map(escape, lines))
