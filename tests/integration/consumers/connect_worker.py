"""Kafka Connect itself: a worker in a process of its own, as ``connect-standalone`` starts it, and its connectors."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from ticdc_emit.testing.addresses import free_ports
from ticdc_emit.testing.java import short_lived_jvm
from ticdc_emit.testing.kraft import ServerProcess

_JVM = ("-Xmx512m", *short_lived_jvm(), "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_MAIN = "org.apache.kafka.connect.cli.ConnectStandalone"
_READ_TIMEOUT_S = 120.0

Properties = Mapping[str, str]


def properties(text: str) -> dict[str, str]:
    """Return the settings of a ``.properties`` file whose values have one line each."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


class ConnectWorker(ServerProcess):
    """``worker`` and ``connectors``: their settings; the worker's port and its file of offsets are the test's own."""

    def __init__(
        self, java: Path, jars: Path, folder: Path, worker: Properties, connectors: Sequence[Properties]
    ) -> None:
        super().__init__("Kafka Connect worker", folder)
        (port,) = free_ports(1)
        self._rest = f"http://127.0.0.1:{port}"
        self._bootstrap = worker["bootstrap.servers"]
        self._connectors = {one["name"]: one for one in connectors}
        own = {
            "listeners": self._rest,
            "offset.storage.file.filename": str(folder / "offsets"),
            "offset.flush.interval.ms": "1000",  # a minute by default, for which the test would wait
        }
        self._files = {
            "worker.properties": {**worker, **own},
            **{f"{name}.properties": settings for name, settings in self._connectors.items()},
        }
        self._line = [str(java), *_JVM, "-cp", str(jars / "*"), _MAIN, *self._files]

    def settings(self, connector: str) -> Properties:
        """Return a connector's own settings."""
        return self._connectors[connector]

    def fault(self, connector: str) -> str | None:
        """Return what a connector's task failed with, None while it runs."""
        with urllib.request.urlopen(f"{self._rest}/connectors/{connector}/status", timeout=10) as answer:
            (task,) = json.load(answer)["tasks"]
        return str(task["trace"]) if task["state"] == "FAILED" else None

    def read_all(self, connector: str) -> str | None:
        """Wait until a sink has committed the ends of its topics, or has failed; return what it failed with."""
        from confluent_kafka import Consumer, TopicPartition

        group = Consumer({"bootstrap.servers": self._bootstrap, "group.id": f"connect-{connector}", "log_level": 0})
        try:
            known = group.list_topics(timeout=10).topics
            topics = self._connectors[connector]["topics"].split(",")
            places = [TopicPartition(topic, number) for topic in topics for number in known[topic].partitions]
            ends = [group.get_watermark_offsets(place)[1] for place in places]
            deadline = time.monotonic() + _READ_TIMEOUT_S
            while (fault := self.fault(connector)) is None:
                committed = [max(0, place.offset) for place in group.committed(places, timeout=10)]
                if committed == ends:
                    return None
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{connector} is at {committed} of {ends} after {_READ_TIMEOUT_S} s")
                time.sleep(0.2)
            return fault
        finally:
            group.close()

    def _prepare(self) -> None:
        for name, settings in self._files.items():
            text = "".join(f"{setting}={value}\n" for setting, value in settings.items())
            (self._folder / name).write_text(text, encoding="utf-8")

    def _command(self) -> Sequence[str]:
        return self._line

    def _answers(self) -> bool:
        try:
            for connector in self._connectors:
                self.fault(connector)
        except (OSError, ValueError):  # no answer yet, or a connector without a task
            return False
        return True
