"""Simple through Spark: bootstraps before first rows and on ticks, in their place on every partition."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark_history import SCHEMA, tso

from ticdc_emit.delivery.files import read_files
from ticdc_emit.spark import TicdcSink

pytestmark = pytest.mark.spark

URI = "protocol=simple&partition-num=4"


def sent(folder: Path) -> list[dict[str, Any]]:
    """Every message in the files, decoded, with its partition and key."""
    return [{**json.loads(m.value or b"{}"), "partition": m.partition, "key": m.key} for m in read_files(folder)]


def by_partition(folder: Path) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for message in sent(folder):
        found.setdefault(message["partition"], []).append(message)
    return found


def test_bootstraps_on_ticks_are_the_same_however_the_run_is_cut(
    spark: Any, changes: Callable[..., Any], tmp_path: Path
) -> None:
    config = {"sink": {"send-bootstrap-in-msg-count": 5, "send-bootstrap-interval-in-sec": 1000}}
    whole = TicdcSink(f"jsonl://{tmp_path}/whole?{URI}", SCHEMA, changefeed=config)
    whole.write(changes(40))
    cut = TicdcSink(f"jsonl://{tmp_path}/cut?{URI}", SCHEMA, changefeed=config, state_uri=f"file://{tmp_path}/state")
    cut(changes(15), 0)
    again = TicdcSink(f"jsonl://{tmp_path}/cut?{URI}", SCHEMA, changefeed=config, state_uri=f"file://{tmp_path}/state")
    again(changes(40).where(f"commit_ts >= {tso(45)}"), 1)

    def schedule(folder: Path) -> list[tuple[Any, ...]]:
        shown = [m for m in sent(folder) if m["type"] != "WATERMARK"]
        return [(m["partition"], m["type"], m["buildTs"], m["commitTs"]) for m in shown]

    assert schedule(tmp_path / "whole") == schedule(tmp_path / "cut")
    assert sum(m["type"] == "BOOTSTRAP" for m in by_partition(tmp_path / "whole")[0]) == 3


def test_the_schedule_does_not_depend_on_partition_counts(
    spark: Any, changes: Callable[..., Any], tmp_path: Path
) -> None:
    config = {"sink": {"send-bootstrap-in-msg-count": 7}}
    for name, count in (("one", 1), ("many", 7)):
        shuffled = changes(40).repartition(count, "commit_ts")
        TicdcSink(f"jsonl://{tmp_path}/{name}?{URI}", SCHEMA, changefeed=config).write(shuffled)
    one, many = (list(read_files(tmp_path / name)) for name in ("one", "many"))
    assert one == many
    assert sum(b"BOOTSTRAP" in (message.value or b"") for message in one) >= 12
