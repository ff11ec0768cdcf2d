"""A registry that wants the login to go elsewhere, or this process to wait or to fill its memory.

Every case is tried with both who ask registries: the client that registers and the reader's source of schemas.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest
from scripted_server import PROBED, ScriptedServer, answer, slowly

from ticdc_emit.config.codec import GlueSchemaRegistry
from ticdc_emit.config.secrets import Secret
from ticdc_emit.errors import ConfigError, RegistryError, TicdcEmitError
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.protocols.registered_avro import RegistrySchemas
from ticdc_emit.registry.confluent import ConfluentRegistry
from ticdc_emit.registry.glue import GlueRegistry

SCHEMA = '{"type":"record","name":"t","fields":[{"name":"a","type":"int"}]}'
LOGIN = "bob:hunter2"

Asker = Callable[..., object]


def registering(url: str, timeout_s: float = 60) -> object:
    with ConfluentRegistry(url, timeout_s=timeout_s, attempts=1) as registry:
        return registry.register("s", SCHEMA)


def reading(url: str, timeout_s: float = 60) -> object:
    return RegistrySchemas(url, timeout_s=timeout_s)(1)


ASKERS = pytest.mark.parametrize("ask", [registering, reading])


def refused(ask: Asker, url: str, match: str) -> TicdcEmitError:
    with pytest.raises((RegistryError, DecodeError), match=match) as caught:
        ask(url)
    assert "hunter2" not in str(caught.value)
    return caught.value


def script(*answers: bytes | Iterable[bytes]) -> ScriptedServer:
    return ScriptedServer(*answers)


@ASKERS
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("elsewhere", ["http://{0}/x", "http://localhost:{1}/x", "//{0}/x", "http://bob:hunter2@{0}/x"])
def test_no_redirect_takes_a_login_elsewhere(ask: Asker, status: int, elsewhere: str) -> None:
    with script(PROBED) as other:
        target = elsewhere.format(other.authority, other.authority.rpartition(":")[2])
        with script(answer(status, headers=f"Location: {target}\r\n")) as server:
            refused(ask, f"http://{LOGIN}@{server.authority}", "redirects to another server")
        assert other.requests == []


@ASKERS
@pytest.mark.parametrize(
    "target",
    ["https://{0}/x", "http://{0}1/x", "ftp://{0}/", "file:///etc/passwd", "http://[", "http://\u0130\u0130.\u2024/"],
)
def test_no_redirect_leads_to_another_scheme_or_port(ask: Asker, target: str) -> None:
    with script() as server:
        location = target.format(server.authority)
        server.answers.append(answer(307, headers=f"Location: {location}\r\n"))
        refused(ask, f"http://{LOGIN}@{server.authority}", "no usable answer|did not answer")
        assert len(server.requests) == 1


@ASKERS
def test_a_redirect_within_the_server_is_followed_with_the_login(ask: Asker) -> None:
    good = answer(200, json.dumps({"id": 7, "schema": SCHEMA}))
    moved = answer(307, headers="Location: /elsewhere\r\n")
    with script(moved, PROBED if ask is registering else good, good) as server:
        ask(f"http://{LOGIN}@{server.authority}")
        assert {request.headers["authorization"] for request in server.requests} == {"Basic Ym9iOmh1bnRlcjI="}


@ASKERS
def test_redirects_end(ask: Asker) -> None:
    with script(answer(302, headers="Location: /again\r\n")) as server:
        refused(ask, f"http://{LOGIN}@{server.authority}", "redirects more than 5 times")
        assert len(server.requests) == 6


def test_no_redirect_takes_a_signature_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3")
    with script(PROBED) as other, script(answer(307, headers=f"Location: {other.url}/x\r\n")) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_GLUE", server.url)
        config = GlueSchemaRegistry("r", "eu-west-1", Secret("me"), Secret("hunter2"))
        registry = GlueRegistry(config, attempts=1, timeout_s=60)
        with pytest.raises(RegistryError):
            registry.register("s", SCHEMA)
        registry.close()
        assert (len(server.requests), other.requests) == (1, [])


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


ANNOUNCED = HEAD + b"Content-Length: 1000000000000\r\n\r\n{"
ENDLESS = [HEAD + b"\r\n", *[b" " * 1_000_000] * 40]
CHUNKED = [HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[b"f4240\r\n" + b" " * 1_000_000 + b"\r\n"] * 40]


@ASKERS
@pytest.mark.parametrize(
    ("said", "match"),
    [
        (ANNOUNCED, "no whole answer"),
        (ENDLESS, "larger than 16 MiB"),
        (CHUNKED, "larger than 16 MiB"),
        (HEAD + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", "a compression that was not requested"),
        (HEAD + b"X: " + b"x" * 10_000_000 + b"\r\n\r\n", "did not answer"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 500_000 + b"\r\n", "did not answer"),
        (b"\xff" * 1000 + b"\r\n\r\n", "did not answer"),
    ],
    ids=["announced", "endless", "chunked", "gzip", "header", "headers", "no http"],
)
def test_the_size_of_an_answer_is_bounded(ask: Asker, said: Any, match: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if said is ANNOUNCED:
        ask = partial(ask, timeout_s=0.5)  # the rest never comes
    with script(said) as server:
        refused(ask, f"http://{LOGIN}@{server.authority}", match)
    if sys.platform == "linux":
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # KiB; this server is in it


@ASKERS
@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "said",
    [b"H" * 10, HEAD, HEAD + b"\r\n{", HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{"],
    ids=["status", "headers", "body", "chunks"],
)
def test_a_byte_at_a_time_does_not_hold_the_client(ask: Asker, said: bytes) -> None:
    with script(slowly(said)) as server:
        refused(partial(ask, timeout_s=0.5), f"http://{LOGIN}@{server.authority}", "within 0.5 s")


@ASKERS
@pytest.mark.parametrize("body", ["[" * 100_000, '{"schema":' * 50_000, '{"schema":' + "[" * 200 + "]" * 200 + "}"])
def test_the_depth_of_an_answer_is_bounded(ask: Asker, body: str) -> None:
    with script(answer(200, body)) as server:
        refused(ask, f"http://{LOGIN}@{server.authority}", "without a schema|does not answer as a registry")


@pytest.mark.parametrize(
    "host", ["\u0130\u0130.\u2024", "a" * 70, "a" * 70 + ".b", "a..b", "xn--\u0130", "xn--a.xn--a", "%00", "a\u0000b"]
)
def test_a_host_that_cannot_be_one(host: str) -> None:
    with pytest.raises((ConfigError, RegistryError)) as caught:
        registering(f"http://{LOGIN}@{host}")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(DecodeError) as unread:
        reading(f"http://{LOGIN}@{host}")
    assert "hunter2" not in str(unread.value)


HOSTILE = "bad \x1b]0;title\x07\x1b[2J\x1b[31mred\nticdc-emit: all 1,000,000 rows sent\r\u2028\u202e"


@pytest.mark.parametrize("status", [409, 422, 503])
@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
def test_nothing_that_a_terminal_acts_on_is_repeated(status: int, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    body = json.dumps({"message": HOSTILE}) if "json" in kind else HOSTILE
    with script(PROBED, *[answer(status, body, kind=kind)] * 2) as server:
        registry = ConfluentRegistry(server.url, attempts=2, backoff_s=0)
        with pytest.raises(RegistryError) as refused, registry:
            registry.register("s", SCHEMA)
    assert r"bad \u001b]0;title" in str(refused.value)
    told = [str(refused.value), *(record.getMessage() for record in caplog.records if "ticdc" in record.name)]
    assert all(text.isprintable() for text in told)
    assert (len(told) > 1) == (status == 503)
