"""The embedded Kafka: real ports that other processes reach, and reading back."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from message_rows import message_batch

from ticdc_emit.config import load_changefeed
from ticdc_emit.config.kafka import DEFAULT_MAX_MESSAGE_BYTES
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import DeliveryError
from ticdc_emit.testing import EmbeddedKafka

pytest.importorskip("confluent_kafka")

WRITE = """
import sys, pyarrow as pa
from ticdc_emit.delivery import KafkaSink
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
