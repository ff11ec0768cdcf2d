"""ticdc-emit serve in a container: a Kafka with the messages of TiCDC, a schema registry, and SQL from tests."""

from __future__ import annotations

import json
import secrets
import socket
import urllib.request
from pathlib import Path
from typing import Any

from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy

__all__ = ["TicdcEmitContainer"]

_REGISTRY, _CONTROL, _SCHEMA = 8081, 8300, "/data/schema.sql"


class TicdcEmitContainer(DockerContainer):
    """In: an image, a file of DDL, and more options of ``serve``. Ready, once started, for consumers and SQL."""

    def __init__(self, image: str, schema: str | Path, *options: str) -> None:
        super().__init__(image)
        self.token = secrets.token_urlsafe(24)
        self._port = _free_port()
        self.with_volume_mapping(str(Path(schema).resolve()), _SCHEMA, "ro")
        self.with_env("TICDC_EMIT_CONTROL_TOKEN", self.token)
        self.with_command(_command(self._port, "localhost", options))
        self.with_bind_ports(self._port, self._port)
        self.with_exposed_ports(_REGISTRY, _CONTROL)
        self.waiting_for(HttpWaitStrategy(_CONTROL, "/ready"))

    def bootstrap(self) -> str:
        """Return Kafka's address; its port is the same in the container, because a broker tells clients its address."""
        return f"localhost:{self._port}"

    def registry(self) -> str:
        """Return the URL of the schema registry."""
        return f"http://{self.get_container_host_ip()}:{self.get_exposed_port(_REGISTRY)}"

    def control(self) -> str:
        """Return the URL of the control API; its bearer token is ``token``."""
        return f"http://{self.get_container_host_ip()}:{self.get_exposed_port(_CONTROL)}"

    def sql(self, script: str) -> dict[str, Any]:
        """Run statements; return what was sent, with the end offsets of its topic-partitions."""
        return post(f"{self.control()}/sql", self.token, sql=script)


def post(url: str, token: str, **body: Any) -> dict[str, Any]:
    """Call the control API."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=30) as answer:
        return dict(json.load(answer))


def _command(port: int, host: str, options: tuple[str, ...], schema: str = _SCHEMA) -> list[str]:
    advertise = ["--host", "0.0.0.0", "--port", str(port), "--advertise", f"{host}:{port}"]
    ports = ["--registry-port", str(_REGISTRY), "--control", f"0.0.0.0:{_CONTROL}"]
    return ["serve", "--schema", schema, *advertise, *ports, *options]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
