"""The Kafka writer on the embedded cluster: producers lent and given back, errors, forks, secrets."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pytest
from message_rows import message_batch

from ticdc_emit.config import KafkaConfig, SaslConfig, Secret, TlsConfig
from ticdc_emit.delivery import kafka_writer
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.delivery.kafka_writer import BATCHES_AHEAD, PIECES, InFlightLimit, KafkaWriter
from ticdc_emit.errors import BrokerUnreachableError, ConfigError, DeliveryError
from ticdc_emit.testing import EmbeddedKafka

pytest.importorskip("confluent_kafka")


def batch(topic: str, *values: bytes, partition: int = 0) -> pa.RecordBatch:
    return message_batch(*((topic, partition, None, value) for value in values))


def test_a_producer_serves_task_after_task(kafka: EmbeddedKafka) -> None:
    sink = kafka.sink(client_id="reused")
    seen = []
    for _ in range(3):
        with sink.open() as writer:
            writer.write(batch("reused", b"v"))
            seen.append(writer._pooled)
    assert seen[0] is seen[1] is seen[2]
    with kafka.sink(client_id="another").open() as writer:
        assert writer._pooled is not seen[0]
    assert len(kafka.read("reused")) == 3


def test_two_writers_at_once_do_not_share(kafka: EmbeddedKafka) -> None:
    sink = kafka.sink(client_id="both", linger_ms=30_000)
    with sink.open() as kept:
        kept.write(batch("both", b"kept"))
        abandoned = sink.open()
        abandoned.write(batch("both", b"abandoned"))
        abandoned.close()
    assert [message.value for message in kafka.read("both")] == [b"kept"]
    assert abandoned._pooled not in kafka_writer._alive


def test_what_a_task_left_behind_does_not_reach_the_next_one(kafka: EmbeddedKafka) -> None:
    sink = kafka.sink(client_id="left", linger_ms=30_000)
    abandoned = sink.open()
    abandoned.write(batch("left", b"old"))
    abandoned.close()
    with sink.open() as writer:
        assert writer._pooled is not abandoned._pooled
        writer.write(batch("left", b"new"))
        assert writer.flush().messages == 1
    while len(abandoned._pooled.producer):  # it is dropped at once, or sent in the end
        abandoned._pooled.producer.poll(0.1)
    assert [message.value for message in kafka.read("left")] == [b"new"]


def test_a_lost_message_is_an_error_and_ends_the_producer(kafka: EmbeddedKafka) -> None:
    sink = kafka.sink(client_id="lost", linger_ms=30_000)
    writer = sink.open()
    writer.write(batch("lost", b"v"))
    writer._producer.purge(in_queue=True)
    with pytest.raises(DeliveryError, match="did not take a message for topic lost"):
        writer.flush()
    with pytest.raises(DeliveryError):
        writer.write(batch("lost", b"v"))
    writer.close()
    with sink.open() as fresh:
        assert fresh._pooled is not writer._pooled


def test_back_pressure_with_a_tiny_queue(kafka: EmbeddedKafka) -> None:
    sink = kafka.sink(queue_messages=10, linger_ms=1)
    values = [b"%d" % number for number in range(3_000)]
    with sink.open() as writer:
        writer.write(batch("tiny", *values))
        assert writer.flush().messages == 3_000
    assert [message.value for message in kafka.read("tiny")] == values


class SlowProducer:
    def __init__(self) -> None:
        self.values: list[bytes] = []
        self.waiting = {0: 0, 1: 0}
        self.most = 0

    def __len__(self) -> int:
        return sum(self.waiting.values())

    def produce(self, topic: str, value: bytes, key: None, partition: int) -> None:
        self.values.append(value)
        self.waiting[partition] += 1
        self.most = max(self.most, self.waiting[partition])

    def poll(self, timeout: float) -> int:
        if timeout:
            full = [partition for partition, count in self.waiting.items() if count >= 10]
            assert full, "this would last as long as linger.ms"
            for partition in full:
                self.waiting[partition] -= 10
        return 0

    def flush(self, timeout: float) -> int:
        self.waiting = dict.fromkeys(self.waiting, 0)
        return 0


@pytest.fixture
def slow(kafka: EmbeddedKafka) -> Iterator[tuple[KafkaWriter, SlowProducer]]:
    producer = SlowProducer()
    with kafka.sink(client_id="slow", librdkafka={"batch.num.messages": 10}).open() as writer:
        for partition in producer.waiting:
            writer.check_target("slow", partition)
        lent, writer._producer = writer._producer, producer
        yield writer, producer
        writer._producer = lent


def test_a_partition_has_three_batches_on_their_way(slow: tuple[KafkaWriter, SlowProducer]) -> None:
    writer, producer = slow
    values = [b"%d" % number for number in range(1_000)]
    writer.write(batch("slow", *values))
    assert writer.flush().messages == 1_000
    assert producer.values == values
    assert producer.most == 30


@pytest.mark.parametrize("step", ["prepare", "write"])
def test_an_unreachable_broker_is_named_with_the_time_waited(step: str) -> None:
    sink = KafkaSink(("127.0.0.1:1",), dial_timeout_ms=1_000)
    started = time.monotonic()
    call = partial(sink.prepare, {"t": 1}) if step == "prepare" else partial(sink.open().write, batch("t", b"v"))
    with pytest.raises(BrokerUnreachableError, match=r"127\.0\.0\.1:1 answered in \d+\.\d s: .*refused") as refused:
        call()
    assert 1.0 <= refused.value.waited <= round(time.monotonic() - started, 1)
    assert pickle.loads(pickle.dumps(refused.value)).waited == refused.value.waited


def test_librdkafka_prints_nothing() -> None:
    script = (
        "from ticdc_emit import KafkaSink\n"
        "try: KafkaSink(('127.0.0.1:1',), dial_timeout_ms=1000).prepare({'t': 1})\n"
        "except Exception as error: print(type(error).__name__)\n"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert (answer.stdout, answer.stderr) == ("BrokerUnreachableError\n", "")


FORKING = """
import os, sys
import pyarrow as pa
from ticdc_emit import KafkaSink

