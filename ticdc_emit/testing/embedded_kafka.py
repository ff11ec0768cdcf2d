"""A Kafka cluster in this process: librdkafka's mock cluster, for tests and demos (extra ``kafka``).

In: the number of brokers, and a port if clients need a fixed one: the mock cluster chooses its own ports, so a thread
forwards the connections of a fixed one to it, byte for byte. Out: ``host:port`` of the brokers, a sink into the
cluster, and the messages that it has.
"""

from __future__ import annotations

import selectors
import socket
import socketserver
import threading
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ticdc_emit.config.load import refuse_unknown
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.delivery.kafka_reader import read_topic
from ticdc_emit.errors import ConfigError, MissingDependencyError

if TYPE_CHECKING:
    from confluent_kafka import Producer


_CHUNK = 64 * 1024


def require_free_port(port: int, option: str) -> None:
    """Raise :class:`~ticdc_emit.errors.ConfigError` if something listens on a port of loopback."""
    with socket.socket() as probe:
        # a socket that was closed a minute ago does not count
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ConfigError(
                f"port {port} cannot be used: {error.strerror}",
                remedy=f"Stop the program that uses it, or choose another port with {option}",
                option=option.lstrip("-"),
            ) from None


class Forwarder:
    """Forwards connections from ``port`` to ``target`` between :meth:`start` and :meth:`stop`."""

    def __init__(self, port: int, target: str) -> None:
        host, _, number = target.rpartition(":")
        self._port = port
        self._target = host, int(number)
        self._server: _Server | None = None

    def start(self) -> None:
        """Raise :class:`~ticdc_emit.errors.ConfigError` if the port is in use."""
        require_free_port(self._port, "port")
        self._server = _Server(self._port, self._target)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Free the port; connections end with their server."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        self._server = None


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, target: tuple[str, int]) -> None:
        self.target = target
        super().__init__(("127.0.0.1", port), _Connection)


class _Connection(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        with (
            suppress(OSError),
            socket.create_connection(self.server.target) as broker,
            selectors.DefaultSelector() as ready,
        ):
            ready.register(self.request, selectors.EVENT_READ, broker)
            ready.register(broker, selectors.EVENT_READ, self.request)
            while True:
                for key, _ in ready.select():
                    source = key.fileobj
                    assert isinstance(source, socket.socket)
                    data = source.recv(_CHUNK)
                    if not data:
                        return
                    key.data.sendall(data)


_START_TIMEOUT_S = 10.0


class EmbeddedKafka:
    """A context manager around the mock cluster; ``brokers`` has its addresses while it runs.

    The cluster chooses its ports. ``port``: an additional fixed port for clients.
    """

    def __init__(self, brokers: int = 1, *, port: int | None = None) -> None:
        self._broker_count = brokers
        self._port = port
        self._forwarder: Forwarder | None = None
        self._cluster: Producer | None = None
        self.brokers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<EmbeddedKafka {self.bootstrap or 'stopped'}>"

    @property
    def bootstrap(self) -> str:
        """``host:port,…``, as in a sink URI."""
        if self._forwarder is not None:
            return f"127.0.0.1:{self._port}"
        return ",".join(self.brokers)

    def start(self) -> EmbeddedKafka:
        """Raise :class:`~ticdc_emit.errors.ConfigError` if ``port`` is in use."""
        try:
            from confluent_kafka import Producer
        except ImportError as error:
            raise MissingDependencyError("the embedded Kafka needs confluent-kafka", extra="kafka") from error
        self._cluster = Producer({"test.mock.num.brokers": self._broker_count, "log_level": 0})
        metadata = self._cluster.list_topics(timeout=_START_TIMEOUT_S)
        self.brokers = tuple(f"{broker.host}:{broker.port}" for broker in metadata.brokers.values())
        if self._port is not None:
            forwarder = Forwarder(self._port, self.brokers[0])
            forwarder.start()
            self._forwarder = forwarder
        return self

    def stop(self) -> None:
        """Stop the cluster; its messages are lost."""
        if self._forwarder is not None:
            self._forwarder.stop()
        self._forwarder = None
        self._cluster = None
        self.brokers = ()

    def __enter__(self) -> EmbeddedKafka:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def sink(self, **options: Any) -> KafkaSink:
        """Return a :class:`~ticdc_emit.delivery.kafka.KafkaSink` into this cluster; ``options``: its fields."""
        refuse_unknown("sink", options, KafkaSink)
        return KafkaSink(self.brokers, admin_api=False, **options)

    def read(self, topic: str, newest: int | None = None, timeout_s: float = 10.0) -> list[Message]:
        """Return the messages that the cluster still has of ``topic``, by partition and offset; at most the ``newest``
        of each partition.

        Raises :class:`~ticdc_emit.errors.DeliveryError` if the messages do not arrive within ``timeout_s``.
        """
        return read_topic(self.sink().connection_settings(), topic, newest=newest, timeout_s=timeout_s)
