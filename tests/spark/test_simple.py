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


def test_the_schema_stands_before_the_first_row_on_every_partition(
    spark: Any, changes: Callable[..., Any], tmp_path: Path
) -> None:
    TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA).write(changes(10))
    partitions = by_partition(tmp_path)
    assert {messages[0]["type"] for messages in partitions.values()} == {"BOOTSTRAP"}
    assert {messages[0]["key"] for messages in partitions.values()} == {b""}
    assert {messages[-1]["type"] for messages in partitions.values()} == {"WATERMARK"}
    (rows,) = [found for found in partitions.values() if any(message["type"] == "INSERT" for message in found)]
    assert [message["type"] for message in rows[1:4]] == ["INSERT", "UPDATE", "DELETE"]
    assert rows[0]["tableSchema"]["version"] == rows[1]["schemaVersion"]


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


def test_options_switch_bootstraps_off(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    for name, value in (("send-bootstrap-in-msg-count", 0), ("send-bootstrap-interval-in-sec", 0)):
        folder = tmp_path / name
        TicdcSink(f"jsonl://{folder}?{URI}", SCHEMA, changefeed={"sink": {name: value}}).write(changes(3))
        assert "BOOTSTRAP" not in {message["type"] for message in sent(folder)}
    first_only = {"sink": {"send-bootstrap-to-all-partition": False}}
    TicdcSink(f"jsonl://{tmp_path}/first?{URI}", SCHEMA, changefeed=first_only).write(changes(3))
    assert [m["partition"] for m in sent(tmp_path / "first") if m["type"] == "BOOTSTRAP"] == [0]


def test_all_schemas_at_the_start(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    sink = TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA, changefeed={"sink": {"send-all-bootstrap-at-start": True}})
    sink(changes(2), 0)
    sink(changes(2, start=2), 1)
    first = by_partition(tmp_path)[0][:2]
    assert [(message["type"], message["key"]) for message in first] == [("BOOTSTRAP", None), ("BOOTSTRAP", b"")]
    assert sum(message["type"] == "BOOTSTRAP" for message in by_partition(tmp_path)[0]) == 2


def test_a_live_run_takes_the_batch_s_clock(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    config = {"sink": {"send-bootstrap-interval-in-sec": 10}}
    for batch, clock in enumerate((1_000_000, 1_004_000, 1_016_000)):
        sink = TicdcSink(
            f"jsonl://{tmp_path}/out?{URI}",
            SCHEMA,
            changefeed=config,
            clock=clock,
            state_uri=f"file://{tmp_path}/state",
        )
        sink(changes(2, start=2 * batch), batch)
    shown = [message for message in by_partition(tmp_path / "out")[0] if message["type"] == "BOOTSTRAP"]
    assert [message["buildTs"] for message in shown] == [1_000_000, 1_016_000]


def test_ddl_reaches_all_partitions_in_its_place(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    ddl = [(tso(7), "alter table test.account add column tag int")]
    sink = TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA, ddl=ddl, watermark_interval=0)
    sink.write(changes(2))
    for messages in by_partition(tmp_path).values():
        types = [message["type"] for message in messages if message["type"] in ("BOOTSTRAP", "ALTER", "WATERMARK")]
        assert types == ["BOOTSTRAP", "ALTER", "WATERMARK"]


def test_watermarks_stand_a_second_apart_by_default(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    TicdcSink(f"jsonl://{tmp_path}/replay?{URI}", SCHEMA).write(changes(40))
    TicdcSink(f"jsonl://{tmp_path}/live?{URI}", SCHEMA, clock=1_000).write(changes(40))
    for partition in range(4):
        marks = [m for m in by_partition(tmp_path / "replay")[partition] if m["type"] == "WATERMARK"]
        assert len(marks) == 13  # a tick in each of 12 seconds, and the last row
    assert [m["type"] for m in by_partition(tmp_path / "live")[0]] == ["BOOTSTRAP", "WATERMARK"]


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
