"""A Kafka for a demo or a test, in this process: librdkafka's mock cluster behind real TCP ports on loopback.

Out: brokers that other processes (Spark's Python workers) reach by address.  Its limits: every topic has 4 partitions
and is created on first use, a partition keeps about its newest 5 MB, Java clients and the admin API do not work with
it, and it ends with this object.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from ticdc_emit.config.load import refuse_unknown
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.kafka import KafkaOptions, KafkaSink
from ticdc_emit.delivery.kafka_reader import read_topic
from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.testing.forwarder import Forwarder

if TYPE_CHECKING:
    from confluent_kafka import Producer
    from typing_extensions import Unpack

__all__ = ["EmbeddedKafka"]

_START_TIMEOUT_S = 10.0


class EmbeddedKafka:
    """A context manager around the mock cluster; ``brokers`` has its addresses while it runs.

    The cluster chooses its ports. ``port``: an additional fixed port for clients.
    """

    def __init__(self, brokers: int = 1, *, port: int | None = None) -> None:
        self._broker_count = brokers
        self._port = port
        self._entrance: Forwarder | None = None
        self._host: Producer | None = None
        self.brokers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<EmbeddedKafka {self.bootstrap or 'stopped'}>"

    @property
    def bootstrap(self) -> str:
        """``host:port,…``, as in a sink URI."""
        if self._entrance is not None:
            return f"127.0.0.1:{self._port}"
        return ",".join(self.brokers)

    def start(self) -> EmbeddedKafka:
        """Raise :class:`~ticdc_emit.errors.ConfigError` if ``port`` is in use."""
        try:
            from confluent_kafka import Producer
        except ImportError as error:
            raise MissingDependencyError("the embedded Kafka needs confluent-kafka", extra="kafka") from error
        self._host = Producer({"test.mock.num.brokers": self._broker_count, "log_level": 0})
        metadata = self._host.list_topics(timeout=_START_TIMEOUT_S)
        self.brokers = tuple(f"{broker.host}:{broker.port}" for broker in metadata.brokers.values())
        if self._port is not None:
            entrance = Forwarder(self._port, self.brokers[0])
            entrance.start()
            self._entrance = entrance
        return self

    def stop(self) -> None:
        """Stop the cluster; its messages are lost."""
        if self._entrance is not None:
            self._entrance.stop()
        self._entrance = None
        self._host = None
        self.brokers = ()

    def __enter__(self) -> EmbeddedKafka:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def sink(self, **options: Unpack[KafkaOptions]) -> KafkaSink:
        """Return a :class:`~ticdc_emit.delivery.kafka.KafkaSink` into this cluster; ``options``: its own."""
        refuse_unknown("sink", options, KafkaOptions)
        return KafkaSink(self.brokers, admin_api=False, **options)

    def read(self, topic: str, newest: int | None = None, timeout_s: float = 10.0) -> list[Message]:
        """Return the messages that the cluster still has of ``topic``, by partition and offset; at most the ``newest``
        of each partition.

        Raises :class:`~ticdc_emit.errors.DeliveryError` if the messages do not arrive within ``timeout_s``.
        """
        return read_topic(self.sink().connection_settings(), topic, newest=newest, timeout_s=timeout_s)
