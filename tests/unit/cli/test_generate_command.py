"""``generate`` as a user runs it: in a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from child import Cli, command, exit_code

from ticdc_emit.cli import generate
from ticdc_emit.cli.app import Generate
from ticdc_emit.config import load_changefeed
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.tso import compose, physical_ms


def test_live_traffic_into_the_embedded_kafka() -> None:
    settings = ("--rows", "250", "--rate", "200", "--model", "load.ddl_rate=2", "--table", "sbtest.sbtest1")
    done = command("generate", "--schema", "sysbench", *settings, "--live", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["rows"], summary["protocol"], summary["ddl_events"]) == (250, "canal-json", 2)
    assert summary["batches"] > 1
    assert json.loads(summary["shown"][-1]["value"])["type"] == "TIDB_WATERMARK"


@pytest.mark.parametrize(
    "where", [[], pytest.param(["--on-spark"], marks=[pytest.mark.slow, pytest.mark.spark])], ids=["here", "on-spark"]
)
def test_the_demo_shows_the_life_of_an_order(where: list[str], cli: Cli) -> None:
    summary = cli("demo", "--rows", "1000", "--json", *where).json
    assert (summary["protocol"], summary["rows"]) == ("canal-json", 1_000)
    assert summary["messages"] > 1_000  # the watermarks too
    shown = [json.loads(message["value"]) for message in summary["shown"]]
    assert [each["type"] for each in shown] == ["INSERT", "UPDATE", "DELETE", "TIDB_WATERMARK"]
    assert len({each["data"][0]["id"] for each in shown[:3]}) == 1


def test_bad_days_are_sent_and_legal(tmp_path: Path, cli: Cli) -> None:
    rates = ("--model", "trouble={shared_commits=0.5, redelivery=0.3, lag=0.2}")
    place = f"jsonl://{tmp_path}/bank?protocol=simple&partition-num=2"
    summary = cli("generate", "--schema", "bank", "--rows", "400", *rates, "--sink-uri", place, "--json").json
    assert summary["rows"] == 400
    assert summary["messages"] > 480
    cli("verify", str(tmp_path / "bank"), "--protocol", "simple")


def test_endless_traffic_is_of_now_and_ends_with_a_watermark(tmp_path: Path) -> None:
    uri = f"jsonl://{tmp_path}/t?protocol=canal-json&enable-tidb-extension=true&partition-num=2"
    program = [
        sys.executable,
        "-m",
        "ticdc_emit",
        "generate",
        "--schema",
        "sysbench",
        "--sink-uri",
        uri,
        "--rate",
        "50",
        "--model",
        "load.ddl_rate=2",
    ]
    began = time.time()
    running = subprocess.Popen([*program, "--live", "--endless", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        while time.time() < began + 180 and not any("INSERT" in each.read_text() for each in tmp_path.rglob("*.jsonl")):
            time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        told, _ = running.communicate(timeout=120)
    finally:
        running.kill()
    assert running.returncode == 0
    assert json.loads(told)["rows"] > 0
    newest = 0
    for file in tmp_path.rglob("*.jsonl"):
        sent = [json.loads(json.loads(line)["value"]) for line in file.read_text(encoding="utf-8").splitlines()]
        commits = [
            message["_tidb"]["commitTs"] for message in sent if message["type"] in ("INSERT", "UPDATE", "DELETE")
        ]
        assert sent[-1]["type"] == "TIDB_WATERMARK"
        assert sent[-1]["_tidb"]["watermarkTs"] >= max(commits, default=0)
        newest = max([newest, *commits])
    assert began <= physical_ms(newest) / 1000 <= time.time()


def wanted(**given: Any) -> tuple[Settings, Generate]:
    options = Generate(schema="t", model="load.ddl_rate=0.01", **given)
    return options.settings(rows=20_000), options


def test_the_first_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_123_456_789)
    now = compose(1_700_000_000_123)

    def first(**given: Any) -> object:
        return generate.started(*wanted(**given)).start

    assert first() is None
    assert first(live=True) == first(start="now") == first(start="2023-11-14T22:13:20.123Z") == now
    assert first(live=True, start=str(now - 1)) == now - 1


@pytest.mark.parametrize(("ddl", "lines"), [((), 1), (((1, "alter"),), 0)])
def test_a_rate_that_makes_no_schema_change_is_told(
    ddl: tuple[tuple[int, str], ...], lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    traffic: Any = SimpleNamespace(ddl=ddl, sink=lambda feed, **_: "emitter")
    feed = load_changefeed("memory://x/?protocol=canal-json")
    assert generate._emitter(traffic, *wanted(), feed, None) == "emitter"  # type: ignore[comparison-overlap]
    shown = capsys.readouterr().err
    assert shown.count("\n") == lines
    assert not lines or "ddl_rate = 0.01 is less than one in the 20 s of commit time" in shown


def test_live_traffic_keeps_every_invariant(tmp_path: Path) -> None:
    settings = ("--model", "load={ddl_rate=4, transaction_size=3}\ntrouble={shared_commits=0.3, redelivery=0.2}")
    uri = f"jsonl://{tmp_path}/bank?protocol=simple&partition-num=2"
    live = ("--live", "--rows", "300", "--rate", "300")
    assert exit_code("generate", "--schema", "bank", *live, *settings, "--sink-uri", uri) == 0
    assert exit_code("verify", str(tmp_path / "bank"), "--protocol", "simple") == 0


def test_live_traffic_says_when_it_begins(cli: Cli, tmp_path: Path) -> None:
    uri = f"jsonl://{tmp_path}?protocol=canal-json"
    for options, lines in (([], 1), (["--json"], 0)):
        assert (
            cli("generate", "--schema", "bank", "--live", "--rows", "5", "--sink-uri", uri, *options).err.count(
                "sending since"
            )
            == lines
        )
