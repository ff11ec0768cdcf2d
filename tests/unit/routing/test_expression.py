"""Topic expressions: which are valid, and the topics that they make."""

from __future__ import annotations

import pytest

from ticdc_emit.config import NEXT, RELEASES
from ticdc_emit.config.protocols import Protocol
from ticdc_emit.errors import ConfigError
from ticdc_emit.routing.topics import TopicExpression


@pytest.mark.parametrize(
    ("expression", "schema", "table", "topic"),
    [
        ("{schema}_{table}", "Db", "T", "Db_T"),
        ("p.{schema}-{table}_s", "a b", "é中/", "p.a_b-____s"),
        ("{table}", "d", "t", "t"),
        ("x{schema}", "d", "t", "xd"),
        ("{schema}", "{table}", "t", "_table_"),
        ("static.topic-1_A", "d", "t", "static.topic-1_A"),
        ("{schema}", ".", "t", "_"),
        ("{schema}{table}", ".", ".", "__"),
        ("{schema}{table}", ".", "..", "..."),
        ("..", "d", "t", ".."),  # a topic's own name is taken as it is
        ("{schema}" + "x" * 248, "ab", "t", "ab" + "x" * 247),
        ("x" * 300, "ab", "t", "x" * 300),
    ],
)
def test_topics(expression: str, schema: str, table: str, topic: str) -> None:
    assert TopicExpression.parse(expression, Protocol.CANAL_JSON).topic(schema, table) == topic


_GENERAL_ONLY = ["{schema}", "{table}", "a{schema}b"]
_WRONG = ["{table}_{schema}", "{schema}{schema}", "{Schema}", "a b", "{schema}\n", "topic\n", "é", "{schema} {table}"]


@pytest.mark.parametrize("text", _WRONG)
@pytest.mark.parametrize("protocol", [Protocol.CANAL_JSON, Protocol.SIMPLE, Protocol.DEBEZIUM])
def test_wrong_expressions(text: str, protocol: Protocol) -> None:
    with pytest.raises(ConfigError) as refused:
        TopicExpression.parse(text, protocol)
    assert refused.value.message == f"[CDC:ErrKafkaTopicExprInvalid]invalid topic expression: {text} "
    assert refused.value.option == "topic"


@pytest.mark.parametrize("text", _WRONG + _GENERAL_ONLY)
def test_avro_needs_both_placeholders(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        TopicExpression.parse(text, Protocol.AVRO)
    assert refused.value.message.endswith("%!(EXTRA string=topic rule for Avro must contain {schema} and {table})")
    for valid in ("a{schema}b{table}c", "hard-coded"):
        assert TopicExpression.parse(valid, Protocol.AVRO).text == valid


@pytest.mark.parametrize(
    ("protocol", "cause"),
    [
        (Protocol.AVRO, "invalid topic expression {x}: topic rule for Avro must contain {schema} and {table}"),
        (Protocol.SIMPLE, "invalid topic expression: {x}"),
    ],
)
def test_the_refusal_of_the_new_architecture(protocol: Protocol, cause: str) -> None:
    with pytest.raises(ConfigError) as refused:
        TopicExpression.parse("{x}", protocol, NEXT.routing)
    assert refused.value.message == f"[CDC:ErrKafkaInvalidConfig]{cause}"


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
