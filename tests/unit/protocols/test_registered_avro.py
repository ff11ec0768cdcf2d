"""Schemas by id from a registry: the request, what is asked once, and what can go wrong."""

from __future__ import annotations

import json
import pickle
import threading
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ticdc_emit.protocols.avro.decoder import AvroReader
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.protocols.registered_avro import RegistrySchemas

_SCHEMA = '{"type":"record","name":"t","namespace":"default.test","fields":[{"name":"id","type":"int"}]}'
_ANSWERS: dict[str, tuple[int, bytes]] = {
    "/base/schemas/ids/1": (200, json.dumps({"schema": _SCHEMA}).encode()),
    "/base/schemas/ids/2": (500, b"{}"),
    "/base/schemas/ids/3": (200, b"no json"),
    "/base/schemas/ids/4": (200, b"[]"),
    "/base/schemas/ids/5": (200, b'{"schema": 5}'),
    "/base/schemas/ids/6": (200, b"{}"),
}


class _Registry(HTTPServer):
    """Answers as ``_ANSWERS`` says; ``requests`` are the paths and headers of what was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, dict[str, str]]] = []


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, _Registry)
        self.server.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        status, body = _ANSWERS.get(self.path, (404, b'{"error_code":40403,"message":"Schema not found"}'))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[_Registry]:
    with _Registry() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _url(server: _Registry, userinfo: str = "") -> str:
    return f"http://{userinfo}127.0.0.1:{server.server_port}/base/"


def test_a_schema_is_asked_for_once(registry: _Registry) -> None:
    reader = AvroReader(RegistrySchemas(_url(registry)))
    for _ in range(2):
        assert getattr(reader.read(b"\0\0\0\0\1\2", None), "key", None) == {"id": 1}
    ((path, headers),) = registry.requests
    assert path == "/base/schemas/ids/1"
    document = "application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json, application/json"
    assert headers["accept"] == document
    assert "authorization" not in headers


def test_basic_auth(registry: _Registry) -> None:
    assert RegistrySchemas(_url(registry, "us%40er:p%3A%40ss%C3%A9@"))(1) == _SCHEMA
    ((_, headers),) = registry.requests
    assert b64decode(headers["authorization"].removeprefix("Basic ")) == "us@er:p:@ssé".encode()


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (7, "has no such schema"),
        (2, "did not answer: 500"),
        *((number, "answered 200 without a schema") for number in (3, 4, 5, 6)),
    ],
)
def test_no_schema(registry: _Registry, number: int, reason: str) -> None:
    schemas = RegistrySchemas(_url(registry, "me:secret@"))
    for _ in range(2):  # a failure is not kept
        with pytest.raises(DecodeError, match=reason) as caught:
            schemas(number)
    assert caught.value.schema_id == number
    assert "secret" not in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert len(registry.requests) == 2


def test_nobody_there() -> None:
    with _Registry() as server:
        url = _url(server, "me:secret@")
    with pytest.raises(DecodeError, match="did not answer") as caught:
        RegistrySchemas(url, timeout_s=1)(1)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "127.0.0.1:8081", "ftp://me:secret@host", "http://", "http://[::1"])
def test_no_url(url: str) -> None:
    with pytest.raises(DecodeError, match="is not the URL of a schema registry") as caught:
        RegistrySchemas(url)
    assert "secret" not in str(caught.value)
