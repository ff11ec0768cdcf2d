"""A real Kafka broker for tests: one KRaft node in a folder and on ports of its own."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

__all__ = ["KraftBroker"]

_CLUSTER_ID = "dGljZGMtZW1pdC10ZXN0cw"
_START_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 15.0
_JVM = ("-Xmx384m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class KraftBroker:
    """Broker and controller in one process; ``settings`` go into its server.properties.

    :meth:`kill` and :meth:`start` keep data and ports, as a crash and a restart do.
    """

    def __init__(self, java: Path, jars: Path, folder: Path, settings: Mapping[str, object] | None = None) -> None:
        self._java = java
        self._classpath = str(jars / "*")
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._port, controller = _free_ports(2)
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

    def start(self) -> KraftBroker:
        """Returns once the broker answers on its port."""
        config = self._folder / "server.properties"
        if not config.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            config.write_text("".join(f"{name}={value}\n" for name, value in self._properties.items()))
            self._run("kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", config)
        log = (self._folder / "broker.log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [*self._command("kafka.Kafka"), config], stdout=log, stderr=subprocess.STDOUT, cwd=self._folder
            )
        self._wait_until_up()
        return self

    def kill(self) -> None:
        """SIGKILL, as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Stop, by force after a while, and remove the data."""
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_TIMEOUT_S)
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> KraftBroker:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _command(self, main_class: str) -> list[str]:
        log4j = Path(__file__).parent / "kafka" / "log4j2.properties"
        options = [*_JVM, f"-Dlog4j2.configurationFile={log4j}", "-cp", self._classpath]
        return [str(self._java), *options, main_class]

    def _run(self, main_class: str, *arguments: object) -> None:
        command = [*self._command(main_class), *map(str, arguments)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_START_TIMEOUT_S)
        if answer.returncode:
            raise RuntimeError(f"{main_class} failed:\n{answer.stdout}{answer.stderr}")

    def _wait_until_up(self) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        assert self._process is not None
        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(KafkaException):
                if client.list_topics(timeout=1).brokers:
                    return
        log = (self._folder / "broker.log").read_text(errors="replace")
        raise RuntimeError(f"the Kafka broker did not come up:\n{log[-4000:]}")


def _free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
