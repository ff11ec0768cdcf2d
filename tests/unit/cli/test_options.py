"""Secrets need not be on a command line: they come from a file or the environment, and no help shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from child import Cli

_SECRET = "hunter2"


@pytest.fixture
def sent(tmp_path: Path, cli: Cli) -> str:
    """Return the sink URI of a folder with messages."""
    uri = f"jsonl://{tmp_path}/topics?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
    cli("check", "--only", "redelivery", "--send", uri)
    return uri


def test_a_sink_uri_in_a_file(sent: str, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "uri.txt"
    file.write_text(f"  {sent}  \nanother line\n", encoding="utf-8")
    assert "update shop.orders" in cli("tail", "--sink-uri", f"@{file}").out
    cli("check", "--only", "b-a-b", "--send", f"@{file}")


@pytest.mark.parametrize("command", ["tail", "verify"])
def test_a_sink_uri_in_the_environment(
    command: str, sent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setenv("TICDC_EMIT_SINK_URI", sent)
    cli(command)
    monkeypatch.setenv("TICDC_EMIT_SINK_URI", "kafka://127.0.0.1:1/none?protocol=avro")
    cli(command, "--sink-uri", sent), "the command line wins"
    cli(command, str(tmp_path / "topics"), "--protocol", "canal-json"), "so does another place"


def test_a_required_sink_uri_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    schema = tmp_path / "t.sql"
    schema.write_text("create table t (id int primary key)", encoding="utf-8")
    monkeypatch.setenv("TICDC_EMIT_SINK_URI", f"kafka://u:{_SECRET}@127.0.0.1:1/t?protocol=zebra")
    emit = cli("emit", "--schema", str(schema), "--input", "x.csv", code=2).err
    replay = cli("replay", "--schema", str(schema), "--table", "t=x.csv", code=2).err
    assert "unknown 'zebra' message protocol" in emit
    assert "unknown 'zebra' message protocol" in replay
    assert _SECRET not in emit + replay


def test_made_up_traffic_does_not_follow_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("TICDC_EMIT_SINK_URI", f"jsonl://{tmp_path}/topics?protocol=canal-json")
    assert "ticdc-scenario/0@0" in cli("check", "--only", "redelivery").out
    assert not (tmp_path / "topics").exists()
