"""The source of live traffic: a change's number comes when the wall clock reaches its commit time."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("pyspark")

from ticdc_emit.traffic.generate.live_numbers import LiveNumbers, LiveReader
from ticdc_emit.tso import compose

START = 1_700_000_000_000
TICK = compose(2)  # 500 a second


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    now = [START]
    monkeypatch.setattr(time, "time_ns", lambda: now[0] * 1_000_000)
    return now


def reader(rows: int = -1, most: int = 50_000) -> LiveReader:
    return LiveReader(compose(START), TICK, rows, most)


def test_a_change_is_made_at_its_commit_time_and_not_before(clock: list[int]) -> None:
    made = reader()
    assert made.initialOffset() == {"changes": 0}
    seen = []
    for ms in (-1, 0, 1, 2, 3, 4, 1000):
        clock[0] = START + ms
        seen.append(made.latestOffset()["changes"])
    assert seen == [0, 1, 1, 2, 2, 3, 501]


def test_traffic_ends_and_a_backlog_comes_in_pieces(clock: list[int]) -> None:
    made = reader(rows=70_000, most=30_000)
    at = made.initialOffset()
    clock[0] = START + 1_000_000
    sizes, numbers = [], []
    while (end := made.latestOffset()) != at:
        parts = made.partitions(at, end)
        sizes.append(len(parts))
        numbers += [n for part in parts for batch in made.read(part) for n in batch.column("value").to_pylist()]
        at = end
    assert numbers == list(range(70_000))
    assert sizes == [2, 2, 1]


def test_a_query_that_goes_on_reads_from_where_it_was(clock: list[int]) -> None:
    again = reader(most=10)
    clock[0] = START + 4_000
    end = again.latestOffset()  # Spark alone knows what was read: all that was made since
    assert end == {"changes": 2001}
    (part,) = again.partitions({"changes": 1_990}, end)
    assert [n for batch in again.read(part) for n in batch.column("value").to_pylist()] == list(range(1_990, 2_001))
    clock[0] += 1_000
    assert again.latestOffset() == {"changes": 2_011}


def test_the_options_are_those_of_the_traffic() -> None:
    source = LiveNumbers({"start": "5", "tick": "2", "rows": "-1", "most": "7"})
    assert source.schema() == "value bigint"
    assert vars(source.streamReader(None)) == {"_start": 5, "_tick": 2, "_rows": -1, "_most": 7, "_reached": None}  # type: ignore[arg-type]
