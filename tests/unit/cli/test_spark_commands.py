"""``demo`` as a user runs it: in a process of its own."""

from __future__ import annotations

import json

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
