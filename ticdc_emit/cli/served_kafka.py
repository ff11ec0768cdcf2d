"""Where ``ticdc-emit serve`` listens, and the Kafka that it starts there.

A real broker takes a second to format its folder, a temporary one. That begins while the modules of the command are
imported, so this module imports little; a wrong command is still refused before a broker starts.
"""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ticdc_emit.cli import signals
from ticdc_emit.errors import ConfigError
from ticdc_emit.testing.addresses import EVERY_ADDRESS, LOOPBACK, address_text, free_ports, require_free_port

if TYPE_CHECKING:
    from ticdc_emit.testing.kraft import KraftBroker


@dataclass(frozen=True)
class Server:
    """Where to serve. Port 0: any free one. ``advertise``: ``HOST[:PORT]`` that clients are told."""

    broker: str
    port: int
    registry_port: int
    host: str = LOOPBACK
    advertise: str | None = None

    @property
    def is_embedded(self) -> bool:
        return self.broker == "embedded"

    @property
    def is_local(self) -> bool:
        """Whether only programs of this machine connect."""
        return self.host == LOOPBACK and self.advertise is None

    def check(self) -> None:
        """Raise :class:`~ticdc_emit.errors.ConfigError` for an address that cannot be used, or a port in use."""
        try:
            socket.inet_pton(socket.AF_INET6 if ":" in self.host else socket.AF_INET, self.host)
        except OSError:
            raise ConfigError(
                f"{self.host!r} is not an IP address",
                remedy="Give an address of this machine, or 0.0.0.0 for all. A name goes to --advertise",
                option="host",
            ) from None
        self._advertised()
        require_free_port(self.port, "--port", self.host)
        require_free_port(self.registry_port, "--registry-port", self.host)

    def advertised(self, port: int) -> tuple[str, int]:
        """Return the host and port that clients connect to; ``port``: the one that is listened on."""
        host, own_port = self._advertised()
        return host or (_own_address() if self.host in EVERY_ADDRESS else self.host), own_port or port

    def _advertised(self) -> tuple[str | None, int | None]:
        if self.advertise is None:
            return None, None
        host, colon, port = self.advertise.rpartition(":")
        if not colon or ":" in host:  # without a port, or an IPv6 address
            return self.advertise, None
        if not host or not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
            raise ConfigError(
                f"{self.advertise!r} is not HOST or HOST:PORT",
                remedy="Give the name and port that clients connect to, such as kafka:9092",
                option="advertise",
            )
        return host, int(port)


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # an address for documentation; nothing is sent
        return str(probe.getsockname()[0])
    return LOOPBACK


class ServedKafka:
    """A context manager, which ends the Kafka; ``here``: its address for this process, ``bootstrap``: for consumers;
    ``evicted``: returns how many messages of each topic the embedded Kafka has lost.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.here = self.bootstrap = ""
        self._stack = ExitStack()
        self._broker: KraftBroker | None = None
        self.evicted: Callable[[], dict[str, int]] = dict

    def __enter__(self) -> ServedKafka:
        from ticdc_emit.testing.kraft import has_kafka_jars

        if not self.server.is_embedded and has_kafka_jars():  # what is wrong is said before they are fetched
            self._broker = self._formatting_broker()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self) -> None:
        """Return once clients can connect; raises for a port in use, and for a broker that does not start."""
        if self.server.is_embedded:
            self._start_embedded()
            return
        broker = self._broker or self._formatting_broker()
        with signals.held():
            broker.start()
            if broker.process is not None:
                signals.watch(broker.process)
        self.here = broker.bootstrap
        self.bootstrap = broker.bootstrap if self.server.is_local else broker.address("CLIENTS")

    def versions(self) -> dict[str, str]:
        """Return the kind of Kafka and its version, and that of this package, as JSON tells them."""
        from ticdc_emit import __version__

        if self.server.is_embedded:
            from confluent_kafka import libversion

            kafka = f"librdkafka {libversion()[0]}"
        else:
            from ticdc_emit.testing.kraft import kafka_version

            kafka = kafka_version()
        return {"version": __version__, "broker": self.server.broker, "kafka": kafka}

    def _start_embedded(self) -> None:
        from ticdc_emit.testing import EmbeddedKafka

        server, port, advertised = self.server, self.server.port, None
        if server.advertise is not None:
            port = port or free_ports(1)[0]
            advertised = server.advertised(port)
        kafka = self._stack.enter_context(EmbeddedKafka(port=port, host=server.host, advertised=advertised))
        self.evicted = kafka.evicted
        self.here, self.bootstrap = kafka.brokers[0], address_text(*server.advertised(kafka.port))

    def _formatting_broker(self) -> KraftBroker:
        from ticdc_emit.testing.java import find_java
        from ticdc_emit.testing.kraft import KraftBroker, Listener, kafka_jars

        server = self.server
        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(kafka_jars)  # and their sums are checked, while Java is asked for its version
            java = find_java()
            jars = reading.result()
        temporary = tempfile.TemporaryDirectory(prefix="ticdc-emit-", ignore_cleanup_errors=True)
        folder = Path(self._stack.enter_context(temporary), "kafka")
        own = {"auto.create.topics.enable": "true"}  # a consumer may come before the first message
        if server.is_local:
            broker = KraftBroker(java, jars, folder, own, port=server.port or None)
        else:
            port = server.port or free_ports(1)[0]
            clients = Listener("CLIENTS", "PLAINTEXT", host=server.host, port=port, advertised=server.advertised(port))
            broker = KraftBroker(java, jars, folder, own, listeners=[clients])
        self._stack.callback(broker.stop)
        with signals.held():
            broker.begin()
        return broker
