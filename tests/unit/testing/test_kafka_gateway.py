"""The embedded Kafka behind its gateway: what clients are told, and what Java's would choke on without it."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest
from message_rows import send

from ticdc_emit.errors import ConfigError
from ticdc_emit.testing import EmbeddedKafka
from ticdc_emit.testing.addresses import free_ports
from ticdc_emit.testing.kafka_gateway import KafkaGateway

confluent_kafka = pytest.importorskip("confluent_kafka")

_METADATA, _COORDINATOR, _JOIN_GROUP, _API_VERSIONS = 3, 10, 11, 18


class _Client:
    """Speaks Kafka's protocol with one broker, byte by byte."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=10)

    def __enter__(self) -> _Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, key: int, version: int, body: bytes = b"", *, tags: bytes = b"") -> bytes:
        """Return the body of the response."""
        request = struct.pack(">hhih", key, version, 7, 2) + b"me" + tags + body
        self.socket.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", self._read(4))
        response = self._read(size)
        assert response[:4] == struct.pack(">i", 7)
        return response[4:]

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data


@pytest.fixture
def kafka() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(port=0) as embedded:
        yield embedded


@pytest.fixture
def client(kafka: EmbeddedKafka) -> Iterator[_Client]:
    with _Client(kafka.bootstrap) as client:
        yield client


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def _brokers(response: bytes) -> list[tuple[int, str, int]]:
    """Return node, host and port of a Metadata response of version 0."""
    (count,) = struct.unpack_from(">i", response)
    position, brokers = 4, []
    for _ in range(count):
        node, length = struct.unpack_from(">ih", response, position)
        host = response[position + 6 : position + 6 + length].decode()
        (port,) = struct.unpack_from(">i", response, position + 6 + length)
        brokers.append((node, host, port))
        position += 10 + length
    return brokers


def _metadata(client: _Client, topic: str = "t") -> list[tuple[int, str, int]]:
    return _brokers(client.ask(_METADATA, 0, struct.pack(">i", 1) + _text(topic)))


def test_clients_begin_at_the_fixed_port() -> None:
    from confluent_kafka import Producer

    (port,) = free_ports(1)
    with EmbeddedKafka(port=port) as kafka:
        assert kafka.bootstrap == f"127.0.0.1:{port}"
        assert kafka.brokers != (kafka.bootstrap,)
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        producer.produce("t", b"hello", partition=0)
        assert producer.flush(10) == 0
        assert [message.value for message in kafka.read("t")] == [b"hello"]
        with pytest.raises(ConfigError, match=f"port {port} cannot be used"):
            EmbeddedKafka(port=port).start()
    with EmbeddedKafka(port=port) as again:
        assert again.bootstrap == f"127.0.0.1:{port}"


def test_a_consumer_group_reads_all_partitions_and_commits(kafka: EmbeddedKafka) -> None:
    from confluent_kafka import Consumer

    sink = kafka.sink()
    sink.prepare({"t": 4})
    send(sink, *(("t", n % 4, None, b"%d" % n) for n in range(100)))
    settings: dict[str, Any] = {
        "bootstrap.servers": kafka.bootstrap,
        "group.id": "g",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)
    with closing(consumer):
        consumer.subscribe(["t"])
        messages = [message for _ in range(100) if (message := consumer.poll(20)) is not None]
        consumer.commit(asynchronous=False)
        assert sorted(int(message.value()) for message in messages) == list(range(100))
        assert {each.offset for each in consumer.committed(consumer.assignment(), 10)} == {25}


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5])
def test_only_versions_that_the_cluster_reads_are_offered(client: _Client, version: int) -> None:
    tagged = version in (3, 4)
    tags = b"\0" if version > 2 else b""
    body = b"\3me\2\x31\0" if version > 2 else b""
    response = client.ask(_API_VERSIONS, version, body, tags=tags)
    (error,) = struct.unpack_from(">h", response)
    assert error == (35 if version == 5 else 0)
    if tagged:
        count, start, size = response[2] - 1, 3, 7
        assert response[start + count * size :] == b"\0\0\0\0\0", "no time to wait, no tags"
    else:
        count, start, size = struct.unpack_from(">i", response, 2)[0], 6, 6
        assert response[start + count * size :] == (b"\0\0\0\0" if version in (1, 2) else b"")
    ranges = {
        key: (oldest, newest)
        for key, oldest, newest in (
            struct.unpack_from(">hhh", response, start + number * size) for number in range(count)
        )
    }
    assert ranges[_API_VERSIONS] == (0, 4)
    assert ranges[_JOIN_GROUP] == (0, 5)
    assert ranges[13] == (0, 1 if confluent_kafka.libversion()[0].startswith("2.0.") else 2)  # LeaveGroup
    assert 68 not in ranges, "a ConsumerGroupHeartbeat of Java's client ends the process of the mock"


