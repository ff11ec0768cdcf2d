"""The control API in this process, as its tests ask it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import httpx
from curl import curl_request

from ticdc_emit import load_changefeed
from ticdc_emit.delivery.memory import clear
from ticdc_emit.emulator.control_api import control_api
from ticdc_emit.emulator.emulator import Emulator
from ticdc_emit.emulator.guard import Guard

SCHEMA = """
CREATE TABLE shop.orders (id INT PRIMARY KEY, note VARCHAR(20), state ENUM('new', 'paid') DEFAULT 'new');
CREATE TABLE shop.clerks (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20) NOT NULL);
"""
BY_TABLE = {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "{schema}_{table}", "partition": "index-value"}]}}


class ApiClient:
    """Requests to an application; ``store``: where its changefeed sends."""

    def __init__(self, application: Any, emulator: Emulator, store: str) -> None:
        self._application = application
        self.emulator = emulator
        self.store = store

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def run() -> httpx.Response:
            transport = httpx.ASGITransport(self._application, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8300") as client:
                return await client.request(method, path, **options)

        return asyncio.run(run())

    def get(self, path: str, **options: Any) -> Any:
        """The JSON of an answer that must be 200."""
        return self._content(self.request("GET", path, **options))

    def post(self, path: str, body: Any = None, **options: Any) -> Any:
        """As :meth:`get`; ``body``: text or bytes as they are, anything else as JSON."""
        if isinstance(body, (bytes, str)):
            options["content"] = body
        elif body is not None:
            options["json"] = body
        return self._content(self.request("POST", path, **options))

    def refused(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """The status and the JSON of an answer that must be an error."""
        answer = self.request(method, path, **options)
        assert answer.status_code >= 400, answer.text
        return answer.status_code, answer.json()

    def curl(self, command: str) -> httpx.Response:
        """Send what a command line of curl sends."""
        request = curl_request(command)
        return self.request(request.method, request.path, headers=request.headers, content=request.body)

    @staticmethod
    def _content(answer: httpx.Response) -> Any:
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def running_api(
    parameters: str = "protocol=canal-json&enable-tidb-extension=true&partition-num=2",
    schema: str = SCHEMA,
    *,
    started: bool = True,
    settings: dict[str, Any] | None = None,
    retain_bytes: int = 128 << 20,
    release: str = "classic",
    **options: Any,
) -> Iterator[ApiClient]:
    """Yield a client of an emulator in memory; ``options``: those of :func:`control_api`."""
    store = f"api-{uuid4()}"
    config = load_changefeed(f"memory://{store}/?{parameters}", BY_TABLE, release=release)
    emulator = Emulator(config, schema, heartbeat_s=None, retain_bytes=retain_bytes)
    if started:
        emulator.start()
    try:
        application = control_api(emulator, **options)
        application.state.settings = settings or {}
        yield ApiClient(Guard(application), emulator, store)
    finally:
        emulator.stop()
        clear(store)