def send(writer, value):
    writer.write(pa.RecordBatch.from_pylist([{"topic": "forked", "partition": 0, "key": b"", "value": value}]))
    writer.flush()

sink = KafkaSink((sys.argv[1],), admin_api=False, delivery_timeout_ms=60_000)
idle, lent = sink.open(), sink.open()
send(idle, b"parent")
idle.close()
child = os.fork()
if child == 0:
    with sink.open() as writer:
        send(writer, b"child")
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
send(lent, b"parent again")
lent.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_gets_its_own_producer_and_ends(kafka: EmbeddedKafka) -> None:
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING, kafka.bootstrap],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (answer.stderr, answer.returncode) == ("", 0)
    assert [message.value for message in kafka.read("forked")] == [b"parent", b"child", b"parent again"]


def test_one_request_at_a_time_keeps_the_order_without_an_idempotent_producer(caplog: pytest.LogCaptureFixture) -> None:
    sink = KafkaSink(("b:1",), one_request_at_a_time=True)
    settings = sink.producer_settings()
    assert (settings["acks"], settings["enable.idempotence"]) == (-1, False)
    assert settings["max.in.flight.requests.per.connection"] == 1
    assert "max.in.flight.requests.per.connection" not in KafkaSink(("b:1",)).producer_settings()
    with EmbeddedKafka() as kafka:
        assert kafka.sink(one_request_at_a_time=True).prepare({"t": None}) == {"t": 4}
    assert "idempotent" not in caplog.text


def test_required_acks_decide_on_idempotence(kafka: EmbeddedKafka, caplog: pytest.LogCaptureFixture) -> None:
    assert KafkaSink(("b:1",)).producer_settings()["enable.idempotence"] is True
    kafka.sink().prepare({"acks": None})
    assert not caplog.records
    sink = kafka.sink(acks=1)
    sink.prepare({"acks": None})
    assert "required-acks=1 switches the idempotent producer off" in caplog.text
    assert (sink.producer_settings()["acks"], sink.producer_settings()["enable.idempotence"]) == (1, False)
    with sink.open() as writer:
        writer.write(batch("acks", b"v"))
        assert writer.flush().messages == 1


def test_settings_follow_the_options() -> None:
    settings = KafkaSink(("a:1", "b:2"), max_message_bytes=5_000_000, compression="zstd").producer_settings()
    assert settings["bootstrap.servers"] == "a:1,b:2"
    assert settings["message.max.bytes"] >= 5_000_000
    assert settings["compression.type"] == "zstd"
    huge = KafkaSink(("a:1",), max_message_bytes=400_000_000).producer_settings()
    assert huge["queue.buffering.max.kbytes"] * 1024 >= huge["message.max.bytes"]


