"""``generate`` as a user runs it: in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from child import command


@pytest.mark.slow
@pytest.mark.spark
def test_live_traffic_into_the_embedded_kafka() -> None:
    settings = ("--rows", "300", "--rate", "100", "--ddl-rate", "1", "--table", "sbtest.sbtest1")
    done = command("generate", "--schema", "sysbench", *settings, "--live", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["rows"], summary["protocol"], summary["ddl_events"]) == (300, "canal-json", 2)
    assert summary["batches"] > 1
    assert json.loads(summary["shown"][-1]["value"])["type"] == "TIDB_WATERMARK"


def test_what_cannot_be_generated_is_one_line(tmp_path: Path) -> None:
    refused = command("generate", "--schema", "bnak", "--sink-uri", f"file://{tmp_path}/t?protocol=canal-json")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "bank" in refused.stderr
