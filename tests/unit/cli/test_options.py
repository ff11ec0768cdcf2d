"""Secrets need not be on a command line: they come from a file or the environment, and no help shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from child import exit_code

_SECRET = "hunter2"


@pytest.fixture
def sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the sink URI of a folder with messages."""
    uri = f"jsonl://{tmp_path}/topics?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
    assert exit_code("scenario", "redelivery", "--sink-uri", uri) == 0
    capsys.readouterr()
    return uri


def test_a_sink_uri_in_a_file(sent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "uri.txt"
    file.write_text(f"  {sent}  \nanother line\n", encoding="utf-8")
    assert exit_code("tail", "--sink-uri", f"@{file}") == 0
    assert "update shop.orders" in capsys.readouterr().out
    assert exit_code("scenario", "b-a-b", "--sink-uri", f"@{file}") == 0


@pytest.mark.parametrize("command", ["tail", "verify"])
def test_a_sink_uri_in_the_environment(
    command: str, sent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TICDC_EMIT_SINK_URI", sent)
    assert exit_code(command) == 0
    monkeypatch.setenv("TICDC_EMIT_SINK_URI", "kafka://127.0.0.1:1/none?protocol=avro")
    assert exit_code(command, "--sink-uri", sent) == 0, "the command line wins"
    assert exit_code(command, str(tmp_path / "topics"), "--protocol", "canal-json") == 0, "so does another place"


def test_a_required_sink_uri_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = tmp_path / "t.sql"
    schema.write_text("create table t (id int primary key)", encoding="utf-8")
    monkeypatch.setenv("TICDC_EMIT_SINK_URI", f"kafka://u:{_SECRET}@127.0.0.1:1/t?protocol=zebra")
    assert exit_code("emit", "--schema", str(schema), "--input", "x.csv") == 2
    emit = capsys.readouterr().err
    assert exit_code("replay", "--schema", str(schema), "--table", "t=x.csv") == 2
    replay = capsys.readouterr().err
    assert "unknown 'zebra' message protocol" in emit
    assert "unknown 'zebra' message protocol" in replay
    assert _SECRET not in emit + replay


def test_made_up_traffic_does_not_follow_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TICDC_EMIT_SINK_URI", f"jsonl://{tmp_path}/topics?protocol=canal-json")
    assert exit_code("scenario", "redelivery") == 0
    assert "ticdc-scenario/0@0" in capsys.readouterr().out
    assert not (tmp_path / "topics").exists()


@pytest.mark.parametrize("command", ["demo", "emit", "generate", "replay", "scenario", "tail", "verify"])
def test_help_names_variables_and_shows_no_value(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("TICDC_EMIT_SINK_URI", "TICDC_EMIT_SCHEMA_REGISTRY"):
        monkeypatch.setenv(name, f"http://u:{_SECRET}@127.0.0.1:1/t")
    assert exit_code(command, "--help") == 0
    shown = capsys.readouterr().out
    assert _SECRET not in shown
    has_variables = command in ("emit", "replay", "tail", "verify")
    assert ("TICDC_EMIT_SINK_URI" in shown) == ("TICDC_EMIT_SCHEMA_REGISTRY" in shown) == has_variables
