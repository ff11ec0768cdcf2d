"""ConfluentRegistry against a server that says what it is told: what is sent, what is tried again, what is an error."""

from __future__ import annotations

import base64
import logging
import socket
import sys
from types import SimpleNamespace

import pytest
from scripted_server import DROP, HANG, PROBED, ScriptedServer, answer

from ticdc_emit.config.secrets import Secret
from ticdc_emit.errors import (
    ConfigError,
    IncompatibleSchemaError,
    MissingDependencyError,
    RegistryError,
    RegistryUnreachableError,
)
from ticdc_emit.registry.confluent import ConfluentRegistry, registration_request

SCHEMA = '{"type":"record","name":"t","fields":[{"name":"a","type":"int"}]}'
GOOD = answer(200, '{"id":7}')
PAGE = answer(200, "<html>Registry</html>", kind="text/html;charset=UTF-8")
BUSY = answer(503, '{"error_code":503,"message":"starting"}')


def asked(server: ScriptedServer, url: str | None = None, **options: float) -> ConfluentRegistry:
    return ConfluentRegistry(url or server.url, **{"backoff_s": 0.001, **options})  # type: ignore[arg-type]


def test_what_is_sent() -> None:
    with ScriptedServer(PROBED, GOOD) as server, asked(server, server.url + "/base//") as registry:
        registered = registry.register("a/b c-key", SCHEMA)
        assert (registered.id, registered.header) == (7, b"\x00\x00\x00\x00\x07")
        registry.register("a/b c-key", SCHEMA)
        probe, post, again = server.requests
    expected = registration_request("a/b c-key", SCHEMA)
    assert probe.line == "GET /base HTTP/1.1"
    assert post.line == "POST /base/subjects/a%2Fb+c-key/versions HTTP/1.1"
    assert post.body == expected.body
    assert post.headers == {
        "host": server.authority,
        "accept": "application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json, application/json",
        "content-type": "application/vnd.schemaregistry.v1+json",
        "content-length": str(len(expected.body)),
    }
    assert again == post


@pytest.mark.parametrize(
    ("userinfo", "login"),
    [
        ("user:p%40s%2Fs%3A+%E8%A1%A8", "user:p@s/s:+表".encode()),
        ("%75ser:a:b", b"user:a:b"),
        ("user:p@ss", b"user:p@ss"),
        ("key", b"key:"),
        (":only", b":only"),
    ],
)
def test_userinfo_is_basic_auth(userinfo: str, login: bytes) -> None:
    with ScriptedServer(PROBED, GOOD) as server:
        with asked(server, f"http://{userinfo}@{server.authority}") as registry:
            registry.register("s", SCHEMA)
        for request in server.requests:
            assert request.headers["authorization"] == "Basic " + base64.b64encode(login).decode()
            assert "@" not in request.headers["host"]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8081",
        "ftp://host",
        "http://",
        "http://host:port",
        "http://user:topsecret/x@host",
        "http://user:topsecret#x@host",
        "http://host?topsecret=x",
        "http://ho st",
        "http://[::1",
    ],
)
def test_a_bad_url_is_refused_without_its_secrets(url: str) -> None:
    with pytest.raises(ConfigError, match="not the URL of a schema registry") as refused:
        ConfluentRegistry(url)
    assert refused.value.option == "schema-registry"
    assert "topsecret=x" not in str(refused.value)
    assert "topsecret" not in str(refused.value).replace("topsecret=", "")


@pytest.mark.parametrize(
    "failure", [BUSY, answer(500), answer(429), DROP], ids=["503", "500", "429", "connection closed"]
)
def test_failures_of_the_server_are_tried_again(failure: bytes) -> None:
    with ScriptedServer(failure, PROBED, failure, failure, GOOD) as server, asked(server) as registry:
        assert registry.register("s", SCHEMA).id == 7
        assert len(server.posts) == 3
        assert len({post.body for post in server.posts}) == 1


