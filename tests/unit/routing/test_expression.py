"""Topic expressions: which are valid, and the topics that they make."""

from __future__ import annotations

import pytest

from ticdc_emit.config import RELEASES
from ticdc_emit.config.protocols import Protocol
from ticdc_emit.errors import ConfigError
from ticdc_emit.routing.topics import TopicExpression


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
