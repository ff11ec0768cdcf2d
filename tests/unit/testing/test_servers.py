"""Servers from locked jars: what is not as the lock file says is not started; what does not come up leaves nothing."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ticdc_emit.errors import JarsMissingError, ServerError
from ticdc_emit.testing import EmbeddedKafka, EmbeddedRegistry, MemoryTopics
from ticdc_emit.testing.addresses import address_text, reached_here
from ticdc_emit.testing.kraft import KraftBroker, ServerProcess, locked_jars


def _locked(folder: Path, content: bytes) -> Path:
    server = folder / "tiny"
    server.mkdir()
    digest = hashlib.sha256(content).hexdigest()
    (server / "tiny.lock.toml").write_text(f'[[jar]]\ncoordinates = "org.example:tiny:1"\nsha256 = "{digest}"\n')
    (server / "pom.xml").write_text("<project/>")
    return server


def test_jars_must_be_those_of_the_lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "")
    server = _locked(tmp_path, b"right")
    with pytest.raises(JarsMissingError, match="Maven") as missing:
        locked_jars(server)
    assert "Install Maven" in missing.value.remedy

    name = hashlib.sha256((server / "tiny.lock.toml").read_bytes()).hexdigest()[:16]
    jars = tmp_path / "cache" / "ticdc-emit" / "jars" / f"tiny-{name}"
    jars.mkdir(parents=True)
    (jars / "tiny-1.jar").write_bytes(b"right")
    assert locked_jars(server) == jars
    (jars / "tiny-1.jar").write_bytes(b"wrong")
    with pytest.raises(JarsMissingError, match=r"tiny-1\.jar"):
        locked_jars(server)


class _Failing(ServerProcess):
    def _command(self) -> Sequence[str]:
        return [sys.executable, "-c", "print('no disk'); raise SystemExit(1)"]

    def _answers(self) -> bool:
        return False


def test_a_server_that_ends_at_once_says_why(tmp_path: Path) -> None:
    server = _Failing("tiny server", tmp_path / "server")
    with pytest.raises(ServerError, match="tiny server did not come up:\nno disk"), server:
        pass
    assert not (tmp_path / "server").exists()


def test_an_ipv6_address_has_brackets_in_a_text() -> None:
    assert address_text("::1", 9092) == "[::1]:9092"
    assert address_text(reached_here("0.0.0.0"), 9092) == "127.0.0.1:9092"


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """A Java that prints the class it runs, and ends with the exit code 3 where the users are wrong."""
    script = tmp_path / "java"
    script.write_text('#!/bin/sh\necho "$@"\ncase "$*" in *wrong*) exit 3;; esac\n')
    script.chmod(0o755)
    return script


def test_a_broker_formats_its_folder_before_it_starts(tmp_path: Path, java: Path) -> None:
    broker = KraftBroker(java, tmp_path / "jars", tmp_path / "kafka")
    broker.begin()
    broker.begin()
    with pytest.raises(ServerError, match=r"(?s)StorageTool format.*kafka\.Kafka ") as ended:
        broker.start()
    assert ended.value.message.count("StorageTool") == 1
    broker.stop()
    assert not (tmp_path / "kafka").exists()


def test_a_folder_that_cannot_be_formatted_starts_no_broker(tmp_path: Path, java: Path) -> None:
    broker = KraftBroker(java, tmp_path / "jars", tmp_path / "kafka", users="wrong")
    with pytest.raises(ServerError, match="cannot be formatted") as failed, broker:
        pass
    assert "kafka.Kafka " not in failed.value.message


def test_helpers_show_where_they_are() -> None:
    pytest.importorskip("confluent_kafka")
    pytest.importorskip("avro")
    with EmbeddedKafka() as kafka, EmbeddedRegistry() as registry, MemoryTopics("mine") as topics:
        assert repr(kafka) == f"<EmbeddedKafka {kafka.bootstrap}>"
        assert re.fullmatch(r"<EmbeddedRegistry http://127\.0\.0\.1:\d+>", repr(registry))
        assert repr(topics) == "<MemoryTopics mine>"
    assert [repr(kafka), repr(registry)] == ["<EmbeddedKafka stopped>", "<EmbeddedRegistry stopped>"]


def test_the_embedded_kafka_says_what_it_has_lost() -> None:
    from confluent_kafka import Producer

    with EmbeddedKafka() as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap})
        for number in range(12):
            producer.produce("t", b"x" * 900_000, partition=0)
            producer.flush()
            if number == 2:
                assert kafka.evicted() == {}
        assert kafka.evicted() == {"t": kafka.read("t")[0].offset}
        assert kafka.evicted()["t"] > 0
