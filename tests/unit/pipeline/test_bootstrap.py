"""Each rule of TiCDC's BOOTSTRAP schedule by itself, and how a schedule is kept over a restart."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import StateError
from ticdc_emit.pipeline.deliver.bootstrap import (
    Bootstrap,
    BootstrapRules,
    Bootstraps,
    CountedRows,
    TableRef,
    schedule_rows,
)
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import compose

RULES = BootstrapRules()
START = 1_700_000_000_000  # a multiple of 5 s, not of 30 s
TABLE = TableInfo("test", "t", 101, (), version=7, update_ts=7)
OTHER = TableInfo("test", "other", 102, (), version=8, update_ts=8)
MINUTE = 60_000


class Play:
    def __init__(self, rules: BootstrapRules = RULES) -> None:
        self.schedule = Bootstraps(rules, START)

    def rows(self, at: int, count: int = 1, table: TableInfo = TABLE, topic: str = "top", parts: int = 2) -> list[int]:
        return self.moments(self.sent(at, count, table, topic, parts))

    def sent(
        self, at: int, count: int = 1, table: TableInfo = TABLE, topic: str = "top", parts: int = 2
    ) -> list[Bootstrap]:
        return self.schedule.rows(table.id, table, topic, parts, START + at, count)

    def until(self, at: int) -> list[int]:
        return self.moments(self.schedule.advance(START + at))

    @staticmethod
    def moments(sent: list[Bootstrap]) -> list[int]:
        return [bootstrap.at_ms - START for bootstrap in sent]


def every(step: int, first: int, last: int) -> list[int]:
    return [step * number for number in range(first, last + 1)]


DAY, CENTURY = 24 * 60 * MINUTE, 100 * 365 * 24 * 60 * MINUTE  # of 630 million ticks
T, U = TABLE, OTHER
STORIES: dict[str, tuple[dict[str, int], list[tuple[TableInfo | None, int, int, list[int]]]]] = {
    # rules, and in turn: rows of a table (None: time passes), the moment, how many, and the moments of what is sent
    "a first row, and no other": (
        {}, [(T, 1_234, 1, [1_234]), (T, 1_234, 50_000, []), (T, 4_999, 1, []), (U, 4_999, 1, [4_999])],
    ),
    "too few": ({}, [(T, 100, 1, [100]), (T, 200, 9_999, []), (None, 60_000, 0, [])]),
    "enough": ({}, [(T, 100, 1, [100]), (T, 200, 10_000, []), (None, 4_999, 0, []), (None, 60_000, 0, [5_000])]),
    "enough at once": ({}, [(T, 100, 10_001, [100]), (None, 4_999, 0, []), (None, 60_000, 0, [5_000])]),
    "the counter starts anew with each": (
        {}, [(T, 0, 9_001, [0]), (T, 5_000, 1_000, []), (T, 10_000, 9_999, [10_000]), (T, 15_000, 1, []),
             (None, 20_000, 0, [20_000])],
    ),
    **{
        f"the interval from {first} on, of an idle table too": (
            {}, [(T, first, 1, [first]), (None, sent - 1, 0, []), (None, sent, 0, [sent]),
                 (None, sent + 119_999, 0, []), (None, sent + 120_000, 0, [sent + 120_000])],
        )
        for first, sent in ((0, 120_000), (1, 125_000), (5_000, 125_000), (9_999, 130_000))
    },
    "one by count puts the interval off": (
        {}, [(T, 0, 1, [0]), (T, 99_000, 10_000, []), (None, 219_999, 0, [100_000]), (None, 220_000, 0, [220_000])],
    ),
    "an interval below the tick": (
        {"interval_ms": 1_000}, [(T, 0, 1, [0]), (None, 15_000, 0, [5_000, 10_000, 15_000])],
    ),
    "until it is forgotten": ({}, [(T, 0, 1, [0]), (None, DAY, 0, every(120_000, 1, 15))]),
    "a row prolongs that": (
        {}, [(T, 0, 1, [0]), (T, 10 * MINUTE, 1, every(120_000, 1, 5)), (None, DAY, 0, every(120_000, 6, 20))],
    ),
    "the tick that forgets sends": (
        {"interval_ms": 30_000}, [(T, 0, 1, [0]), (None, 120 * MINUTE, 0, every(30_000, 1, 61))],
    ),
    "a late row is one of the last tick": (
        {}, [(None, 12_000, 0, []), (T, 3_000, 1, [10_000]), (None, 129_999, 0, []), (None, 130_000, 0, [130_000])],
    ),
    "time without anything due": (
        {}, [(None, CENTURY, 0, []), (T, CENTURY, 1, [CENTURY]),
             (None, 2 * CENTURY, 0, [CENTURY + moment for moment in every(120_000, 1, 15)])],
    ),
    **{
        f"{option} of {value} switches all off": (
            {option: value, "at_start": True}, [(T, 0, 20_000, []), (None, 60 * MINUTE, 0, [])],
        )
        for option in ("interval_ms", "message_count") for value in (0, -1)
    },
}  # fmt: skip


@pytest.mark.parametrize(("rules", "steps"), STORIES.values(), ids=STORIES)
def test_what_is_sent_when(rules: dict[str, int], steps: list[tuple[TableInfo | None, int, int, list[int]]]) -> None:
    play = Play(replace(RULES, **rules))
    assert play.schedule.at_start([(TABLE, "top", 2)], START) == []
    for table, at, count, sent in steps:
        assert (play.until(at) if table is None else play.rows(at, count, table)) == sent


ALTERED = replace(TABLE, version=9, update_ts=9)
RENAMED = replace(TABLE, name="u", version=9)
EXCHANGED = replace(TABLE, version=9)
MOVED = replace(TABLE, schema="elsewhere", version=9)


@pytest.mark.parametrize(
    ("table", "shown"),
    [(ALTERED, ALTERED), (RENAMED, RENAMED), (EXCHANGED, TABLE), (MOVED, TABLE)],
    ids=["update_ts", "name", "only version", "only database"],
)
def test_another_schema_waits_for_the_next_tick_that_is_due(table: TableInfo, shown: TableInfo) -> None:
    play = Play()
    play.rows(0)
    assert play.rows(60_000, table=table) == []
    assert [bootstrap.table for bootstrap in play.schedule.advance(START + 120_000)] == [shown]


def test_the_topic_is_that_of_the_first_row_and_the_partitions_those_of_the_last() -> None:
    play = Play()
    play.rows(0, topic="old", parts=2)
    play.rows(60_000, table=RENAMED, topic="new", parts=3)
    (sent,) = play.schedule.advance(START + 120_000)
    assert sent.targets == (("old", 0), ("old", 1), ("old", 2))


def test_only_the_first_partition() -> None:
    play = Play(replace(RULES, to_all_partitions=False))
    assert play.sent(0)[0].targets == (("top", 0),)
    assert [bootstrap.targets for bootstrap in play.schedule.advance(START + 120_000)] == [(("top", 0),)]


@pytest.mark.parametrize(
    ("last", "forgotten"), [(0, 1_830_000), (1, 1_830_000), (29_999, 1_830_000), (30_000, 1_860_000)]
)
def test_a_table_is_forgotten_on_the_gc_tick_after_more_than_30_minutes(last: int, forgotten: int) -> None:
    play = Play()
    play.rows(last)
    play.until(forgotten - 1)
    before, after = pickle.loads(pickle.dumps(play)), play
    assert before.sent(forgotten - 1) == [], "still known: no new first row"
    after.until(forgotten)
    assert after.rows(forgotten) == [forgotten]


def test_ticks_send_in_the_order_of_first_rows() -> None:
    play = Play()
    play.rows(10, table=OTHER)
    play.rows(20)
    play.rows(30, 10_000)
    play.rows(40, 10_000, table=OTHER)
    assert [bootstrap.table for bootstrap in play.schedule.advance(START + 5_000)] == [OTHER, TABLE]


def test_a_table_that_was_forgotten_comes_last() -> None:
    play = Play()
    play.rows(0)
    play.until(1_830_000)  # its next tick would have been 1,920,000
    play.rows(1_830_001, table=OTHER)
    play.rows(1_830_002)
    play.rows(1_915_000, 10_000)
    play.rows(1_915_000, 10_000, table=OTHER)
    assert [bootstrap.table for bootstrap in play.schedule.advance(START + 1_920_000)] == [OTHER, TABLE]


def test_rows_report_the_ticks_before_them_in_order() -> None:
    play = Play()
    play.rows(0)
    sent = play.sent(245_000, table=OTHER)
    assert [(bootstrap.table, bootstrap.at_ms - START) for bootstrap in sent] == [
        (TABLE, 120_000),
        (TABLE, 240_000),
        (OTHER, 245_000),
    ]


def test_each_physical_table_has_its_own_schedule() -> None:
    schedule = Bootstraps(RULES)
    for key in (201, 202):
        assert [bootstrap.key for bootstrap in schedule.rows(key, TABLE, "top", 1, START)] == [key]


def test_at_the_start_every_table_but_views_goes_to_all_partitions_once() -> None:
    play = Play(replace(RULES, at_start=True, to_all_partitions=False))
    tables = [(TABLE, "top", 2), (replace(OTHER, is_view=True), "top", 2), (OTHER, "side", 1)]
    assert play.schedule.at_start(tables, START) == [
        Bootstrap(101, TABLE, (("top", 0), ("top", 1)), START, "start"),
        Bootstrap(102, OTHER, (("side", 0),), START, "start"),
    ]
    assert play.until(20 * MINUTE) == [], "nothing but a row makes a table active"
    assert play.rows(20 * MINUTE) == [20 * MINUTE]
    again = Bootstraps.from_state(play.schedule.rules, play.schedule.state(), {TableRef.of(TABLE): TABLE}.__getitem__)
    assert play.schedule.at_start(tables, START) == again.at_start(tables, START) == []


def test_the_rules_of_a_changefeed() -> None:
    file = (
        "[sink]\nsend-bootstrap-interval-in-sec = 7\nsend-bootstrap-in-msg-count = 8\n"
        "send-bootstrap-to-all-partition = false\nsend-all-bootstrap-at-start = true\n"
    )
    uri = "kafka://h:9092/t?protocol="
    assert BootstrapRules.of(load_changefeed(uri + "simple")) == RULES
    assert BootstrapRules.of(load_changefeed(uri + "simple", file)) == BootstrapRules(7_000, 8, False, True)
    assert not BootstrapRules.of(load_changefeed(uri + "canal-json", file)).enabled
    assert not BootstrapRules.of(load_changefeed(uri + "SIMPLE", file)).enabled


def test_a_restart_may_shorten_the_interval() -> None:
    play = Play()
    play.rows(0)
    play.until(100_000)
    rules = replace(RULES, interval_ms=60_000)
    play.schedule = Bootstraps.from_state(rules, play.schedule.state(), {TableRef.of(TABLE): TABLE}.__getitem__)
    assert play.until(165_000) == [105_000, 165_000]


def test_a_state_that_does_not_fit_is_refused() -> None:
    play = Play()
    play.rows(0)
    state = play.schedule.state()
    with pytest.raises(StateError, match="cannot be restored"):
        Bootstraps.from_state(RULES, state, {}.__getitem__)
    with pytest.raises(StateError, match="passed_ms"):
        Bootstraps.from_state(RULES, {"start_ms": 0}, {}.__getitem__)


TABLES = {key: TableInfo("test", f"t{key}", key, (), version=key, update_ts=key) for key in (101, 102)}


def counted(key: int, first_ts: int, count: int = 1) -> CountedRows:
    return CountedRows(key, TABLES[key], "top", 1, first_ts, count)


def told(schedule: Bootstraps, *rows: CountedRows) -> list[tuple[int, int, str]]:
    return [(ts, bootstrap.key, bootstrap.occasion) for ts, bootstrap in schedule_rows(schedule, rows)]


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


def test_a_late_first_row_keeps_its_place() -> None:
    schedule = Bootstraps(BootstrapRules())
    schedule.advance(START + 60_000)
    late = compose(START + 1, 9)
    ((place, bootstrap),) = schedule_rows(schedule, [counted(101, late)])
    assert (place, bootstrap.at_ms) == (late, START + 60_000)
