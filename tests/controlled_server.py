"""``serve --control`` as a child process that a test drives over HTTP, and a consumer that reads what it sends."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from typing import Any

SCHEMA = """
CREATE TABLE shop.orders (id INT PRIMARY KEY, note VARCHAR(20));
CREATE TABLE shop.clerks (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20) NOT NULL);
"""


class ControlledServer:
    """A child process; ``settings``: its first line."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "ticdc_emit", "serve", "--json", "--port", "0", "--registry-port", "0"]
        self.process = subprocess.Popen(
            [*command, "--control", "127.0.0.1:0", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.settings = json.loads(self.process.stdout.readline())
        self.url = self.settings["control"]

    def ask(self, path: str, body: Any = None, method: str | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def post(self, path: str, body: Any = None) -> Any:
        return self.ask(path, body or {}, "POST")

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


class Reader:
    """Reads the topics of a server from the ends that a reset has told; ``position``: the next offset of each."""

    def __init__(self, server: ControlledServer, ends: list[dict[str, Any]]) -> None:
        from confluent_kafka import Consumer, TopicPartition

        # a fetch that waits does not end earlier when a message comes to the embedded Kafka
        settings = {"bootstrap.servers": server.settings["bootstrap"], "group.id": "none", "fetch.wait.max.ms": 20}
        self._consumer = Consumer(settings)
        self._consumer.assign([TopicPartition(p["topic"], p["partition"], p["end_offset"]) for p in ends])
        self.position = {(p["topic"], p["partition"]): p["end_offset"] for p in ends}

    def changes(self, sent: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """The rows of the messages up to the ends that a call has told, by topic-partition."""
        wanted = {(p["topic"], p["partition"]): p["end_offset"] for p in sent["partitions"]}
        found: dict[tuple[str, int], list[tuple[str, dict[str, Any]]]] = {}
        deadline = time.monotonic() + 120
        while any(self.position[place] < end for place, end in wanted.items()):
            assert time.monotonic() < deadline, "messages are missing"
            message = self._consumer.poll(1)
            if message is None:
                continue
            assert message.error() is None
            place = message.topic(), message.partition()
            assert message.offset() == self.position[place]
            self.position[place] += 1
            value = json.loads(message.value())
            kind = "DDL" if value["isDdl"] else value["type"]
            if kind != "TIDB_WATERMARK":
                row = {"sql": value["sql"]} if kind == "DDL" else value["data"][0]
                found.setdefault(place, []).append((kind, row))
        return [change for place in sorted(found) for change in found[place]]

    def close(self) -> None:
        self._consumer.close()
