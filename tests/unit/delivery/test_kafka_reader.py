"""Streaming topics out of the embedded Kafka, which other processes reach too."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from message_rows import message_batch, send

from ticdc_emit.config import load_changefeed
from ticdc_emit.config.kafka import DEFAULT_MAX_MESSAGE_BYTES
from ticdc_emit.delivery.kafka_reader import stream_topics
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import BrokerUnreachableError, DeliveryError
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


WRITE = """
import sys, pyarrow as pa
from ticdc_emit import KafkaSink
with KafkaSink((sys.argv[1],), admin_api=False).open() as writer:
    writer.write(pa.RecordBatch.from_pylist([{"topic": "t", "partition": 3, "key": b"", "value": b"from elsewhere"}]))
"""


def test_another_process_writes_and_nothing_is_printed() -> None:
    with EmbeddedKafka() as kafka:
        kafka.sink().prepare({"t": None})
        answer = subprocess.run(
            [sys.executable, "-c", WRITE, kafka.bootstrap], capture_output=True, text=True, check=True, timeout=60
        )
        assert (answer.stdout, answer.stderr) == ("", "")
        (message,) = kafka.read("t")
        assert message == ("t", 3, 0, b"", b"from elsewhere")


def test_a_partition_keeps_only_its_newest_messages() -> None:
    with EmbeddedKafka() as kafka:
        sink = kafka.sink()
        sink.prepare({"t": 1})
        values = [b"%06d" % n * 20_000 for n in range(100)]
        with sink.open() as writer:
            for value in values:
                writer.write(message_batch(("t", 0, None, value)))
            assert writer.flush().messages == 100
        kept = kafka.read("t")
        assert 0 < len(kept) < 100
        assert kept[-1].value == values[-1]


def test_after_its_end_nothing_answers() -> None:
    with EmbeddedKafka(brokers=2) as kafka:
        assert len(kafka.brokers) == 2
        sink = kafka.sink()
        sink.prepare({"t": 1})
    assert kafka.brokers == ()
    with pytest.raises(DeliveryError):
        replace(sink, dial_timeout_ms=1_000).prepare({"t": 1})


def test_a_sink_uri_alone_leads_to_it() -> None:
    with EmbeddedKafka(brokers=2) as kafka:
        sink = sink_for(load_changefeed(f"kafka://{kafka.bootstrap}/t?protocol=canal-json&partition-num=3"))
        assert sink.prepare({"t": 3, "other": None}).keys() == {"t", "other"}
        assert sink.message_limit(["t"]) == DEFAULT_MAX_MESSAGE_BYTES
        with sink.open(sink.message_limit(["t"])) as writer:
            writer.write(message_batch(("t", 2, None, b"x")))
        assert [(each.partition, each.value) for each in kafka.read("t")] == [(2, b"x")]
