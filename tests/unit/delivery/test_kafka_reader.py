"""Streaming topics out of the embedded Kafka: to their present end, the newest of them, and on."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from message_rows import send

from ticdc_emit.delivery.kafka_reader import stream_topics
from ticdc_emit.errors import BrokerUnreachableError
from ticdc_emit.testing import EmbeddedKafka

pytest.importorskip("confluent_kafka")


def produce(kafka: EmbeddedKafka, topic: str, partition: int, *values: bytes) -> None:
    sink = kafka.sink()
    sink.prepare({topic: None})
    send(sink, *((topic, partition, b"", value) for value in values))


def test_topics_are_read_to_their_end_and_followed() -> None:
    with EmbeddedKafka() as kafka:
        settings = kafka.sink().connection_settings()
        produce(kafka, "one", 0, b"a", b"b", b"c")
        produce(kafka, "one", 2, b"d")
        produce(kafka, "two", 1, b"e")
        partitions: dict[str, int] = {}
        found = list(stream_topics(settings, ["one", "two"], partitions=partitions))
        assert sorted((each.topic, each.partition, each.offset, each.value) for each in found) == [
            ("one", 0, 0, b"a"),
            ("one", 0, 1, b"b"),
            ("one", 0, 2, b"c"),
            ("one", 2, 0, b"d"),
            ("two", 1, 0, b"e"),
        ]
        assert partitions == {"one": 4, "two": 4}
        newest = stream_topics(settings, ["one"], newest=1)
        assert sorted(each.value or b"" for each in newest) == [b"c", b"d"]

        following = stream_topics(settings, ["one"], newest=1, follow=True)
        assert sorted(each.value or b"" for each in islice(following, 2)) == [b"c", b"d"]
        produce(kafka, "one", 3, b"later")
        assert next(following).value == b"later"
        following.close()  # type: ignore[attr-defined]


def test_a_partition_whose_leader_is_not_there_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from confluent_kafka import Consumer, KafkaError, KafkaException

    asked: list[int] = []

    class Late(Consumer):
        def get_watermark_offsets(self, partition: Any, *args: Any, **options: Any) -> Any:
            asked.append(partition.partition)
            if len(asked) == 1:
                raise KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))
            return super().get_watermark_offsets(partition, *args, **options)

    with EmbeddedKafka() as kafka:
        produce(kafka, "one", 0, b"a")
        monkeypatch.setattr("confluent_kafka.Consumer", Late)
        (found,) = stream_topics(kafka.sink().connection_settings(), ["one"])
    assert (found.value, asked) == (b"a", [0, 0, 1, 2, 3])


def test_a_broker_that_does_not_answer_is_told() -> None:
    with pytest.raises(BrokerUnreachableError):
        list(stream_topics({"bootstrap.servers": "127.0.0.1:1"}, ["one"], timeout_s=1.0))
