"""Real Kafka brokers as child processes (KRaft mode). Maven fetches their jars once to ``~/.cache/ticdc-emit/jars``;
they are used only if they match ``{name}.lock.toml`` (coordinates and SHA-256 sums) byte for byte.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ticdc_emit.errors import JarsMissingError, ServerError
from ticdc_emit.hints import names
from ticdc_emit.testing.addresses import LOOPBACK, Address, address_text, free_ports
from ticdc_emit.testing.java import short_lived_jvm, user_cache
from ticdc_emit.testing.running import Running

if TYPE_CHECKING:
    from typing import Self


def locked_jars(server: Path) -> Path:
    """Return the folder with the jars of ``{server}/{name}.lock.toml``; ``{server}/pom.xml`` fetches missing ones."""
    return _verified_folder(server, "jar", lambda work, libs: _fetch_jars(server / "pom.xml", work, libs))


def locked_archive(server: Path) -> Path:
    """Return the archive that ``{server}/{name}.lock.toml`` names by ``group:artifact:version:type:classifier``."""
    (archive,) = _locked(server, "archive")
    options = [f"-Dartifact={archive['coordinates']}"]
    folder = _verified_folder(server, "archive", lambda work, libs: _maven(work, libs, "dependency:copy", *options))
    return folder / _file_name(archive["coordinates"])


def _verified_folder(server: Path, kind: str, fetch: Callable[[Path, Path], None]) -> Path:
    wanted = {_file_name(one["coordinates"]): one["sha256"] for one in _locked(server, kind)}
    folder = _cached_folder(server)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
            libs = Path(fresh, "libs")
            fetch(Path(fresh), libs)
            _verify(libs, wanted)
            try:
                libs.rename(folder)
            except OSError:
                # another process was faster; its files are verified below
                if not folder.is_dir():
                    raise
    _verify(folder, wanted)
    return folder


def _lock(server: Path) -> bytes:
    return (server / f"{server.name}.lock.toml").read_bytes()


def _locked(server: Path, kind: str) -> list[dict[str, str]]:
    return list(tomllib.loads(_lock(server).decode())[kind])


def _cached_folder(server: Path) -> Path:
    return user_cache() / "jars" / f"{server.name}-{hashlib.sha256(_lock(server)).hexdigest()[:16]}"


def _file_name(coordinates: str) -> str:
    _, artifact, version, kind, classifier = [*coordinates.split(":"), "jar", ""][:5]
    return f"{artifact}-{version}{'-' if classifier else ''}{classifier}.{kind}"


def _fetch_jars(pom: Path, work: Path, libs: Path) -> None:
    # Maven writes a target folder next to the given pom
    shutil.copy(pom, work / "pom.xml")
    _maven(work, libs, "-f", work / "pom.xml", "dependency:copy-dependencies", "-DincludeScope=runtime")


def _maven(work: Path, libs: Path, *arguments: str | Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise JarsMissingError(
            "the server's jars are not in the cache, and Maven, which fetches them, is not installed",
            remedy="Install Maven (apt install maven, brew install maven)",
        )
    command = [maven, "-B", "-q", *arguments, f"-DoutputDirectory={libs}"]
    answer = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False, timeout=600)
    if answer.returncode:
        output = f"{answer.stdout[-2000:]}{answer.stderr[-2000:]}".strip()
        raise JarsMissingError(
            f"Maven could not fetch the server's jars: {output}", remedy="Check that this machine reaches Maven Central"
        )


def _verify(folder: Path, wanted: dict[str, str]) -> None:
    sums = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
    wrong = sorted(name for name in sums.keys() | wanted.keys() if sums.get(name) != wanted.get(name))
    if wrong:
        raise JarsMissingError(
            f"jars differ from the lock file: {', '.join(wrong)}",
            remedy="Remove the folder, and they are fetched again",
            folder=str(folder),
        )


_START_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 15.0


class ServerProcess(Running):
    """:meth:`kill` and :meth:`start` keep folder and ports, as a crash and a restart do; :meth:`stop` removes them."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._folder = folder
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Returns once the server answers."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._prepare()
        self._launch(self._command())
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline and self.process is not None and self.process.poll() is None:
            if self._answers():
                return self
            time.sleep(0.1)
        raise ServerError(f"the {self._name} did not come up:\n{self._last_lines()}")

    def _launch(self, command: Sequence[str]) -> None:
        with self._log.open("ab") as log:
            # only the parent process handles Ctrl-C, and stops this one afterwards
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, cwd=self._folder, start_new_session=True
            )

    def _last_lines(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> None:
        """Stop, by force after a while, and remove the folder."""
        if self.process is not None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_STOP_TIMEOUT_S)
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _log(self) -> Path:
        return self._folder / "server.log"

    def _prepare(self) -> None:
        """Preparations before each start of the process."""

    def _command(self) -> Sequence[str]:
        raise NotImplementedError

    def _answers(self) -> bool:
        raise NotImplementedError


_CLUSTER_ID = "dGljZGMtZW1pdC10ZXN0cw"
_FORMAT_TIMEOUT_S = 90.0
_MEMORY = ("-Xmx384m", "-Xms128m")


