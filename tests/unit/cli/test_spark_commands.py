"""``demo`` and ``emit`` as a user runs them: in a process of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from child import command

pytestmark = pytest.mark.spark


def test_demo_on_the_embedded_kafka() -> None:
    done = command("demo", "--rows", "1000", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    summary = json.loads(done.stdout)
    assert summary["protocol"] == "canal-json"
    assert summary["rows"] == 1_000
    assert summary["messages"] > 1_000  # the DDL and the watermarks too
    kinds = [json.loads(message["value"])["type"] for message in summary["shown"]]
    assert kinds == ["INSERT", "UPDATE", "DELETE", "TIDB_WATERMARK"]
    keys = {json.loads(message["value"])["data"][0]["id"] for message in summary["shown"][:3]}
    assert len(keys) == 1


def test_emit_a_file_and_refuse_a_bad_value(tmp_path: Path) -> None:
    schema, rows = tmp_path / "t.sql", tmp_path / "rows.jsonl"
    schema.write_text("create table t (id int primary key, v varchar(3))", encoding="utf-8")
    rows.write_text('{"id": 1, "v": "abc"}\n{"id": 2, "v": null}\n', encoding="utf-8")
    uri = f"file://{tmp_path}/out/t?protocol=canal-json&partition-num=1"
    arguments = ["emit", "--schema", str(schema), "--input", str(rows), "--sink-uri", uri]
    done = command(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["messages"] == 2

    rows.write_text('{"id": 7, "v": "abcd"}\n', encoding="utf-8")
    refused = command(*arguments)
    assert refused.returncode == 2
    error = refused.stderr.splitlines()[-1]
    assert error.startswith("ticdc-emit: error: ")
    assert all(named in error for named in ("test.t", "column='v'", "7"))
    assert "Traceback" not in refused.stderr


def test_demo_of_avro_with_an_embedded_registry() -> None:
    done = command("demo", "--rows", "500", "--protocol", "avro", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["messages"] == summary["rows"] == 500
    keys = [message["decoded"]["key"]["id"] for message in summary["shown"]]
    assert len(set(keys)) == 1
    assert summary["shown"][-1]["value"] is None
