"""Real servers as child processes, for ``ticdc-emit serve --broker kafka`` and for tests: Kafka brokers in KRaft mode.

Their jars are downloaded once from Maven Central, and are used only if they match the lock file of this package.
"""

from __future__ import annotations

from pathlib import Path

from ticdc_emit.testing.servers.kraft import KafkaCluster, KraftBroker, Listener
from ticdc_emit.testing.servers.locked_jars import JarsMissingError, locked_archive, locked_jars
from ticdc_emit.testing.servers.server_process import Server, ServerProcess, free_ports

__all__ = [
    "JarsMissingError",
    "KafkaCluster",
    "KraftBroker",
    "Listener",
    "Server",
    "ServerProcess",
    "free_ports",
    "kafka_jars",
    "locked_archive",
    "locked_jars",
]


def kafka_jars() -> Path:
    """Return the folder with the jars of a Kafka broker, fetched by Maven if necessary.

    Raises :class:`JarsMissingError` if they are not in the cache and cannot be fetched.
    """
    return locked_jars(Path(__file__).parent / "kafka")
