"""A Kafka cluster in this process: librdkafka's mock cluster, for tests and demos (extra ``kafka``).

It chooses its own ports and Java clients do not understand it, so other programs use ``testing/kafka_gateway.py``.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ticdc_emit.config.load import refuse_unknown
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.delivery.kafka_reader import offset_ranges, read_topic
from ticdc_emit.errors import importing
from ticdc_emit.testing.addresses import LOOPBACK, Address, address_text, reached_here, unusable
from ticdc_emit.testing.kafka_gateway import KafkaGateway
from ticdc_emit.testing.running import Running

if TYPE_CHECKING:
    from typing import Self

    from confluent_kafka import Producer


_START_TIMEOUT_S = 10.0


class EmbeddedKafka(Running):
    """A context manager around the mock cluster; ``brokers``: its addresses for librdkafka's clients on this machine.

    ``port``: for all other clients, such as Java's; 0: any free one. ``host``: the address where it is opened,
    ``0.0.0.0`` for all of this machine. ``advertised``: host and port that its clients are told.
    """

    def __init__(
        self, brokers: int = 1, *, port: int | None = None, host: str = LOOPBACK, advertised: Address | None = None
    ) -> None:
        self._broker_count = brokers
        self._port, self._host, self._advertised = port, host, advertised
        self._gateway: KafkaGateway | None = None
        self._cluster: Producer | None = None
        self.brokers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<EmbeddedKafka {self.bootstrap or 'stopped'}>"

    @property
    def bootstrap(self) -> str:
        """``host:port,…`` for programs on this machine, as in a sink URI."""
        if self._gateway is not None:
            return address_text(reached_here(self._host), self._gateway.port)
        return ",".join(self.brokers)

    @property
    def port(self) -> int:
        """The port of the first broker in ``bootstrap``."""
        return int(self.bootstrap.partition(",")[0].rpartition(":")[2])

    def start(self) -> Self:
        """Raise :class:`~ticdc_emit.errors.ConfigError` if ``port`` or ``host`` cannot be used."""
        with importing("the embedded Kafka needs confluent-kafka", extra="kafka"):
            from confluent_kafka import Producer
        self._cluster = Producer({"test.mock.num.brokers": self._broker_count, "log_level": 0})
        metadata = self._cluster.list_topics(timeout=_START_TIMEOUT_S)
        self.brokers = tuple(f"{broker.host}:{broker.port}" for broker in metadata.brokers.values())
        if self._port is not None:
            try:
                gateway = KafkaGateway(self.brokers, host=self._host, port=self._port, advertised=self._advertised)
                gateway.start()
            except OSError as error:
                self.stop()
                raise unusable(f"port {self._port}", "port", error) from None
            self._gateway = gateway
        return self

    def stop(self) -> None:
        """Stop the cluster; its messages are lost."""
        if self._gateway is not None:
            self._gateway.stop()
        self._gateway = None
        self._cluster = None
        self.brokers = ()

    def sink(self, **options: Any) -> KafkaSink:
        """Return a :class:`~ticdc_emit.delivery.kafka.KafkaSink` into this cluster; ``options``: its fields."""
        refuse_unknown("sink", options, KafkaSink)
        return KafkaSink(self.brokers, admin_api=False, **options)

    def read(self, topic: str, newest: int | None = None, timeout_s: float = 10.0) -> list[Message]:
        """Return the messages of ``topic`` by partition and offset, of each partition at most the ``newest``. Raises
        :class:`~ticdc_emit.errors.DeliveryError` if they do not arrive within ``timeout_s``.
        """
        return read_topic(self.sink().connection_settings(), topic, newest=newest, timeout_s=timeout_s)

    def evicted(self) -> dict[str, int]:
        """Return how many of its oldest messages each topic has lost, if any: librdkafka keeps the newest 5 MiB or
        100,000 messages of a partition, and has no setting for that.
        """
        assert self._cluster is not None
        topics = self._cluster.list_topics(timeout=_START_TIMEOUT_S).topics
        targets = [(topic, number) for topic, each in topics.items() for number in each.partitions]
        ranges = offset_ranges(self.sink().connection_settings(), targets)
        lost: Counter[str] = Counter()
        for (topic, _), (first, _) in ranges.items():
            lost[topic] += first
        return {topic: count for topic, count in lost.items() if count}
