"""``demo`` as a user runs it: in a process of its own, without Spark and on it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from child import command


def _demo(*options: str) -> dict[str, Any]:
    done = command("demo", "--rows", "1000", "--json", *options)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    summary: dict[str, Any] = json.loads(done.stdout)
    return {name: value for name, value in summary.items() if "second" not in name and name != "finished_ms"}


@pytest.mark.spark
def test_demo_on_the_embedded_kafka_is_the_same_on_both_engines() -> None:
    summary = _demo()
    assert summary["protocol"] == "canal-json"
    assert summary["rows"] == 1_000
    assert summary["messages"] > 1_000  # the DDL and the watermarks too
    kinds = [json.loads(message["value"])["type"] for message in summary["shown"]]
    assert kinds == ["INSERT", "UPDATE", "DELETE", "TIDB_WATERMARK"]
    keys = {json.loads(message["value"])["data"][0]["id"] for message in summary["shown"][:3]}
    assert len(keys) == 1
    assert _demo("--on-spark") == summary
