"""Pictures: what the figures' data say, what the page holds, and the short forms of objects."""

from __future__ import annotations

import datetime as dt
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from child import exit_code

from ticdc_emit import Encoder, History, Message, RunReport, scenario, to_messages, verify
from ticdc_emit.consume.figures import (
    Point,
    Points,
    moment,
    overview_figure,
    plot_messages,
    plot_timeline,
    timeline_figure,
    timeline_figures,
)
from ticdc_emit.consume.invariants import Finding
from ticdc_emit.consume.verify import Verifier
from ticdc_emit.delivery import DeliveryReport, PartitionCount
from ticdc_emit.errors import ConfigError, MissingDependencyError
from ticdc_emit.pictures import Page
from ticdc_emit.pipeline.report import RunTotal, report_figure
from ticdc_emit.traffic.replay import ReplayReport

MS = 1_780_000_000_000
FINDING = Finding("watermark", "is new behind <it>", "t", 0, 4, "a.t", "id=1")


def _point(offset: int, kind: str, seconds: float | None, partition: int = 0, **more: Any) -> Point:
    time_ms = None if seconds is None else MS + round(1000 * seconds)
    return Point("t", partition, offset, kind, 100, "a.t", more.pop("key", ""), None, time_ms, **more)


LIFE = [
    _point(0, "insert", 1, key="id=1"),
    _point(1, "watermark", 2),
    _point(2, "insert", 1, key="id=1", again=True),
    _point(3, "watermark", 5),
    _point(4, "update", 3, key="id=1"),
    _point(5, "ddl", 6, text="ALTER TABLE t ADD COLUMN <b> INT"),
    _point(6, "delete", None, key="id=<2>"),
    _point(7, "bootstrap", 7),
]


def _traces(figure: Any) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


def _at(*seconds: float) -> tuple[dt.datetime, ...]:
    return tuple(moment(MS + round(1000 * each)) for each in seconds)


def test_a_timeline_shows_what_is_behind_the_watermark() -> None:
    traces = _traces(timeline_figure(LIFE, [FINDING]))
    area = traces["behind the watermark"]
    assert (area.x, area.y) == ((1, 2, 3, 4, 5, 6, 7, 7.5), _at(2, 2, 5, 5, 5, 5, 5, 5))
    finding = traces["finding"]
    assert (finding.x, finding.y) == ((4,), _at(3))
    assert finding.y[0] < area.y[area.x.index(4)]
    assert (traces["redelivered"].x, traces["insert"].x, traces["DDL"].x) == ((2,), (0,), (5,))
    assert (traces["BOOTSTRAP"].x, traces["watermark"].x) == ((7,), (1, 3))
    assert traces["the row id=1"].x == (0, 2, 4)
    assert (traces["delete"].x, traces["delete"].y) == ((6,), _at(6)), "no commit time: at that of the one before"
    assert "no commit time" in traces["delete"].text[0]
    assert traces["update"].marker.opacity == (1.0,)
    assert traces["delete"].marker.opacity == (0.35,), "rows that are not followed are faint"


def test_texts_of_messages_are_not_html() -> None:
    figure = timeline_figure(LIFE, [FINDING])
    assert "ADD COLUMN &lt;b&gt;" in _traces(figure)["DDL"].text[0]
    assert "id=&lt;2&gt;" in _traces(figure)["delete"].text[0]
    assert any("behind &lt;it&gt;" in note.text for note in figure.layout.annotations)
    assert "<it>" not in figure.to_html(full_html=False, include_plotlyjs=False)


def test_a_long_partition_is_drawn_around_its_finding() -> None:
    points = [_point(offset, "insert", offset, key=f"id={offset}") for offset in range(1000)]
    finding = Finding("key-order", "late", "t", 0, 700, "a.t", "id=700")
    figure = timeline_figure(points, [finding], most=100)
    assert (_traces(figure)["insert"].x[0], _traces(figure)["insert"].x[-1]) == (650, 749)
    assert "offsets 650 to 749: 100 of the 1,000 messages read" in figure.layout.title.text
    assert timeline_figure(points, most=100).data[0].x[-1] == 99


