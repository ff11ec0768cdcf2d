"""``ticdc-emit sql``: a script from a file or standard input; messages shown or sent; errors before that."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ticdc_emit.cli.main import main

SCRIPT = "create table t (id int primary key); insert into t values (1), (2); delete from t where id = 1;"


def run(*arguments: str) -> int:
    try:
        main(["sql", *arguments])
    except SystemExit as done:
        return int(done.code or 0)
    return 0


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "changes.sql"
    path.write_text(SCRIPT)
    return path


def values(text: str) -> list[Any]:
    return [json.loads(line.split(" | ", 2)[2]) for line in text.splitlines()]


def test_without_a_sink_uri_the_messages_are_shown_in_order(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(script), "--start", "2025-01-01T00:00:00Z") == 0
    shown = values(capsys.readouterr().out)
    assert [each["type"] for each in shown if each["type"] != "TIDB_WATERMARK"] == [
        *("CREATE", "INSERT", "INSERT", "DELETE"),
    ]
    assert shown[0]["es"] == 1_735_689_600_000


def test_json_has_the_messages_and_what_was_sent(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(script), "--protocol", "avro", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["protocol"], result["rows"], len(result["messages"])) == ("avro", 3, 3)


def test_a_sink_gets_the_messages(script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(script), "--sink-uri", f"jsonl://{tmp_path}/out?protocol=canal-json") == 0
    assert "3 rows" in capsys.readouterr().out
    assert any((tmp_path / "out").rglob("*"))


def test_standard_input_over_a_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = tmp_path / "tables.sql"
    schema.write_text("create table shop.t (id int primary key)")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"insert into t values (7)")))
    assert run("-", "--schema", str(schema)) == 0
    assert values(capsys.readouterr().out)[0]["data"] == [{"id": "7"}]


def test_a_failing_statement_sends_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.sql"
    path.write_text(SCRIPT + "\ninsert into t values (2)")
    assert run(str(path), "--sink-uri", f"jsonl://{tmp_path}/out?protocol=canal-json") == 2
    error = capsys.readouterr().err
    assert "Duplicate entry '2'" in error
    assert "line 2, column 1" in error
    assert not (tmp_path / "out").exists()