def test_a_server_that_never_answers_in_time() -> None:
    with ScriptedServer(PROBED, HANG) as server, asked(server, timeout_s=1, attempts=2) as registry:
        with pytest.raises(RegistryUnreachableError, match=r"no whole answer within 1 s") as failed:
            registry.register("s", SCHEMA)
        assert failed.value.attempts == 2
        assert len(server.posts) == 2


def test_there_is_a_limit_to_attempts_and_a_pause_before_each(caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedServer(PROBED, BUSY) as server, asked(server, attempts=4) as registry:
        with (
            caplog.at_level(logging.WARNING, "ticdc_emit"),
            pytest.raises(RegistryUnreachableError, match="503 starting") as failed,
        ):
            registry.register("topic-value", SCHEMA)
        assert (failed.value.attempts, failed.value.subject, len(server.posts)) == (4, "topic-value", 4)
    assert [record.args[3] for record in caplog.records] == [0.001, 0.002, 0.004]  # type: ignore[index]


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("asked_for", "waits"),
    [
        ("0", [0.5]),
        ("7", [7]),
        ("86400", [30]),
        ("9" * 5000, [30]),
        ("-3", [0.5]),
        ("soon", [0.5]),
        ("Fri, 01 Jan 2100 00:00:00 GMT", [30]),
        ("Fri, 01 Jan 1999 00:00:00 GMT", [0.5]),
        ("Fri, 99 Foo 2100 00:00:00 GMT", [0.5]),
    ],
)
def test_the_wait_that_a_registry_asks_for(
    status: int, asked_for: str, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=slept.append))  # not for other threads
    limited = answer(status, '{"message":"slow down"}', f"Retry-After: {asked_for}\r\n")
    with ScriptedServer(PROBED, limited, GOOD) as server, asked(server, backoff_s=0.5) as registry:
        assert registry.register("s", SCHEMA).id == 7
    assert slept == waits
    with ScriptedServer(PROBED, limited) as server, asked(server, backoff_s=0.5, attempts=3) as registry:
        with pytest.raises(RegistryUnreachableError, match=f"{status} slow down") as failed:
            registry.register("s", SCHEMA)
        assert (failed.value.attempts, len(server.posts)) == (3, 3)


def test_nobody_listens() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://bob:topsecret@127.0.0.1:{unused.getsockname()[1]}"
        registry = ConfluentRegistry(url, attempts=2, backoff_s=0.001)
        with pytest.raises(RegistryUnreachableError, match="ConnectError") as failed:
            registry.register("s", SCHEMA)
    assert failed.value.attempts == 2
    assert "topsecret" not in str(failed.value)


def test_409_names_the_subject_and_the_reason_and_is_not_tried_again() -> None:
    refusal = answer(409, '{"error_code":409,"message":"READER_FIELD_MISSING_DEFAULT_VALUE"}')
    with ScriptedServer(PROBED, refusal) as server, asked(server) as registry:
        with pytest.raises(IncompatibleSchemaError, match="MISSING_DEFAULT") as refused:
            registry.register("topic-value", SCHEMA)
        assert (refused.value.subject, refused.value.status) == ("topic-value", 409)
        assert "PUT /config/topic-value" in refused.value.remedy
        assert len(server.posts) == 1


@pytest.mark.parametrize("status", [201, 400, 401, 403, 404, 422])
def test_other_answers_are_errors_at_once(status: int) -> None:
    with ScriptedServer(PROBED, answer(status, '{"error_code":1,"message":"because"}')) as server:
        with asked(server) as registry, pytest.raises(RegistryError, match=f"answered {status}: because") as refused:
            registry.register("topic-key", SCHEMA)
        assert not isinstance(refused.value, IncompatibleSchemaError | RegistryUnreachableError)
        assert (refused.value.subject, refused.value.status, len(server.posts)) == ("topic-key", status, 1)


@pytest.mark.parametrize(
    "body",
    ["", "{}", "[7]", "null", "<html>", '{"id":0}', '{"id":-1}', '{"id":"7"}', '{"id":true}', '{"id":2147483648}'],
)
def test_an_answer_without_an_id(body: str) -> None:
    with (
        ScriptedServer(PROBED, answer(200, body)) as server,
        asked(server) as registry,
        pytest.raises(RegistryError, match="without the id"),
    ):
        registry.register("s", SCHEMA)


