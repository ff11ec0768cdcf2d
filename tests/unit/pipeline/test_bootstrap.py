"""Each rule of TiCDC's BOOTSTRAP schedule by itself, and how a schedule is kept over a restart."""

from __future__ import annotations

import json
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
    """A schedule whose ticks start at ``START``; moments are told in ms after it."""

    def __init__(self, rules: BootstrapRules = RULES) -> None:
        self.schedule = Bootstraps(rules, START)

    def rows(self, at: int, count: int = 1, table: TableInfo = TABLE, topic: str = "top", parts: int = 2) -> list[int]:
        """Report rows; the moments of what is sent before them."""
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


def test_a_table_s_first_row_sends_before_it_and_no_other_row_does() -> None:
    play = Play()
    assert play.sent(1_234) == [Bootstrap(101, TABLE, (("top", 0), ("top", 1)), START + 1_234, "first-row")]
    assert play.rows(1_234, 50_000) == []
    assert play.rows(4_999) == []
    assert play.rows(4_999, table=OTHER) == [4_999]


@pytest.mark.parametrize(("first", "then", "sent"), [(1, 9_999, []), (1, 10_000, [5_000]), (10_001, 0, [5_000])])
def test_the_count_sends_on_the_next_tick_and_leaves_the_first_row_out(first: int, then: int, sent: list[int]) -> None:
    play = Play()
    play.rows(100, first)
    assert play.rows(200, then) == []
    assert play.until(4_999) == []
    assert play.until(60_000) == sent


def test_the_counter_starts_anew_with_every_bootstrap() -> None:
    play = Play()
    play.rows(0, 9_001)
    assert play.rows(5_000, 1_000) == [], "9,000 so far: the tick stands before the row of its own moment"
    assert play.rows(10_000, 9_999) == [10_000]
    assert play.rows(15_000) == []
    assert play.until(20_000) == [20_000]


@pytest.mark.parametrize(("first", "sent"), [(0, 120_000), (1, 125_000), (5_000, 125_000), (9_999, 130_000)])
def test_the_interval_sends_on_the_first_tick_that_reaches_it(first: int, sent: int) -> None:
    play = Play()
    play.rows(first)
    assert play.until(sent - 1) == []
    assert play.until(sent) == [sent]
    assert play.until(sent + 119_999) == []
    assert play.until(sent + 120_000) == [sent + 120_000], "an idle table goes on"


def test_a_bootstrap_by_count_puts_the_interval_off() -> None:
    play = Play()
    play.rows(0)
    play.rows(99_000, 10_000)
    assert play.until(219_999) == [100_000]
    assert play.until(220_000) == [220_000]


def test_an_interval_below_the_tick_sends_on_every_tick() -> None:
    play = Play(replace(RULES, interval_ms=1_000))
    play.rows(0)
    assert play.until(15_000) == [5_000, 10_000, 15_000]


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


def test_an_idle_table_sends_until_it_is_forgotten_and_a_row_prolongs_that() -> None:
    play = Play()
    play.rows(0)
    assert play.until(24 * 60 * MINUTE) == [120_000 * n for n in range(1, 16)]
    play = Play()
    play.rows(0)
    play.rows(10 * MINUTE)
    assert len(play.until(24 * 60 * MINUTE)) == 15, "five were due before that row"


def test_the_tick_at_which_a_table_is_forgotten_still_sends() -> None:
    play = Play(replace(RULES, interval_ms=30_000))
    play.rows(0)
    assert play.until(2 * 60 * MINUTE)[-1] == 1_830_000


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


def test_a_late_row_counts_as_one_of_the_last_tick() -> None:
    play = Play()
    play.until(12_000)
    assert play.rows(3_000) == [10_000]
    assert play.until(129_999) == []
    assert play.until(130_000) == [130_000]


def test_each_physical_table_has_its_own_schedule() -> None:
    schedule = Bootstraps(RULES)
    for key in (201, 202):
        assert [bootstrap.key for bootstrap in schedule.rows(key, TABLE, "top", 1, START)] == [key]


@pytest.mark.parametrize(
    "rules", [{"interval_ms": 0}, {"message_count": 0}, {"message_count": -1}, {"interval_ms": -1}]
)
def test_either_option_at_zero_or_less_switches_all_off(rules: dict[str, int]) -> None:
    play = Play(BootstrapRules(**rules, at_start=True))
    assert not play.schedule.rules.enabled
    assert play.schedule.at_start([(TABLE, "top", 2)], START) == []
    assert play.rows(0, 20_000) == []
    assert play.until(60 * MINUTE) == []


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


def test_a_restart_goes_on_with_the_schedule() -> None:
    play = Play()
    play.rows(0, 10_001)
    play.rows(7_000, 9_000, table=OTHER, topic="side", parts=1)
    play.rows(8_000, table=ALTERED)
    known = {TableRef.of(table): table for table in (ALTERED, OTHER)}
    state = json.loads(json.dumps(play.schedule.state()))
    again = Bootstraps.from_state(RULES, state, known.__getitem__)
    assert again.state() == play.schedule.state()
    copied = pickle.loads(pickle.dumps(play.schedule))
    expected = play.schedule.advance(START + 60 * MINUTE)
    assert len(expected) == 30
    assert again.advance(START + 60 * MINUTE) == copied.advance(START + 60 * MINUTE) == expected


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


def test_time_without_anything_due_costs_nothing() -> None:
    play = Play()
    century = 100 * 365 * 24 * 60 * MINUTE  # 630 million ticks
    assert play.until(century) == []
    assert play.rows(century) == [century]
    assert len(play.until(2 * century)) == 15


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


def test_counts_reach_the_message_count_on_the_next_tick() -> None:
    rows = [counted(101, compose(START + 100), 6_000), counted(101, compose(START + 5_000), 4_001)]
    schedule = Bootstraps(BootstrapRules())
    assert told(schedule, *rows) == [(rows[0].first_ts, 101, "first-row")]
    assert [bootstrap.at_ms for bootstrap in schedule.advance(START + 10_000)] == [START + 10_000]


def test_a_late_first_row_keeps_its_place() -> None:
    schedule = Bootstraps(BootstrapRules())
    schedule.advance(START + 60_000)
    late = compose(START + 1, 9)
    ((place, bootstrap),) = schedule_rows(schedule, [counted(101, late)])
    assert (place, bootstrap.at_ms) == (late, START + 60_000)
