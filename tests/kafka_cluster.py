"""A few real Kafka brokers whose leaders and replicas a test can ask for, and which it can kill."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka.admin import AdminClient

from ticdc_emit.errors import ServerError
from ticdc_emit.testing.addresses import free_ports
from ticdc_emit.testing.kraft import KraftBroker, replicated
from ticdc_emit.testing.running import Running

if TYPE_CHECKING:
    from typing import Self

    from confluent_kafka.admin._metadata import ClusterMetadata

_SETTLE_TIMEOUT_S = 60.0


class KafkaCluster(Running):
    """A few :class:`KraftBroker` nodes with ids from 1, each also a controller.

    Topics have a replica on each node, and all but one of them must store a message with acks=all: a cluster of three
    survives the loss of one node. ``options``: those of the nodes.
    """

    def __init__(
        self,
        java: Path,
        jars: Path,
        folder: Path,
        nodes: int = 3,
        settings: Mapping[str, object] | None = None,
        **options: Any,
    ) -> None:
        quorum = dict(enumerate(free_ports(nodes), start=1))
        own = {**replicated(nodes, max(1, nodes - 1)), **(settings or {})}
        self._nodes = {
            node: KraftBroker(java, jars, folder / f"node-{node}", own, node=node, quorum=quorum, **options)
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

    def start(self) -> Self:
        """Returns once every node knows all others as brokers."""
        with ThreadPoolExecutor(len(self._nodes)) as pool:
            # a single node has no quorum and would not answer
            list(pool.map(KraftBroker.start, self._nodes.values()))
        for node in self._nodes.values():
            knows_all = partial(lambda each: len(_metadata(each).brokers) == len(self._nodes), node.bootstrap)
            _until(knows_all, "all nodes joined")
        return self

    def kill(self, node: int) -> None:
        """SIGKILL, as a crash does."""
        self._nodes[node].kill()

    def restart(self, node: int) -> None:
        """Start a killed node again, on its data and ports; returns once it answers as a broker."""
        self._nodes[node].start()

    def leader(self, topic: str, partition: int) -> int:
        """Return the current leader of a partition; waits while there is none."""

        def leader() -> int | None:
            metadata = _metadata(self.bootstrap, topic).topics[topic].partitions.get(partition)
            return metadata.leader if metadata is not None and metadata.leader in self._nodes else None

        return _until(leader, f"{topic}-{partition} has a leader")

    def wait_until_in_sync(self, topics: Iterable[str]) -> None:
        """Returns once every replica of ``topics`` has caught up."""
        for topic in topics:
            _until(partial(self._in_sync, topic), f"all replicas of {topic} are in sync")

    def _in_sync(self, topic: str) -> bool:
        partitions = _metadata(self.bootstrap, topic).topics[topic].partitions.values()
        return bool(partitions) and all(len(each.isrs) == len(each.replicas) for each in partitions)

    def stop(self) -> None:
        """Stop all nodes and remove their folders."""
        for node in self._nodes.values():
            # the last node has no quorum, so a controlled shutdown would never end
            node.kill()
            node.stop()


def _metadata(bootstrap: str, topic: str | None = None) -> ClusterMetadata:
    """A new client each time, because a client that saw a node die waits longer before each retry."""
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    return client.list_topics(topic, timeout=10)


def _until(look: Callable[[], int | None], what: str) -> int:
    """Return the result of ``look`` once it is neither None nor false."""
    deadline = time.monotonic() + _SETTLE_TIMEOUT_S
    while not (result := look()):
        if time.monotonic() > deadline:
            raise ServerError(f"not within {_SETTLE_TIMEOUT_S} s: {what}")
        time.sleep(0.1)
    return result