def test_the_partition_and_key_are_those_asked_for_or_found() -> None:
    points = [*LIFE, *(_point(offset, "insert", offset, 1, key=f"id={offset}") for offset in range(20))]
    assert "partition 1" in timeline_figure(points).layout.title.text, "the busiest"
    assert "partition 0" in timeline_figure(points, [FINDING]).layout.title.text
    assert "following id=3" in timeline_figure(points, [FINDING], partition=1, key="id=3").layout.title.text
    assert len(timeline_figures(points, [FINDING])) == len(timeline_figures(points[len(LIFE) :], [])) == 1
    with pytest.raises(ConfigError, match=r"no message of u/7 .*Partitions with messages: t/0, t/1"):
        timeline_figure(points, topic="u", partition=7)
    with pytest.raises(ConfigError, match=r"no message of t/0 has the key 'id=9' .*Keys there: id=1, id=<2>"):
        timeline_figure(points, partition=0, key="id=9")


def test_a_key_in_several_partitions_is_followed_through_them() -> None:
    others = [_point(offset, "insert", offset, 2, key=f"k={offset}") for offset in range(9)]
    points = [*LIFE, _point(0, "update", 9, 1, key="id=1"), *others]
    titles = [figure.layout.title.text for figure in timeline_figures(points, [])]
    assert [title[:19] for title in titles] == ["<b>t partition 0</b", "<b>t partition 1</b"]
    assert "no findings, following id=1, which is also in partition 1<" in titles[0]
    case = scenario("wandering-key")
    points = Points()
    verifier = Verifier(case.config, watch=points.see)
    for message in case.messages:
        verifier.see(message)
    assert len(timeline_figures(points.all, verifier.finish())) > 1


def test_a_finding_of_a_whole_partition_is_told_above() -> None:
    figure = timeline_figure(LIFE, [Finding("watermark", "has no watermark", "t", 0)])
    assert [note.text for note in figure.layout.annotations if "no watermark" in note.text] == [
        "has no watermark (watermark)"
    ]


def test_an_overview_counts_every_message_once() -> None:
    points = [*LIFE, _point(0, "insert", 9, 1), Point("t", 1, 0, "insert", 0, time_ms=MS + 9000)]
    figure = overview_figure(points)
    bars = {trace.name: trace for trace in figure.data if trace.xaxis == "x"}
    assert {name: sum(bar.y) for name, bar in bars.items()} == {"t/0": 7, "t/1": 1}, "the delete has no time"
    rates = {trace.name: sum(trace.y) for trace in figure.data if trace.xaxis == "x2"}
    assert rates["insert"] == pytest.approx(4 / 0.2), "four of them, each in a bin of 0.2 s"
    (lag,) = (trace for trace in figure.data if trace.xaxis == "x3")
    assert (lag.name, lag.y) == ("t/0", (-2.0,)), "a new row behind the watermark is below zero"
    sizes = {trace.name: sum(trace.y) for trace in figure.data if trace.xaxis == "x4"}
    assert sum(sizes.values()) == 9
    assert sizes["watermark"] == 2


def test_without_commit_times_an_overview_is_by_arrival() -> None:
    figure = overview_figure([_point(offset, "insert", None) for offset in range(90)])
    assert "order of arrival" in figure.layout.annotations[0].text
    assert sum(figure.data[0].y) == 90
    assert any(note.text == "no row comes after a watermark" for note in figure.layout.annotations)
    with pytest.raises(ConfigError, match="no message to draw"):
        overview_figure([])


def _report(batch: int, partitions: int = 3, **more: Any) -> RunReport:
    counts = {("t", number): PartitionCount(10 + number, 1000) for number in range(partitions)}
    watermark = (MS + 1000 * batch) << 18
    given: dict[str, Any] = {
        "rows": 30, "late_rows": 0, "seconds": 0.5, "watermark": watermark, "max_commit_ts": watermark + (2500 << 18),
        "finished_ms": MS + 1000 * batch,
    }  # fmt: skip
    return RunReport(batch_id=batch, delivery=DeliveryReport(counts), **(given | more))


