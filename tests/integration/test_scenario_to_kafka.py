"""A scenario on a real broker: read back as it was sent, legal, and folded to what it must end with."""

from __future__ import annotations

from uuid import uuid4

import pytest

from ticdc_emit.consume.verify import Verifier
from ticdc_emit.delivery import KafkaSink
from ticdc_emit.delivery.kafka_reader import stream_topics
from ticdc_emit.errors import UnknownTopicError
from ticdc_emit.testing.kraft import KraftBroker
from ticdc_emit.traffic.scenarios import scenario

pytestmark = pytest.mark.integration


def test_a_scenario_comes_back_from_a_broker(kraft: KraftBroker) -> None:
    topic = f"t-{uuid4().hex}"
    case = scenario("slow-partition", protocol="simple-avro", topic=topic)
    sink = KafkaSink((kraft.bootstrap,))
    assert case.send(sink).messages == len(case.messages)
    partitions: dict[str, int] = {}
    arrived = list(stream_topics(sink.connection_settings(), [topic], partitions=partitions))
    assert partitions == case.partitions
    assert sorted(arrived) == sorted(case.messages)
    verifier, consumer = Verifier(case.config), case.consumer()
    for message in arrived:
        verifier.see(message)
        consumer.take(message)
    consumer.finish()
    assert verifier.finish(partitions) == []
    assert case.check(consumer.tables) == []
    following = stream_topics(sink.connection_settings(), [topic], newest=1, follow=True)
    assert {next(following).partition for _ in range(3)} == {0, 1, 2}
    following.close()  # type: ignore[attr-defined]
    with pytest.raises(UnknownTopicError):
        list(stream_topics(sink.connection_settings(), [f"{topic}.missing"]))