@pytest.mark.parametrize(
    "types", [answer(200, '["AVRO"]'), answer(404, '{"error_code":404,"message":"HTTP 404 Not Found"}')]
)
def test_a_registry_whose_root_is_a_page_is_asked_for_its_types(types: bytes) -> None:
    with ScriptedServer(PAGE, types, GOOD) as server, asked(server) as registry:
        assert registry.register("s", SCHEMA).id == 7
        assert registry.register("s", SCHEMA).id == 7
        assert [request.line.split()[1] for request in server.requests] == [
            "/",
            "/schemas/types",
            "/subjects/s/versions",
            "/subjects/s/versions",
        ]


@pytest.mark.parametrize(
    ("types", "text"),
    [
        (PAGE, "does not answer as a registry"),
        (answer(404, '{"detail":"no such resource","status":404}'), "does not answer as a registry"),
        (answer(404, "nothing here"), "nothing here"),
        (answer(401), "answered 401"),
    ],
)
def test_what_plainly_is_no_registry_gets_no_schema(types: bytes, text: str) -> None:
    with ScriptedServer(PAGE, types) as server:
        with asked(server) as registry, pytest.raises(RegistryError, match=text):
            registry.register("s", SCHEMA)
        assert server.posts == []


def test_a_redirected_post_is_named() -> None:
    moved = answer(301, headers="Location: /elsewhere\r\n")
    with (
        ScriptedServer(PROBED, moved, answer(200, "[1]")) as server,
        asked(server) as registry,
        pytest.raises(RegistryError, match="redirecting"),
    ):
        registry.register("s", SCHEMA)
    kept = answer(307, headers="Location: /elsewhere\r\n")
    with ScriptedServer(PROBED, kept, GOOD) as server, asked(server) as registry:
        assert registry.register("s", SCHEMA).id == 7
        first, second = server.posts
        assert first.body == second.body
    with (
        ScriptedServer(answer(302, headers="Location: /\r\n")) as server,
        asked(server) as registry,
        pytest.raises(RegistryError, match="no usable answer"),
    ):
        registry.register("s", SCHEMA)


def test_no_secret_is_shown_anywhere(caplog: pytest.LogCaptureFixture) -> None:
    token = base64.b64encode(b"bob:top/secret").decode()
    echo = f'{{"message":"you sent bob:top/secret, {token}"}}'
    script = (answer(503, echo), PROBED, GOOD, answer(401, echo))
    with caplog.at_level(logging.DEBUG), ScriptedServer(*script) as server:
        url = f"http://bob:top%2Fsecret@{server.authority}"
        registry = asked(server, Secret(url))  # type: ignore[arg-type]
        registry.register("s", SCHEMA)
        with pytest.raises(RegistryError) as refused:
            registry.register("s", SCHEMA)
        registry.close()
    shown = "\n".join([repr(registry), str(registry), str(refused.value), repr(refused.value), caplog.text])
    assert "you sent" in caplog.text
    for secret in ("secret", token, "bob:"):
        assert secret not in shown.replace("you sent bob:", "")


def test_a_long_answer_is_cut() -> None:
    with ScriptedServer(PROBED, answer(400, "x" * 5000, kind="text/plain")) as server, asked(server) as registry:
        with pytest.raises(RegistryError) as refused:
            registry.register("s", SCHEMA)
        assert len(str(refused.value)) < 1500


def test_the_proxy_of_the_environment_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedServer(PROBED, GOOD) as server, asked(server, attempts=1) as registry:
        assert registry.register("s", SCHEMA).id == 7


def test_without_httpx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ticdc-emit\[avro\]'"):
        ConfluentRegistry("http://host")


def test_at_least_one_attempt() -> None:
    with pytest.raises(ConfigError) as refused:
        ConfluentRegistry("http://host", attempts=0)
    assert refused.value.option == "attempts"
