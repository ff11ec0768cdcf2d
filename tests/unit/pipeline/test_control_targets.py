"""Who receives control messages: decided once per event, and by the life of a topic's tables."""

from __future__ import annotations

import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.pipeline.deliver.bootstrap import Bootstrap
from ticdc_emit.pipeline.deliver.control_events import (
    ControlEncoder,
    ControlSchedule,
    PartitionSchedules,
    Watermark,
)
from ticdc_emit.pipeline.plan.table_plans import Plan, make_plan
from ticdc_emit.routing.topics import Router
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent

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
    """Return a plan with a topic for each table but those named ``x_``, which share one."""
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