@dataclass(frozen=True)
class Listener:
    """A further listener of a broker; ``settings``: of this listener only. ``port``: ``None`` for any free one.
    ``advertised``: the address that clients are told to connect to, if it is another one.
    """

    name: str
    protocol: str
    settings: Mapping[str, object] = field(default_factory=dict)
    host: str = LOOPBACK
    port: int | None = None
    advertised: Address | None = None


class KraftBroker(ServerProcess):
    """Broker and controller in one process; ``settings`` go into its server.properties. ``bootstrap``: a plain listener
    of loopback; :meth:`address`: one of ``listeners``. ``quorum``: the controller port of every node, by node id.
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
        self._formatting: subprocess.Popen[bytes] | None = None
        every = [Listener("PLAINTEXT", "PLAINTEXT", port=port), *listeners]
        *free, controller = free_ports(len(every) + 1)
        quorum = quorum or {node: controller}
        places = [(listener.host, listener.port or other) for listener, other in zip(every, free, strict=True)]
        self._addresses = {
            listener.name: address_text(*(listener.advertised or place))
            for listener, place in zip(every, places, strict=True)
        }
        self.bootstrap = self.address("PLAINTEXT")
        advertised = ",".join(f"{name}://{address}" for name, address in self._addresses.items())
        own = ",".join(
            f"{listener.name}://{address_text(*place)}" for listener, place in zip(every, places, strict=True)
        )
        self._properties = {
            "process.roles": "broker,controller",
            "node.id": node,
            "controller.quorum.voters": ",".join(f"{member}@127.0.0.1:{port}" for member, port in quorum.items()),
            "listeners": f"{own},CONTROLLER://127.0.0.1:{quorum[node]}",
            "advertised.listeners": advertised,
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": ",".join(
                f"{listener.name}:{listener.protocol}" for listener in [Listener("CONTROLLER", "PLAINTEXT"), *every]
            ),
            "log.dirs": folder / "data",
            "offsets.topic.num.partitions": 4,
            "transaction.state.log.num.partitions": 4,
            **replicated(1, 1),
            "group.initial.rebalance.delay.ms": 0,
            "auto.create.topics.enable": "false",
            # a killed broker can restart only after its session has expired
            "broker.session.timeout.ms": 3000,
            "broker.heartbeat.interval.ms": 500,
            **{
                f"listener.name.{listener.name.lower()}.{name}": value
                for listener in listeners
                for name, value in listener.settings.items()
            },
            **(settings or {}),
        }

    def address(self, listener: str) -> str:
        """Return ``host:port`` of one listener, as clients are told."""
        return self._addresses[listener]

    @property
    def _config(self) -> Path:
        return self._folder / "server.properties"

    def begin(self) -> None:
        """Begin what :meth:`start` does first, which takes a second, and return: format the folder."""
        if self._config.exists():
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        self._config.write_text("".join(f"{name}={value}\n" for name, value in self._properties.items()))
        users = [word for user in self._users for word in ("--add-scram", user)]
        tool = self._java_command("kafka.tools.StorageTool")
        self._launch([*tool, "format", "-t", _CLUSTER_ID, "-c", str(self._config), *users])
        self._formatting = self.process

    def _prepare(self) -> None:
        self.begin()
        formatting, self._formatting = self._formatting, None
        if formatting is not None and formatting.wait(_FORMAT_TIMEOUT_S):
            raise ServerError(f"the folder of the {self._name} cannot be formatted:\n{self._last_lines()}")

    def _command(self) -> list[str]:
        return [*self._java_command("kafka.Kafka"), str(self._config)]

    def _java_command(self, main_class: str) -> list[str]:
        own = (f"-Dlog4j2.configurationFile={_KAFKA / 'log4j2.properties'}", "-cp", self._classpath)
        options = [*_MEMORY, *short_lived_jvm(), *self._jvm_options, *own]
        return [str(self._java), *options, main_class]

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        # a broker that starts is seen at once, and a new client does not wait longer before each retry
        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 100})
        try:
            return self._node in client.list_topics(timeout=1).brokers
        except KafkaException:
            return False


def replicated(factor: int, min_isr: int) -> dict[str, object]:
    """Return the settings of brokers with so many replicas, of which so many must be in sync."""
    return {
        "default.replication.factor": factor,
        "min.insync.replicas": min_isr,
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": min_isr,
        "share.coordinator.state.topic.replication.factor": factor,
        "share.coordinator.state.topic.min.isr": min_isr,
    }


_KAFKA = Path(__file__).parent / "kafka"


def kafka_version() -> str:
    locked = _locked(_KAFKA, "jar")
    names = (jar["coordinates"].split(":") for jar in locked)
    return str(next(version for _, name, version, *_ in names if name == "kafka-clients"))


def kafka_jars() -> Path:
    """Return the folder with a broker's jars, fetched if necessary. Raises :class:`JarsMissingError`."""
    return locked_jars(_KAFKA)


def has_kafka_jars() -> bool:
    """Return whether :func:`kafka_jars` has nothing to fetch."""
    return _cached_folder(_KAFKA).is_dir()
