"""``emit`` and ``demo`` in the session that runs here; tests/unit/cli starts one of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from child import exit_code

pytestmark = pytest.mark.spark


def test_emit_a_file_and_refuse_a_bad_value(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema, rows = tmp_path / "t.sql", tmp_path / "rows.jsonl"
    schema.write_text("create table t (id int primary key, v varchar(3))", encoding="utf-8")
    rows.write_text('{"id": 1, "v": "abc"}\n{"id": 2, "v": null}\n', encoding="utf-8")
    uri = f"jsonl://{tmp_path}/out/t?protocol=canal-json&partition-num=1"
    arguments = ["emit", "--on-spark", "--schema", str(schema), "--input", str(rows), "--sink-uri", uri]
    assert exit_code(*arguments, "--json") == 0
    assert json.loads(capsys.readouterr().out)["messages"] == 2

    rows.write_text('{"id": 7, "v": "abcd"}\n', encoding="utf-8")
    assert exit_code(*arguments) == 2
    shown = capsys.readouterr().err
    error = shown.splitlines()[-1]
    assert error.startswith("ticdc-emit: error: ")
    assert all(named in error for named in ("test.t", "column='v'", "7"))
    assert "Traceback" not in shown
    assert spark.range(2).count() == 2, "the session that was there goes on"


def test_demo_of_avro_with_an_embedded_registry(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("demo", "--on-spark", "--rows", "500", "--protocol", "avro", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["messages"] == summary["rows"] == 500
    keys = [message["decoded"]["key"]["id"] for message in summary["shown"]]
    assert len(set(keys)) == 1
    assert summary["shown"][-1]["value"] is None
