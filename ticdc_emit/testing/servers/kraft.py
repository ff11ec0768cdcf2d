"""Real Kafka brokers: KRaft nodes, each with its own folder and ports, alone or as a cluster."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ticdc_emit.errors import ServerError
from ticdc_emit.hints import names
from ticdc_emit.java import short_lived_jvm
from ticdc_emit.testing.servers.server_process import Server, ServerProcess, free_ports

if TYPE_CHECKING:
    from confluent_kafka.admin import ClusterMetadata  # type: ignore[attr-defined]  # it is there

__all__ = ["KafkaCluster", "KraftBroker", "Listener"]

_CLUSTER_ID = "dGljZGMtZW1pdC10ZXN0cw"
_FORMAT_TIMEOUT_S = 90.0
_SETTLE_TIMEOUT_S = 60.0
_MEMORY = ("-Xmx384m", "-Xms128m")


@dataclass(frozen=True)
class Listener:
    """A further listener of a broker: Kafka's security ``protocol``, and ``settings`` for this listener only."""

    name: str
    protocol: str
    settings: Mapping[str, object] = field(default_factory=dict)


class KraftBroker(ServerProcess):
    """Broker and controller in one process; ``settings`` go into its server.properties.

    :meth:`kill` and :meth:`start` keep data and ports, as a crash and a restart do.  ``bootstrap`` is a plain listener
    on ``port``, by default any free one; :meth:`address` returns those of ``listeners``.  ``quorum`` holds the
    controller port of every node, by node id.
    """

    def __init__(
        self,
        java: Path,
        jars: Path,
        folder: Path,
        settings: Mapping[str, object] | None = None,
        *,
        listeners: Sequence[Listener] = (),
        users: str | Sequence[str] = (),
        jvm_options: str | Sequence[str] = (),
        node: int = 1,
        quorum: Mapping[int, int] | None = None,
        port: int | None = None,
    ) -> None:
        super().__init__(f"Kafka broker {node}", folder)
        self._java = java
        self._classpath = str(jars / "*")
        self._users = names(users)
        self._jvm_options = names(jvm_options)
        self._node = node
        ways = [Listener("PLAINTEXT", "PLAINTEXT"), *listeners]
        *ports, controller = free_ports(len(ways) + 1)
        ports[0] = port or ports[0]
        quorum = quorum or {node: controller}
        self._addresses = {way.name: f"127.0.0.1:{port}" for way, port in zip(ways, ports, strict=True)}
        self.bootstrap = self.address("PLAINTEXT")
        advertised = ",".join(f"{name}://{address}" for name, address in self._addresses.items())
        self._properties = {
            "process.roles": "broker,controller",
            "node.id": node,
            "controller.quorum.voters": ",".join(f"{member}@127.0.0.1:{port}" for member, port in quorum.items()),
            "listeners": f"{advertised},CONTROLLER://127.0.0.1:{quorum[node]}",
            "advertised.listeners": advertised,
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": ",".join(
                f"{way.name}:{way.protocol}" for way in [Listener("CONTROLLER", "PLAINTEXT"), *ways]
            ),
            "log.dirs": folder / "data",
            "offsets.topic.num.partitions": 4,
            "transaction.state.log.num.partitions": 4,
            **_replicated(1, 1),
            "group.initial.rebalance.delay.ms": 0,
            "auto.create.topics.enable": "false",
            # a killed broker can restart only after its session has expired
            "broker.session.timeout.ms": 3000,
            "broker.heartbeat.interval.ms": 500,
            **{
                f"listener.name.{way.name.lower()}.{name}": value
                for way in listeners
                for name, value in way.settings.items()
            },
            **(settings or {}),
        }

    def address(self, listener: str) -> str:
        """Return ``host:port`` of one listener."""
        return self._addresses[listener]

    @property
    def _config(self) -> Path:
        return self._folder / "server.properties"

    def _prepare(self) -> None:
        if not self._config.exists():
            self._config.write_text("".join(f"{name}={value}\n" for name, value in self._properties.items()))
            users = [word for user in self._users for word in ("--add-scram", user)]
            self._run("kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", self._config, *users)

    def _command(self) -> list[str]:
        return [*self._java_command("kafka.Kafka"), str(self._config)]

    def _java_command(self, main_class: str) -> list[str]:
        log4j = Path(__file__).parent / "kafka" / "log4j2.properties"
        own = (f"-Dlog4j2.configurationFile={log4j}", "-cp", self._classpath)
        options = [*_MEMORY, *short_lived_jvm(), *self._jvm_options, *own]
        return [str(self._java), *options, main_class]

    def _run(self, main_class: str, *arguments: object) -> None:
        command = [*self._java_command(main_class), *map(str, arguments)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_FORMAT_TIMEOUT_S)
        if answer.returncode:
            raise ServerError(f"{main_class} failed:\n{answer.stdout}{answer.stderr}")

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException

        try:
            return self._node in _metadata(self.bootstrap, timeout_s=1).brokers
        except KafkaException:
            return False


