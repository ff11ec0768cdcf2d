"""Schemas by id from a registry: the request, what is asked once, and what can go wrong."""

from __future__ import annotations

import json
import pickle
from base64 import b64decode

import pytest

from tests.unit.registry.scripted_server import ScriptedServer, answer
from ticdc_emit.protocols.avro.decoder import AvroReader
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.protocols.registered_avro import RegistrySchemas

_SCHEMA = '{"type":"record","name":"t","namespace":"default.test","fields":[{"name":"id","type":"int"}]}'
_ANSWER = answer(200, json.dumps({"schema": _SCHEMA}))


def _url(server: ScriptedServer, userinfo: str = "") -> str:
    return f"http://{userinfo}{server.authority}/base/"


def test_a_schema_is_asked_for_once() -> None:
    with ScriptedServer(_ANSWER) as registry:
        reader = AvroReader(RegistrySchemas(_url(registry)))
        for _ in range(2):
            assert getattr(reader.read(b"\0\0\0\0\1\2", None), "key", None) == {"id": 1}
    (request,) = registry.requests
    assert request.line == "GET /base/schemas/ids/1 HTTP/1.1"
    document = "application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json, application/json"
    assert request.headers["accept"] == document
    assert "authorization" not in request.headers


def test_basic_auth() -> None:
    with ScriptedServer(_ANSWER) as registry:
        assert RegistrySchemas(_url(registry, "us%40er:p%3A%40ss%C3%A9@"))(1) == _SCHEMA
    (request,) = registry.requests
    assert b64decode(request.headers["authorization"].removeprefix("Basic ")) == "us@er:p:@ssé".encode()


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (404, '{"error_code":40403,"message":"Schema not found"}', "has no such schema"),
        (500, "{}", "did not answer: 500"),
        *((200, body, "answered 200 without a schema") for body in ("no json", "[]", '{"schema": 5}', "{}")),
    ],
)
def test_no_schema(status: int, body: str, reason: str) -> None:
    with ScriptedServer(answer(status, body)) as registry:
        schemas = RegistrySchemas(_url(registry, "me:secret@"))
        for _ in range(2):  # a failure is not kept
            with pytest.raises(DecodeError, match=reason) as caught:
                schemas(7)
    assert caught.value.schema_id == 7
    assert "secret" not in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert len(registry.requests) == 2


def test_nobody_there() -> None:
    with ScriptedServer(_ANSWER) as server:
        url = _url(server, "me:secret@")
    with pytest.raises(DecodeError, match="did not answer") as caught:
        RegistrySchemas(url, timeout_s=1)(1)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "127.0.0.1:8081", "ftp://me:secret@host", "http://", "http://[::1"])
def test_no_url(url: str) -> None:
    with pytest.raises(DecodeError, match="is not the URL of a schema registry") as caught:
        RegistrySchemas(url)
    assert "secret" not in str(caught.value)