@pytest.mark.parametrize("name", ["acks", "message.max.bytes", "transactional.id", "compression.type"])
def test_settings_that_the_sink_owns(name: str) -> None:
    with pytest.raises(ConfigError, match=name) as refused:
        KafkaSink(("b:1",), librdkafka={name: "1"})
    assert refused.value.option == name


def test_a_setting_that_librdkafka_does_not_know() -> None:
    for step in ("open", "prepare"):
        sink = KafkaSink(("b:1",), librdkafka={"no.such.setting": 1})
        with pytest.raises(ConfigError, match=r"no\.such\.setting"):
            sink.open() if step == "open" else sink.prepare({})


def test_secrets_stay_secret() -> None:
    sink = KafkaSink(("b:1",), librdkafka={"sasl.password": "hunter2", "ssl.key.pem": Secret("hunter2")})
    assert "hunter2" not in repr(sink)
    copy = pickle.loads(pickle.dumps(sink))
    assert copy == sink
    assert copy.producer_settings()["sasl.password"] == "hunter2"


def test_a_changefeed_config_becomes_a_sink() -> None:
    config = KafkaConfig(
        brokers=("a:1", "b:2"),
        topic="t",
        required_acks=1,
        compression="lz4",
        kafka_client_id="me",
        auto_create_topic=False,
        replication_factor=3,
        dial_timeout_ms=3_000,
        write_timeout_ms=4_000,
        read_timeout_ms=5_000,
        max_message_bytes=1_000_000,
        tls=TlsConfig(True, "ca.pem", "cert.pem", Secret("key.pem")),
        sasl=SaslConfig("SCRAM-SHA-256", "bob", Secret("hunter2")),
    )
    sink = KafkaSink.of(config, {"linger.ms": 7})
    assert (sink.brokers, sink.acks, sink.auto_create_topic, sink.replication_factor) == (("a:1", "b:2"), 1, False, 3)
    assert (sink.new_partitions, KafkaSink.of(KafkaConfig(partition_num=7)).new_partitions) == (3, 7)
    settings = sink.producer_settings()
    wanted = {
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "SCRAM-SHA-256",
        "sasl.username": "bob",
        "sasl.password": "hunter2",
        "ssl.ca.location": "ca.pem",
        "ssl.certificate.location": "cert.pem",
        "ssl.key.location": "key.pem",
        "socket.connection.setup.timeout.ms": 3_000,
        "socket.timeout.ms": 5_000,
        "client.id": "me",
        "linger.ms": 7,
    }
    assert {name: settings[name] for name in wanted} == wanted
    assert "hunter2" not in repr(sink)


def test_only_a_sink_that_is_limited_by_topics_sends_more_than_max_message_bytes() -> None:
    own, topics = (KafkaSink(("h:1",), max_message_bytes=100, limited_by_topics=each) for each in (False, True))
    assert [own.largest_message(limit) for limit in (None, 50, 200)] == [100, 100, 100]
    assert [topics.largest_message(limit) for limit in (None, 50, 200)] == [100, 50, 200]


ALL = BATCHES_AHEAD * PIECES


def test_as_many_pieces_as_three_batches_have() -> None:
    limit = InFlightLimit(0)
    most = [limit.most(1, 100 * number, 100 * number) for number in range(ALL + 2)]
    assert most == [None] * (ALL - 1) + [100 * (ALL - 1)] * 3


def test_small_shares_fill_a_piece() -> None:
    limit = InFlightLimit(0)
    most = [limit.most(0.25, number, number) for number in range(4 * ALL)]
    assert most == [None] * 4 * (ALL - 1) + [4 * (ALL - 1), None, None, None]


def test_a_message_of_a_whole_batch_counts_as_one() -> None:
    limit = InFlightLimit(0)
    most = [limit.most(PIECES, number, number) for number in range(6)]
    assert most == [None, None, None, 3, 3, 3]


def test_what_is_left_of_other_partitions_counts_until_it_is_acknowledged() -> None:
    limit = InFlightLimit(7)
    for number in range(ALL - 1):
        assert limit.most(1, 100 + number, 7 + number) is None
    assert limit.most(1, 100 + ALL - 1, 7 + ALL - 1) == ALL - 1 + 7
    assert limit.most(1, 100 + ALL, 3) == ALL - 1 + 3