class KafkaCluster(Server):
    """A few :class:`KraftBroker` nodes with ids from 1, each also a controller.

    Topics have ``replication_factor`` replicas, and ``min_isr`` of them must store a message with acks=all. With the
    defaults, a cluster of three survives the loss of one node.
    """

    def __init__(
        self,
        java: Path,
        jars: Path,
        folder: Path,
        nodes: int = 3,
        settings: Mapping[str, object] | None = None,
        *,
        replication_factor: int | None = None,
        min_isr: int | None = None,
        listeners: Sequence[Listener] = (),
        users: str | Sequence[str] = (),
        jvm_options: str | Sequence[str] = (),
    ) -> None:
        quorum = dict(enumerate(free_ports(nodes), start=1))
        replicas = replication_factor or nodes
        own = {**_replicated(replicas, min_isr or max(1, replicas - 1)), **(settings or {})}
        self._nodes = {
            node: KraftBroker(
                java,
                jars,
                folder / f"node-{node}",
                own,
                listeners=listeners,
                users=users,
                jvm_options=jvm_options,
                node=node,
                quorum=quorum,
            )
            for node in quorum
        }
        self.bootstrap = ",".join(node.bootstrap for node in self._nodes.values())

    @property
    def nodes(self) -> tuple[int, ...]:
        """The ids of all nodes, running or not."""
        return tuple(self._nodes)

    def address(self, listener: str) -> str:
        """Return ``host:port`` of one listener on every node, with commas between."""
        return ",".join(node.address(listener) for node in self._nodes.values())

    def start(self) -> KafkaCluster:
        """Returns once every node knows all others as brokers."""
        with ThreadPoolExecutor(len(self._nodes)) as pool:
            # a single node has no quorum and would not answer
            list(pool.map(KraftBroker.start, self._nodes.values()))
        for node in self._nodes.values():
            _until(partial(self._knows_all, node.bootstrap), "all nodes joined")
        return self

    def kill(self, node: int) -> None:
        """SIGKILL, as a crash does."""
        self._nodes[node].kill()

    def restart(self, node: int) -> None:
        """Start a killed node again, on its data and ports; returns once it answers as a broker."""
        self._nodes[node].start()

    def leader(self, topic: str, partition: int) -> int:
        """Return the current leader of a partition; waits while there is none."""
        return _until(lambda: self._leader(topic, partition), f"{topic}-{partition} has a leader")

    def wait_until_in_sync(self, topics: str | Iterable[str]) -> None:
        """Returns once every replica of ``topics`` has caught up."""
        for topic in names(topics):
            _until(partial(self._in_sync, topic), f"all replicas of {topic} are in sync")

    def stop(self) -> None:
        """Stop all nodes and remove their folders."""
        for node in self._nodes.values():
            # the last node has no quorum, so a controlled shutdown would never end
            node.kill()
            node.stop()

    def _knows_all(self, bootstrap: str) -> bool:
        return len(_metadata(bootstrap).brokers) == len(self._nodes)

    def _leader(self, topic: str, partition: int) -> int | None:
        metadata = _metadata(self.bootstrap, topic).topics[topic].partitions.get(partition)
        return metadata.leader if metadata is not None and metadata.leader in self._nodes else None

    def _in_sync(self, topic: str) -> bool:
        partitions = _metadata(self.bootstrap, topic).topics[topic].partitions.values()
        return bool(partitions) and all(len(each.isrs) == len(each.replicas) for each in partitions)


def _replicated(factor: int, min_isr: int) -> dict[str, object]:
    return {
        "default.replication.factor": factor,
        "min.insync.replicas": min_isr,
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": min_isr,
        "share.coordinator.state.topic.replication.factor": factor,
        "share.coordinator.state.topic.min.isr": min_isr,
    }


def _metadata(bootstrap: str, topic: str | None = None, timeout_s: float = 10) -> ClusterMetadata:
    """A new client each time, because a client that saw a node die waits longer before each retry."""
    from confluent_kafka.admin import AdminClient

    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    return client.list_topics(topic, timeout=timeout_s) if topic else client.list_topics(timeout=timeout_s)


def _until(look: Callable[[], int | None], what: str) -> int:
    """Return the result of ``look`` once it is neither None nor false."""
    deadline = time.monotonic() + _SETTLE_TIMEOUT_S
    while not (result := look()):
        if time.monotonic() > deadline:
            raise ServerError(f"not within {_SETTLE_TIMEOUT_S} s: {what}")
        time.sleep(0.1)
    return result
