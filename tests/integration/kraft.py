"""A real Kafka broker for tests: one KRaft node in a folder and on ports of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from server_process import ServerProcess, free_ports

__all__ = ["KraftBroker"]

_CLUSTER_ID = "dGljZGMtZW1pdC10ZXN0cw"
_FORMAT_TIMEOUT_S = 90.0
_JVM = ("-Xmx384m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class KraftBroker(ServerProcess):
    """Broker and controller in one process; ``settings`` go into its server.properties.

    :meth:`kill` and :meth:`start` keep data and ports, as a crash and a restart do.
    """

    def __init__(self, java: Path, jars: Path, folder: Path, settings: Mapping[str, object] | None = None) -> None:
        super().__init__("Kafka broker", folder)
        self._java = java
        self._classpath = str(jars / "*")
        self._port, controller = free_ports(2)
        self.bootstrap = f"127.0.0.1:{self._port}"
        self._properties = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": folder / "data",
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 4,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.num.partitions": 4,
            "transaction.state.log.min.isr": 1,
            "share.coordinator.state.topic.replication.factor": 1,
            "share.coordinator.state.topic.min.isr": 1,
            "min.insync.replicas": 1,
            "default.replication.factor": 1,
            "group.initial.rebalance.delay.ms": 0,
            "auto.create.topics.enable": "false",
            # A killed broker may come back once its session is over.
            "broker.session.timeout.ms": 3000,
            "broker.heartbeat.interval.ms": 500,
            **(settings or {}),
        }

    @property
    def _config(self) -> Path:
        return self._folder / "server.properties"

    def _prepare(self) -> None:
        if not self._config.exists():
            self._config.write_text("".join(f"{name}={value}\n" for name, value in self._properties.items()))
            self._run("kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", self._config)

    def _command(self) -> list[str]:
        return [*self._java_command("kafka.Kafka"), str(self._config)]

    def _java_command(self, main_class: str) -> list[str]:
        log4j = Path(__file__).parent / "kafka" / "log4j2.properties"
        options = [*_JVM, f"-Dlog4j2.configurationFile={log4j}", "-cp", self._classpath]
        return [str(self._java), *options, main_class]

    def _run(self, main_class: str, *arguments: object) -> None:
        command = [*self._java_command(main_class), *map(str, arguments)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_FORMAT_TIMEOUT_S)
        if answer.returncode:
            raise RuntimeError(f"{main_class} failed:\n{answer.stdout}{answer.stderr}")

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            return bool(client.list_topics(timeout=1).brokers)
        except KafkaException:
            return False
