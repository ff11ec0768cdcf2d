"""Where rows, DDL and watermarks go, and which topic expressions are valid."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace

import pytest

from ticdc_emit.config import RELEASES, ChangefeedConfig, load_changefeed
from ticdc_emit.config.protocols import Protocol
from ticdc_emit.errors import ConfigError, UnknownTopicError
from ticdc_emit.routing.partitions import PartitionRule
from ticdc_emit.routing.topics import Router, TopicExpression
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


def test_ddl_goes_to_partition_0_or_everywhere() -> None:
    made = ddl("create database", "d", "")
    assert replace(ROUTER, ddl_everywhere=False).ddl_targets(made) == (("default", 0),)
    assert ROUTER.ddl_targets(made) == ROUTER.targets("default")
    event = ddl("drop table", "sales", "tmp")
    assert replace(ROUTED, ddl_everywhere=False).ddl_targets(event) == (("rest", 0),)
    assert ROUTED.ddl_targets(event) == (("rest", 0), ("rest", 1), ("rest", 2))


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


def test_of_files_every_table_is_a_topic_of_its_own() -> None:
    router = Router.of(load_changefeed("s3://b?protocol=csv"), {})
    assert [router.topic(*name) for name in (("a", "b"), ("a", "b.c"), ("a.b", "c"))] == [
        "a.b",
        "`a`.`b.c`",
        "`a.b`.`c`",
    ]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text", ["a" * 200_000 + "!", "{schema}" + "a" * 200_000 + "{", "a" * 200_000 + "{table}x{table}"]
)
def test_a_long_expression_costs_no_time(text: str) -> None:
    for protocol in (Protocol.AVRO, Protocol.CANAL_JSON):
        with pytest.raises(ConfigError):
            TopicExpression.parse(text, protocol)


@pytest.mark.parametrize("release", ["next-8.5.8", "next"])
def test_releases_whose_refusal_is_of_the_options_of_kafka(release: str) -> None:
    with pytest.raises(ConfigError) as refused:
        TopicExpression.parse("{x}", Protocol.SIMPLE, RELEASES[release].routing)
    assert refused.value.message == "[CDC:ErrKafkaInvalidConfig]invalid topic expression: {x}"


def test_a_release_whose_refusal_lacks_the_expression() -> None:
    refusals = {}
    for protocol in (Protocol.AVRO, Protocol.SIMPLE):
        with pytest.raises(ConfigError) as refused:
            TopicExpression.parse("{x}", protocol, RELEASES["classic-8.1.2"].routing)
        refusals[protocol] = refused.value.message.removeprefix("[CDC:ErrKafkaTopicExprInvalid]")
    assert refusals == {
        Protocol.SIMPLE: "invalid topic expression",
        Protocol.AVRO: "invalid topic expression%!(EXTRA string=topic rule for Avro must contain {schema} and {table})",
    }
