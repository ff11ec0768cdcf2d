"""Late rows that are dropped: whatever is wrong with them harms no other row."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from arrow_feeds import generic

from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.pipeline.deliver.deliver_task import TaskResult, read_results, result_batch
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.run import Changefeed

URI = "memory://late/t?protocol=canal-json&enable-tidb-extension=true&partition-num=2"
BY_KEY = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}}


def ts(ms: int) -> int:
    return (1_700_000_000_000 + ms) << 18


def changes(*rows: tuple[str, int, str]) -> ArrowBatch:
    images = {"c": "after", "d": "before"}
    made = [
        {"schema": "s", "table": "t", "op": op, "commit_ts": ts(at), images[op]: {"id": key}} for op, at, key in rows
    ]
    return ArrowBatch(generic(made))


def feed(**more: Any) -> Changefeed:
    clear("late")
    schema = "create table s.t (id int primary key)"
    return Changefeed(load_changefeed(URI, BY_KEY), MemorySink("late"), schema, options=RunOptions(late="drop"), **more)


def commits() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for message in messages("late"):
        value = json.loads(message.value or b"{}")
        if value["type"] != "TIDB_WATERMARK":
            found.setdefault(message.partition, []).append(value["_tidb"]["commitTs"])
    return found


def test_a_bad_late_row_leaves_the_others_where_they_belong() -> None:
    running = feed()
    running.run(changes(("c", 100, "1")), 0, final=True)
    good = [("c", 205, "2"), ("d", 210, "2"), ("c", 206, "3"), ("d", 215, "3"), ("c", 220, "2")]
    report = running.run(changes(("d", 50, "no number"), *good), 1, final=True)
    assert (report.rows, report.late_rows) == (5, 1)
    assert all(stamps == sorted(stamps) for stamps in commits().values())
    assert sum(map(len, commits().values())) == 6


def test_a_late_row_of_no_version_of_its_table_is_dropped() -> None:
    running = feed(ddl=[(ts(60), "drop table s.t"), (ts(80), "create table s.t (id int primary key)")])
    running.run(changes(("c", 100, "1")), 0, final=True)
    report = running.run(changes(("c", 70, "5"), ("c", 120, "2")), 1, final=True)
    assert (report.rows, report.late_rows) == (1, 1)


def test_what_two_tasks_say_of_one_topic_partition_adds_up() -> None:
    said = [
        TaskResult(rows=3, max_commit_ts=9, messages=4, skipped={"s.t": 1}),
        TaskResult(late_rows=2, skipped={"s.t": 2, "s.u": 1}),
    ]
    (result,) = read_results(result_batch({("t", 1): each}) for each in said).values()
    summed = TaskResult(rows=3, late_rows=2, max_commit_ts=9, messages=4)
    assert result == replace(summed, skipped={"s.t": 3, "s.u": 1})
