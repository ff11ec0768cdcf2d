"""A fixed port in front of the embedded Kafka; one that is in use is refused."""

from __future__ import annotations

import pytest

from ticdc_emit.errors import ConfigError
from ticdc_emit.testing import EmbeddedKafka
from ticdc_emit.testing.kraft import free_ports

pytest.importorskip("confluent_kafka")


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
