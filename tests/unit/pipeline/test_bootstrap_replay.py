"""Bootstraps from counted rows stand in their place among the rows."""

from __future__ import annotations

from ticdc_emit.pipeline.deliver.bootstrap import BootstrapRules, Bootstraps, CountedRows, schedule_replay
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import compose

START = 1_700_000_000_000
TABLES = {key: TableInfo("test", f"t{key}", key, (), version=key, update_ts=key) for key in (101, 102)}


def counted(key: int, first_ts: int, count: int = 1) -> CountedRows:
    return CountedRows(key, TABLES[key], "top", 1, first_ts, count)


def told(schedule: Bootstraps, *rows: CountedRows) -> list[tuple[int, int, str]]:
    return [(ts, bootstrap.key, bootstrap.occasion) for ts, bootstrap in schedule_replay(schedule, rows)]


def test_a_first_row_s_bootstrap_stands_at_its_tso_and_a_tick_s_before_all_rows_of_its_moment() -> None:
    first, second = compose(START + 1_000, 7), compose(START + 1_000, 8)
    sent = told(Bootstraps(BootstrapRules()), counted(102, first), counted(101, compose(START + 126_000, 3)))
    assert sent == [
        (first, 102, "first-row"),
        (compose(START + 125_000), 102, "tick"),
        (compose(START + 126_000, 3), 101, "first-row"),
    ]
    assert told(Bootstraps(BootstrapRules()), counted(101, second), counted(102, first))[0] == (first, 102, "first-row")


def test_first_rows_of_one_tso_follow_each_other_by_key() -> None:
    for rows in ([counted(102, compose(START)), counted(101, compose(START))], [counted(101, 1), counted(102, 1)]):
        assert [key for _, key, _ in told(Bootstraps(BootstrapRules()), *rows)] == [101, 102]


def test_counts_reach_the_message_count_on_the_next_tick() -> None:
    rows = [counted(101, compose(START + 100), 6_000), counted(101, compose(START + 5_000), 4_001)]
    schedule = Bootstraps(BootstrapRules())
    assert told(schedule, *rows) == [(rows[0].first_ts, 101, "first-row")]
    assert [bootstrap.at_ms for bootstrap in schedule.advance(START + 10_000)] == [START + 10_000]


def test_a_late_first_row_keeps_its_place() -> None:
    schedule = Bootstraps(BootstrapRules())
    schedule.advance(START + 60_000)
    late = compose(START + 1, 9)
    ((place, bootstrap),) = schedule_replay(schedule, [counted(101, late)])
    assert (place, bootstrap.at_ms) == (late, START + 60_000)
