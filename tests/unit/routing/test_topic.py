"""Where rows, DDL and watermarks go."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace

import pytest

from ticdc_emit.config import NEXT, ChangefeedConfig, load_changefeed
from ticdc_emit.errors import ConfigError, UnknownTopicError
from ticdc_emit.routing.partitions import PartitionRule
from ticdc_emit.routing.topics import Router
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo

ROUTER = Router("default", {"default": 16, "other": 2})


def changefeed(*rules: dict[str, object], protocol: str = "simple", case_sensitive: bool = False) -> ChangefeedConfig:
    given = {"case-sensitive": case_sensitive, "sink": {"dispatchers": list(rules)}}
    return load_changefeed(f"kafka://h:9092/default?protocol={protocol}", given)


ROUTED = Router.of(
    changefeed(
        {"matcher": ["Sales.*", "!sales.tmp*"], "topic": "{schema}_{table}", "partition": "index-value"},
        {"matcher": ["sales.*"], "topic": "rest"},
        {"matcher": ["/^log/.*"], "partition": "ts"},
    ),
    {"default": 2, "rest": 3, "Sales_orders": 1},
)


@pytest.mark.parametrize(
    ("schema", "table", "topic", "kind"),
    [
        ("Sales", "orders", "Sales_orders", "index-value"),
        ("sales", "TMP1", "rest", "table"),
        ("logs", "x", "default", "ts"),
        ("test", "sales", "default", "table"),
    ],
)
def test_the_first_dispatcher_that_matches_decides(schema: str, table: str, topic: str, kind: str) -> None:
    assert ROUTED.topic(schema, table) == topic
    assert ROUTED.rule(schema, table).kind == kind


def test_names_are_matched_in_any_case_unless_told() -> None:
    strict = Router.of(changefeed({"matcher": ["Test.*"], "topic": "x"}, case_sensitive=True), {})
    assert (strict.topic("Test", "t"), strict.topic("test", "t")) == ("x", "default")


def test_every_rule_is_checked_at_once() -> None:
    with pytest.raises(ConfigError, match="ErrFilterRuleInvalid"):
        Router.of(changefeed({"matcher": ["*.*"]}, {"matcher": ["test"]}), {})
    with pytest.raises(ConfigError, match="ErrKafkaTopicExprInvalid"):
        Router.of(changefeed({"matcher": ["*.*"]}, {"matcher": ["a.b"], "topic": "{table}{schema}"}), {})
    only_schema = {"matcher": ["*.*"], "topic": "{schema}"}
    assert Router.of(changefeed(only_schema), {}).topic("a", "b") == "a"
    avro = changefeed(only_schema)
    avro = replace(avro, codec=load_changefeed("kafka://h:9092/t?protocol=avro", schema_registry="http://r").codec)
    with pytest.raises(ConfigError, match="must contain"):
        Router.of(avro, {})


def ddl(action: str, schema: str, table: str, before: tuple[str, str] | None = None) -> DdlEvent:
    return DdlEvent("", action, schema, table, None, None if before is None else TableInfo(*before, 1, ()))


def test_ddl_goes_to_the_topic_of_the_table_before_it() -> None:
    assert ROUTED.ddl_topic(ddl("create table", "sales", "tmp")) == "rest"
    assert ROUTED.ddl_topic(ddl("rename table", "test", "t", ("Sales", "orders"))) == "Sales_orders"
    assert ROUTED.ddl_topic(ddl("drop schema", "sales", "")) == "default"


def test_exchange_partition_goes_to_either_table_by_release() -> None:
    rule = {"matcher": ["*.*"], "topic": "{table}"}
    event = ddl("exchange partition", "d", "parted", ("d", "normal"))
    event = replace(event, table_info=TableInfo("d", "parted", 2, ()))
    renamed = ddl("rename table", "d", "new", ("d", "old"))
    classic = Router.of(changefeed(rule), {})
    following = Router.of(replace(changefeed(rule), release=NEXT), {})
    assert [router.ddl_topic(event) for router in (classic, following)] == ["normal", "parted"]
    named = replace(event, table="normal")  # as the schema store names the event
    assert following.ddl_topic(named) == "parted"
    assert [router.ddl_topic(renamed) for router in (classic, following)] == ["old", "old"]


def test_ddl_goes_to_partition_0_or_everywhere() -> None:
    made = ddl("create database", "d", "")
    assert replace(ROUTER, ddl_everywhere=False).ddl_targets(made) == (("default", 0),)
    assert ROUTER.ddl_targets(made) == ROUTER.targets("default")
    event = ddl("drop table", "sales", "tmp")
    assert replace(ROUTED, ddl_everywhere=False).ddl_targets(event) == (("rest", 0),)
    assert ROUTED.ddl_targets(event) == (("rest", 0), ("rest", 1), ("rest", 2))


def test_the_targets_of_a_topic_are_its_partitions() -> None:
    assert ROUTER.targets("default") == tuple(("default", partition) for partition in range(16))


def test_a_topic_without_a_partition_count_is_named() -> None:
    with pytest.raises(UnknownTopicError) as refused:
        ROUTED.targets("Sales_items")
    assert refused.value.topic == "Sales_items"


def test_a_router_pickles() -> None:
    for router in (ROUTER, ROUTED):
        assert pickle.loads(pickle.dumps(router)) == router
    assert ROUTER.rule("a", "b") == PartitionRule()


def test_ten_thousand_tables_are_routed_in_no_time() -> None:
    start = time.process_time()
    assert {ROUTED.topic("sales", f"t{number}") for number in range(10_000)} == {f"sales_t{n}" for n in range(10_000)}
    assert time.process_time() - start < 1
