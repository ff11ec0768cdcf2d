"""Real servers for tests."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest
from apicurio import Apicurio, ServerCertificate, unpacked
from connect_json import can_compile, connected
from missing_parts import java_and_jars, missing

from tests.kafka_cluster import KafkaCluster
from ticdc_emit.errors import JarsMissingError, MissingDependencyError
from ticdc_emit.testing.java import find_java
from ticdc_emit.testing.kraft import KraftBroker, kafka_jars, locked_archive

_MESSAGE_MAX_BYTES = 12 * 1024 * 1024

MakeBroker = Callable[[], KraftBroker]
MakeCluster = Callable[..., KafkaCluster]
Connect = Callable[[Iterable[tuple[bytes, bytes]]], list[dict[str, Any]]]


class MakeApicurio(Protocol):
    def __call__(
        self, *, login: tuple[str, str] | None = None, certificate: ServerCertificate | None = None
    ) -> Apicurio: ...


@pytest.fixture(scope="session")
def kafka_parts() -> tuple[Path, Path]:
    """Java, and the folder with the broker's jars."""
    pytest.importorskip("confluent_kafka")
    try:
        return find_java(), kafka_jars()
    except (MissingDependencyError, JarsMissingError) as error:
        missing(str(error))


@pytest.fixture(scope="session")
def make_broker(kafka_parts: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> MakeBroker:
    """Makes brokers that are not started yet."""
    settings = {"message.max.bytes": _MESSAGE_MAX_BYTES}
    return lambda: KraftBroker(*kafka_parts, tmp_path_factory.mktemp("kraft") / "node", settings)


@pytest.fixture(scope="session")
def make_cluster(kafka_parts: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> MakeCluster:
    """Makes clusters that are not started yet; options as those of :class:`KafkaCluster`."""

    def make(nodes: int = 3, settings: Mapping[str, object] | None = None, **options: Any) -> KafkaCluster:
        own = {"message.max.bytes": _MESSAGE_MAX_BYTES, **(settings or {})}
        return KafkaCluster(*kafka_parts, tmp_path_factory.mktemp("cluster"), nodes, own, **options)

    return make


@pytest.fixture(scope="session")
def kraft(make_broker: MakeBroker) -> Iterator[KraftBroker]:
    """One broker for all tests that leave it running."""
    with make_broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def make_apicurio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeApicurio]:
    """Makes registries that are not started yet."""
    try:
        java = find_java()
        archive = locked_archive(Path(__file__).parent / "registry")
    except (MissingDependencyError, JarsMissingError) as error:
        missing(str(error))
    # 115 MB that pytest would keep for three sessions.
    with tempfile.TemporaryDirectory(prefix="apicurio-") as folder:
        jar = unpacked(archive, Path(folder))
        yield lambda **options: Apicurio(java, jar, tmp_path_factory.mktemp("apicurio") / "run", **options)


@pytest.fixture(scope="session")
def apicurio(make_apicurio: MakeApicurio) -> Iterator[Apicurio]:
    """One registry for all tests that leave it running."""
    with make_apicurio() as registry:
        yield registry


@pytest.fixture(scope="session")
def connect() -> Connect:
    """Kafka Connect's JsonConverter: keys and values in, see :func:`connect_json.connected` for what comes out."""
    java, jars = java_and_jars(Path(__file__).parent / "connect")
    if not can_compile(java):
        missing(f"{java} has no compiler; a JDK is needed")
    return lambda messages: connected(java, jars, messages)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ServerCertificate:
    """Of 127.0.0.1, signed by a CA that nobody trusts."""
    trustme = pytest.importorskip("trustme")
    folder = tmp_path_factory.mktemp("certificate")
    files = ServerCertificate(folder / "cert.pem", folder / "key.pem", folder / "ca.pem")
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(files.ca)
    issued.private_key_pem.write_to_path(files.key)
    files.cert.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    return files
