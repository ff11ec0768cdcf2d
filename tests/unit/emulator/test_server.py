"""The control API on a real socket: addresses, the token, what is in use."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest

from ticdc_emit import load_changefeed
from ticdc_emit.config import Secret
from ticdc_emit.delivery.memory import clear
from ticdc_emit.emulator.emulator import Emulator
from ticdc_emit.emulator.server import ControlServer
from ticdc_emit.errors import ConfigError

TOKEN = "0123456789abcdef"


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    store = f"server-{uuid4()}"
    with Emulator(
        load_changefeed(f"memory://{store}?protocol=canal-json"), "CREATE TABLE s.t (id INT PRIMARY KEY)"
    ) as it:
        yield it
    clear(store)


def _ask(url: str, body: str | None = None, **headers: str) -> tuple[int, Any]:
    request = urllib.request.Request(url, None if body is None else body.encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_it_answers_on_a_free_port_until_it_stops(emulator: Emulator) -> None:
    with ControlServer(emulator, "127.0.0.1:0") as server:
        assert server.port > 0
        assert _ask(f"{server.url}/ready") == (200, {"status": "ready"})
        status, sent = _ask(f"{server.url}/sql", '{"sql": "INSERT INTO t VALUES (1)"}')
        assert (status, sent["rows"]) == (200, 1)
        server.answer_settings({"kafka": "here"})
        assert _ask(f"{server.url}/settings") == (200, {"kafka": "here"})
        assert _ask(f"{server.url}/ready", Host="evil.example")[0] == 403
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{server.url}/ready", timeout=1)


def test_elsewhere_it_needs_a_token(emulator: Emulator) -> None:
    with pytest.raises(ConfigError, match="has no token"):
        ControlServer(emulator, "0.0.0.0:0")
    with ControlServer(emulator, "0.0.0.0:0", token=Secret(TOKEN)) as server:
        url = f"http://127.0.0.1:{server.port}"
        assert _ask(f"{url}/ready", Host="kafka.example")[0] == 200
        assert _ask(f"{url}/tables")[0] == 401
        assert _ask(f"{url}/tables", Authorization=f"Bearer {TOKEN}", Host="kafka.example")[0] == 200


def test_so_many_connections_are_served(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ticdc_emit.emulator.server.MOST_CONNECTIONS", 3)
    with ControlServer(emulator, "127.0.0.1:0") as server, ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{server.url}/ready", timeout=10)
        assert caught.value.code == 503
        stack.close()
        while True:
            try:
                assert _ask(f"{server.url}/ready")[0] == 200
                break
            except ValueError:  # not JSON: the connections are not closed yet
                continue


def test_connections_without_a_whole_request_end(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ticdc_emit.emulator.server.MOST_CONNECTIONS", 3)
    monkeypatch.setattr("ticdc_emit.emulator.server.IDLE_S", 0.1)
    with ControlServer(emulator, "127.0.0.1:0") as server, ExitStack() as stack:
        for head in (b"", b"GET /ready HT", b"GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
            connection.sendall(head)
        assert connection.recv(1) == b""
        assert _ask(f"{server.url}/ready")[0] == 200


def test_a_client_that_is_still_sending_sees_that_its_body_is_too_large(emulator: Emulator) -> None:
    with ControlServer(emulator, "127.0.0.1:0") as server:
        status, answer = _ask(f"{server.url}/sql", "x" * (12 << 20))
        assert (status, answer["error"]["message"]) == (413, "the body has more than 8388608 bytes")


def test_answers_do_not_wait_for_the_client_s_acknowledgement(emulator: Emulator) -> None:
    with ControlServer(emulator, "127.0.0.1:0")._listener() as listener:
        assert listener.proto == socket.IPPROTO_TCP  # asyncio's condition for TCP_NODELAY


def test_a_port_in_use_is_refused(emulator: Emulator) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(ConfigError, match=r"127\.0\.0\.1:\d+ cannot be used"):
            ControlServer(emulator, f"127.0.0.1:{other.getsockname()[1]}").start()
