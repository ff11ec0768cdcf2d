"""Histories as people publish them, through the command: inclusive ends, marked deletions, a full load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from child import exit_code

pytestmark = pytest.mark.spark

INPUTS = Path(__file__).parent / "inputs"
FEBRUARY = 1769904000000
INSERT, UPDATE, DELETE = (("INSERT", "Bern"), ("UPDATE", "Basel"), ("DELETE", "Bern"))


@pytest.mark.parametrize(
    ("name", "options", "rows", "says"),
    [
        ("18-scd2-inclusive", "--mode validity", [INSERT, DELETE, ("INSERT", "Basel")], "--step 1ms"),
        ("18-scd2-inclusive", "--mode validity --step 1ms --strict", [INSERT, UPDATE], ""),
        ("19-scd2-deleted", "--mode validity --deleted-when is_deleted --strict", [INSERT, DELETE], ""),
        ("19-scd2-deleted", "--mode validity --deleted-when is_deleted=True", [INSERT, DELETE], ""),
        ("20-full-load", "--mode operations --time-column at", [INSERT, UPDATE], "--operations =insert"),
        ("20-full-load", "--mode operations --time-column at --operations =insert --strict", [INSERT, UPDATE], ""),
    ],
)
def test_a_published_history(
    name: str, options: str, rows: list[Any], says: str, spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uri = f"jsonl://{tmp_path}/out?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
    table = ["--schema", f"{INPUTS}/18-scd2.sql", "--table", f"city.drivers={INPUTS}/{name}.csv"]
    assert exit_code("replay", *table, *options.split(), "--sink-uri", uri) == 0
    warned = [line for line in capsys.readouterr().err.splitlines() if "warning: " in line]
    assert [says in line for line in warned] == ([True] if says else [])
    lines = [json.loads(json.loads(line)["value"]) for path in tmp_path.rglob("*.jsonl") for line in path.open()]
    sent = [(each["type"], each["data"][0]["town"], each["es"]) for each in lines if each["data"]]
    assert [(kind, town) for kind, town, _ in sent] == rows
    assert sent[-1][2] == FEBRUARY