def test_reports_are_drawn_batch_by_batch() -> None:
    figure = report_figure([_report(0), _report(1, partitions=2)])
    first = [(trace.name, trace.y) for trace in figure.data if trace.xaxis == "x"]
    assert first == [("t/0", (10, 10)), ("t/1", (11, 11)), ("t/2", (12, 0))]
    assert [trace.y for trace in figure.data if trace.xaxis == "x2"] == [(60.0, 60.0)]
    assert [trace.y for trace in figure.data if trace.xaxis == "x3"] == [(2.5, 2.5)]
    assert [trace.y for trace in figure.data if trace.xaxis == "x4"][2] == (1000, 0)
    assert "2 batches: 60 rows, 54 messages" in figure.layout.title.text


def test_one_report_is_drawn_by_topic_partition() -> None:
    figure = _report(7, partitions=20).plot()
    names = [trace.name for trace in figure.data if trace.xaxis == "x"]
    assert len(names) == 13
    assert names[-1] == "other topic-partitions"
    assert sum(trace.y[0] for trace in figure.data if trace.xaxis == "x") == 20 * 10 + sum(range(20))
    with pytest.raises(ConfigError, match="no report to draw"):
        report_figure([])


def _behind() -> tuple[list[Message], str]:
    """A row that a producer sends behind the watermark that covers it."""
    uri = "memory://t?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
    encoder = Encoder(uri, "create table a.t (id int primary key)")
    changes = [{"op": "c", "commit_ts": (MS + 1000 * id_) << 18, "after": {"id": id_}} for id_ in range(4)]
    rows = [encoder.encode([change]) for change in changes]
    return to_messages(rows[0], rows[1], encoder.watermark((MS + 2500) << 18), rows[3], rows[2]), uri


def test_messages_are_verified_and_drawn() -> None:
    messages, uri = _behind()
    assert [finding.offset for finding in verify(messages, uri)] == [4]
    traces = _traces(plot_timeline(messages, uri))
    assert (traces["finding"].x, traces["insert"].x, traces["watermark"].x) == ((4,), (0, 1, 3, 4), (2,))
    assert sum(plot_messages(messages, uri).data[0].y) == 5


def test_redeliveries_of_a_scenario_are_seen() -> None:
    case = scenario("redelivery", protocol="simple-json")
    traces = _traces(plot_timeline(case.messages, case.config))
    assert len(traces["redelivered"].x) > 3
    assert "finding" not in traces


def test_verify_draws_what_it_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "all.html"
    out = f"jsonl://{tmp_path}/out?protocol=avro"
    assert exit_code("scenario", "redelivery", "--sink-uri", out.replace("avro", "simple")) == 0
    assert exit_code("verify", f"{tmp_path}/out", "--protocol", "simple", "--html", str(path)) == 0
    assert f"pictures: {path}" in capsys.readouterr().err
    page = path.read_text(encoding="utf-8")
    assert page.count("* plotly.js v") == 1, "plotly is in the page, once"
    assert page.count('class="plotly-graph-div"') == 2
    assert "behind the watermark" in page


