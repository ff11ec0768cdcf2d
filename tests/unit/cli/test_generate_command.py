"""``generate`` as a user runs it: in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ticdc_emit", "generate", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=240,
    )


@pytest.mark.slow
@pytest.mark.spark
def test_live_traffic_into_the_embedded_kafka() -> None:
    settings = ("--rows", "300", "--rate", "100", "--ddl-rate", "1", "--table", "sbtest.sbtest1")
    done = run("--schema", "sysbench", *settings, "--live", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["rows"], summary["protocol"], summary["ddl_events"]) == (300, "canal-json", 2)
    assert summary["batches"] > 1
    assert json.loads(summary["shown"][-1]["value"])["type"] == "TIDB_WATERMARK"


def test_what_cannot_be_generated_is_one_line(tmp_path: Path) -> None:
    refused = run("--schema", "bnak", "--sink-uri", f"file://{tmp_path}/t?protocol=canal-json")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "bank" in refused.stderr