@pytest.mark.parametrize("version", [4, 11])
def test_a_fetch_does_not_wait_as_long_as_its_client_allows(client: _Client, version: int) -> None:
    _metadata(client)
    ten_minutes = struct.pack(">iiiib", -1, 600_000, 1, 1 << 20, 0) + (
        b"\0\0\0\0\xff\xff\xff\xff" if version >= 7 else b""
    )
    epoch, start = (struct.pack(">i", -1), struct.pack(">q", -1)) if version >= 9 else (b"", b"")
    partition = struct.pack(">i", 0) + epoch + struct.pack(">q", 0) + start + struct.pack(">i", 1 << 20)
    topics = struct.pack(">i", 1) + _text("t") + struct.pack(">i", 1) + partition
    rest = (b"\0\0\0\0" if version >= 7 else b"") + (_text("") if version >= 11 else b"")
    assert b"t" in client.ask(1, version, ten_minutes + topics + rest)


def test_a_version_that_was_not_offered_ends_the_connection(client: _Client) -> None:
    with pytest.raises((EOFError, ConnectionError)):
        client.ask(_JOIN_GROUP, 6, tags=b"\0")


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\2\0\0", b"\xff\xff\xff\xff"])
def test_another_protocol_is_disconnected_and_others_go_on(kafka: EmbeddedKafka, garbage: bytes) -> None:
    with socket.create_connection(("127.0.0.1", kafka.port), timeout=10) as other:
        other.sendall(garbage)
        with suppress(ConnectionError):
            assert other.recv(1) == b""
    with _Client(kafka.bootstrap) as client:
        assert len(_metadata(client)) == 1


@pytest.mark.parametrize("advertised", [None, ("kafka.test", 19092), ("::1", 19092)])
def test_clients_are_told_where_to_connect(advertised: tuple[str, int] | None) -> None:
    with EmbeddedKafka(port=0, advertised=advertised) as kafka:
        host, port = advertised or ("127.0.0.1", kafka.port)
        with _Client(kafka.bootstrap) as client:
            assert _metadata(client) == [(1, host, port)]
            answer = client.ask(_COORDINATOR, 0, _text("g"))
    assert answer == struct.pack(">hi", 0, 1) + _text(host) + struct.pack(">i", port)


def test_a_host_beside_loopback_tells_each_client_the_address_that_it_used() -> None:
    with EmbeddedKafka(port=0, host="0.0.0.0") as kafka:
        port = kafka.port
        assert kafka.bootstrap == f"127.0.0.1:{port}"
        for host in ("127.0.0.1", "127.0.0.2"):
            with _Client(f"{host}:{port}") as client:
                assert _metadata(client) == [(1, host, port)]


def test_each_broker_has_a_port() -> None:
    with EmbeddedKafka(brokers=3, port=0) as kafka:
        with _Client(kafka.bootstrap) as client:
            brokers = _metadata(client)
        own = {int(each.rpartition(":")[2]) for each in kafka.brokers}
        assert sorted(node for node, _, _ in brokers) == [1, 2, 3]
        assert len({port for _, _, port in brokers} - own) == 3
        for _, host, port in brokers:
            with _Client(f"{host}:{port}") as other:
                assert _metadata(other) == brokers


def test_stop_closes_connections_and_can_come_twice(kafka: EmbeddedKafka) -> None:
    with _Client(kafka.bootstrap) as client:
        _metadata(client)
        kafka.stop()
        with pytest.raises((EOFError, ConnectionError)):
            client.ask(_METADATA, 0, struct.pack(">i", 0))
    kafka.stop()
    assert kafka.bootstrap == ""
    KafkaGateway(["127.0.0.1:1"]).stop()