@pytest.mark.parametrize("place", ["kafka", "file", "memory"])
def test_a_run_draws_its_tables_and_operations(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.html"
    uri = {"file": f"jsonl://{tmp_path}/out", "memory": "memory://pictures"}.get(place)
    sink = [] if uri is None else ["--sink-uri", f"{uri}?protocol=canal-json&enable-tidb-extension=true"]
    assert exit_code("generate", "--schema", "bank", "--rows", "60", *sink, "--html", str(path), "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    page = path.read_text(encoding="utf-8")
    cells = [re.findall("<td>(.*?)</td>", line) for line in re.findall("<tr>(<td>bank.*?)</tr>", page)]
    assert [line[0] for line in cells] == ["bank.accounts", "bank.customers", "bank.transfers"]
    assert sum(int(count) for line in cells for count in line[1:4]) == rows
    assert all(line[6].startswith("2024-01-01 00:00:0") for line in cells)
    assert page.count('class="plotly-graph-div"') == 3


@pytest.mark.parametrize("command", [["verify", "x", "--protocol", "simple"], ["demo"], ["scenario", "redelivery"]])
def test_a_page_that_cannot_be_written_is_refused_before_anything_runs(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(*command, "--html", f"{tmp_path}/no/page.html") == 2
    assert "no does not exist [option='html']. Name a file in a folder that exists" in capsys.readouterr().err


def test_without_plotly_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    draw: list[Callable[[], object]] = [
        lambda: Page(tmp_path / "x.html", "x"),
        _report(1).plot,
        lambda: plot_messages([], "memory://t?protocol=simple"),
    ]
    for each in draw:
        with pytest.raises(MissingDependencyError, match=r"pictures need plotly.*pip install 'ticdc-emit\[plot\]'"):
            each()


def test_a_page_escapes_its_texts(tmp_path: Path) -> None:
    page = Page(tmp_path / "x.html", "<title>")
    page.add_table("1 < 2", ("<a>",), [("<script>",)])
    shown = page.write().read_text(encoding="utf-8")
    assert "<h1>&lt;title&gt;</h1><section><h2>1 &lt; 2</h2>" in shown
    assert "<td>&lt;script&gt;</td>" in shown


def test_titles_are_text_of_the_page_and_it_has_a_dark_form(tmp_path: Path) -> None:
    page = Page(tmp_path / "x.html", "x")
    figure = timeline_figure(LIFE, [FINDING], key="id=<2>")
    page.add(figure)
    shown = page.html()
    assert "<h2>t partition 0</h2><p>8 messages, 1 finding, following id=&lt;2&gt;</p>" in shown
    assert '"title":{"text":"\\u003cb' not in shown
    assert "prefers-color-scheme:dark" in shown
    assert figure.layout.title.text, "the figure itself keeps its title"


def test_objects_are_short_in_consoles_and_tables_in_notebooks() -> None:
    encoder = Encoder("kafka://u:secret@h:9092/t?protocol=simple", "create table a.t (id int primary key, `<n>` text)")
    table = encoder.catalog.table("a", "t")
    case = scenario("redelivery", protocol="simple-json")
    history = History(case.schema, case.history.rows)
    total = RunTotal.of([_report(1), _report(2)])
    replay = ReplayReport(
        total=total, slices=9, first_slice=0, done_slices=9, finished=True, seconds=1, prepare_seconds=1
    )
    message = Message("t", 0, 7, None, b"x" * 500)
    shown: list[tuple[Any, str]] = [
        (encoder, "<Encoder simple-json of classic, <Catalog of a.t>>"),
        (encoder.catalog, "<Catalog of a.t>"),
        (table, f"<Table a.t (id, <n>), version {table.version}>"),
        (case, f"<Scenario redelivery as simple-json, seed 0: {len(case.messages)} messages>"),
        (message, f"<Message t/0@7 key=None value={b'x' * 48!r}… (500 bytes)>"),
    ]
    assert [repr(each) for each, _ in shown] == [text for _, text in shown]
    told = "<RunReport batch 7: 30 rows, 33 messages, 3,000 bytes in 0.5 s, watermark 2026-"
    assert repr(_report(7)).startswith(told)
    assert repr(replay).startswith("<ReplayReport 9 of 9 slices: 2 batches: 60 rows")
    large = History("", [{"schema": "a", "table": "t", "op": "c"}] * 101)
    assert repr(large) == "<History of a.t: 101 rows, 0 statements>"
    assert eval(repr(history)) == history, "a small one is printed as Python, as Hypothesis shows examples"
    for each in (*(each for each, _ in shown), _report(7), total, replay, history, large):
        html = each._repr_html_()
        assert html.startswith("<b>")
        assert html.endswith("</table>")
        assert "secret" not in html
        assert "<n>" not in html
