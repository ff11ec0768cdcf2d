"""Where DDL and watermarks stand among the rows, whoever sends them."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import ConfigError
from ticdc_emit.pipeline.deliver.bootstrap import Bootstrap
from ticdc_emit.pipeline.deliver.control_events import (
    ControlEncoder,
    ControlSchedule,
    PartitionSchedules,
    Watermark,
    highest_watermark,
)
from ticdc_emit.pipeline.plan.table_plans import Plan, make_plan
from ticdc_emit.routing.topics import Router
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.tso import compose

CATALOG = Catalog()
CREATED = CATALOG.apply("create table test.t (id int primary key)", commit_ts=compose(5_000))
ALTERED = CATALOG.apply("alter table test.t add column v int", commit_ts=compose(8_000))
CONTROLS = ControlSchedule((*CREATED, *ALTERED), interval_ms=1_000, begin=compose(4_500))


def plan(extension: str = "true") -> Plan:
    config = load_changefeed(f"memory://x?protocol=canal-json&enable-tidb-extension={extension}")
    return make_plan(config, CATALOG.histories(), {"ticdc": 2})


def kinds(schedule: ControlSchedule, target: int, *steps: int) -> list[str]:
    announcer, after, told = ControlEncoder(plan()), -1, []
    for step in steps:
        for control in schedule.due(after, compose(step) - 1):
            message = announcer.message(control.event)
            if message is None or ("ticdc", target) not in announcer.targets(control.event):
                continue
            value = json.loads(message.value)
            told.append(value["type"] if value["isDdl"] else str(value["es"] // 1000))
        after = compose(step)
    return told


def test_ddl_goes_to_partition_0_and_ticks_to_all() -> None:
    assert kinds(CONTROLS, 0, 4_500, 9_500) == ["CREATE", "5", "6", "7", "ALTER", "8", "9"]
    assert kinds(CONTROLS, 1, 4_500, 9_500) == ["5", "6", "7", "8", "9"]


def test_the_sequence_does_not_depend_on_where_it_is_cut() -> None:
    whole = kinds(CONTROLS, 0, 4_500, 9_500)
    assert kinds(CONTROLS, 0, 4_500, 5_000, 5_001, 6_000, 6_001, 8_000, 8_001, 9_500) == whole


def test_a_watermark_stays_behind_by_the_lateness() -> None:
    late = ControlSchedule((), interval_ms=1_000, lateness=compose(2_000), begin=compose(4_500))
    assert kinds(late, 0, 4_500, 9_500) == ["5", "6", "7"]


def test_a_control_message_comes_after_the_rows_at_its_place() -> None:
    stamps = np.array([compose(4_500), compose(5_000), compose(5_000) + 1, compose(6_000)], np.uint64)
    schedule = PartitionSchedules(CONTROLS, ControlEncoder(plan()))
    events, _, places = schedule.among(("ticdc", 0), stamps, -1)
    assert [type(event).__name__ for event in events] == ["DdlEvent", "Watermark"]
    assert places.tolist() == [2, 2], "the DDL's own commit_ts has the old schema; a later row the new one"
    assert schedule.among(("ticdc", 1), stamps[:1], -1)[1] == []


def test_a_watermark_leaves_room_for_late_rows() -> None:
    assert highest_watermark(compose(5_000), compose(2_000)) == compose(3_000) - 1


def test_what_earlier_batches_sent_is_not_sent_again() -> None:
    later = ControlSchedule(CONTROLS.ddls, 1_000, sent_until=compose(6_000), watermark=compose(7_000))
    assert kinds(later, 0, 9_500, 9_500) == ["ALTER", "8", "9"]


def test_an_endless_run_of_ticks_is_refused() -> None:
    with pytest.raises(ConfigError, match="longer interval"):
        kinds(CONTROLS, 0, 1_000, 10**12)


class Counted:
    looks = 0

    def __init__(self, commit_ts: int) -> None:
        self._commit_ts = commit_ts

    @property
    def commit_ts(self) -> int:
        Counted.looks += 1
        return self._commit_ts


def test_a_stretch_is_found_without_looking_at_all_ddl() -> None:
    events = tuple(cast("DdlEvent", Counted(ts)) for ts in range(1_000))
    schedule = ControlSchedule(events, sent_until=9)
    assert [control.after for control in schedule.due(5, 12)] == [10, 11, 12]
    Counted.looks = 0
    for ts in range(10, 1_000):
        (control,) = schedule.due(ts, ts)
        assert control.event is events[ts]
    assert Counted.looks < 10_000


def test_stretches_of_any_events_are_those_of_a_plain_search() -> None:
    rng = random.Random(7)
    info = CREATED[0].table_info
    assert info is not None
    for _ in range(300):
        ddls = tuple(replace(CREATED[0], commit_ts=rng.randrange(8)) for _ in range(rng.randrange(7)))
        boots = tuple((rng.randrange(8), Bootstrap(1, info, (), 0, "tick")) for _ in range(rng.randrange(4)))
        after, until, sent = rng.randrange(-1, 8), rng.randrange(-1, 8), rng.randrange(-1, 8)
        schedule = ControlSchedule(ddls, sent_until=sent, bootstraps=boots)
        unsent = [event for event in ddls if event.commit_ts > sent]
        for ticks_until in (None, 3):
            plain = [(event.commit_ts, 0, event) for event in unsent if after <= event.commit_ts <= until]
            plain += [(ts, 1, boot) for ts, boot in boots if ts >= after and (ts <= until or ticks_until is not None)]
            found = schedule.due(after, until, ticks_until=ticks_until)
            expected = sorted(plain, key=lambda each: each[:2])
            assert [(each.after, id(each.event)) for each in found] == [(ts, id(event)) for ts, _, event in expected]
        assert sorted(map(id, schedule.unsent_ddl)) == sorted(map(id, unsent))
        assert schedule.sent_ddl(until) == sorted(each.commit_ts for each in unsent if each.commit_ts <= until)
        assert schedule.late_until == max([each.commit_ts for each in ddls if each.commit_ts <= sent], default=None)


DDL = [
    (10, "create table test.a (id int primary key)"),
    (20, "create table test.b (id int primary key)"),
    (30, "drop table test.a"),
    (40, "create table test.x_1 (id int primary key)"),
    (50, "create table test.x_2 (id int primary key)"),
    (60, "drop table test.x_1"),
    (70, "create table test.a (id int primary key)"),
    (80, "rename table test.x_2 to test.x_3"),
    (90, "drop table test.x_3"),
]
LIVES = {"a": [(10, 30), (70, 1_000)], "b": [(20, 1_000)], "x": [(40, 90)]}


def planned() -> tuple[Plan, tuple[DdlEvent, ...]]:
    catalog = Catalog()
    events = tuple(event for ts, query in DDL for event in catalog.apply(query, commit_ts=ts))
    rules = [{"matcher": ["test.x_*"], "topic": "{schema}_x"}, {"matcher": ["test.*"], "topic": "{schema}_{table}"}]
    config = load_changefeed(
        "memory://m/t?protocol=canal-json&enable-tidb-extension=true", {"sink": {"dispatchers": rules}}
    )
    return make_plan(config, catalog.histories(), {"ticdc": 2, "test_a": 2, "test_b": 1, "test_x": 1}), events


def test_a_watermark_reaches_the_topics_of_live_tables() -> None:
    plan, _ = planned()
    for ts in range(100):
        expected = {"ticdc"} | {f"test_{name}" for name, spans in LIVES.items() if any(a <= ts < b for a, b in spans)}
        assert plan.watermark_topics(ts) == expected
        assert {topic for topic in plan.router.partitions if plan.watermark_reaches(topic, ts)} == expected
        announcer = ControlEncoder(plan)
        told = {target for target in plan.targets if announcer.message_to(Watermark(ts), target) is not None}
        assert told == {target for target in plan.targets if target[0] in expected}
    assert not plan.watermark_reaches("elsewhere", 50)


def test_an_event_is_routed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, events = planned()
    routed: list[DdlEvent] = []
    route = Router.ddl_targets

    def counting(router: Router, event: DdlEvent) -> tuple[tuple[str, int], ...]:
        routed.append(event)
        return route(router, event)

    monkeypatch.setattr(Router, "ddl_targets", counting)
    announcer = ControlEncoder(plan)
    addressed = PartitionSchedules(ControlSchedule(events), announcer)
    for target in plan.targets:
        for control in addressed.to(target).due(0, 100):
            assert announcer.message_to(control.event, target) is not None
    assert len(routed) == len(events)


def test_each_topic_partition_gets_its_own_controls_once_made() -> None:
    plan, events = planned()
    info = events[0].table_info
    assert info is not None
    bootstrap = Bootstrap(1, info, (("test_a", 0), ("test_a", 1)), 0, "start")
    addressed = PartitionSchedules(
        ControlSchedule(events, sent_until=10, bootstraps=((7, bootstrap),)), ControlEncoder(plan)
    )
    first, second = addressed.to(("test_a", 0)), addressed.to(("test_a", 1))
    assert [event.commit_ts for event in first.ddls] == [30, 70]
    assert (second.ddls, second.bootstraps, first.bootstraps) == ((), ((7, bootstrap),), ((7, bootstrap),))
    assert (addressed.to(("ticdc", 0)).ddls, addressed.to(("ticdc", 0)).sent_until) == ((), 10)
    assert addressed.to(("test_a", 0)) is first
