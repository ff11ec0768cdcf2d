"""What the control API refuses: other hosts and sites, no token, large bodies, deep JSON, too many requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from ticdc_emit.config import Secret
from ticdc_emit.emulator import guard as guarding
from ticdc_emit.emulator.call_lock import caller
from ticdc_emit.emulator.guard import Guard, address_of, check_binding
from ticdc_emit.errors import ConfigError

TOKEN = "0123456789abcdef"
seen: list[tuple[str, bytes]] = []


async def application(scope: Any, receive: Any, send: Any) -> None:
    body = (await receive())["body"]
    seen.append((scope["path"], body))
    kind = dict(scope["headers"]).get(b"content-type", b"")
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-kind", kind)]})
    await send({"type": "http.response.body", "body": body[:20]})


def ask(
    guard: Guard, use: Callable[[httpx.AsyncClient], Awaitable[httpx.Response]], base: str = "http://127.0.0.1:8300"
) -> httpx.Response:
    async def run() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url=base) as client:
            return await use(client)

    seen.clear()
    return asyncio.run(run())


def post(guard: Guard, path: str = "/sql", **options: Any) -> httpx.Response:
    return ask(guard, lambda client: client.post(path, **options))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8300", "localhost:8300", "LOCALHOST", "[::1]:8300", "localhost.:1", "127.0.0.2"]
)
def test_loopback_hosts_are_served(host: str) -> None:
    assert post(Guard(application), headers={"Host": host}).status_code == 200


OTHERS = """
    evil.example evil.example:8300 127.0.0.1.evil.example 10.0.0.1 [::2] localhost.evil [::1]evil.com [::1].evil.com
    localhost:80:evil.com localhost: 127.0.0.1:80x [::1
"""


@pytest.mark.parametrize("host", ["", *OTHERS.split()])
def test_other_hosts_are_refused_which_stops_dns_rebinding(host: str) -> None:
    answer = post(Guard(application), headers={"Host": host})
    assert (answer.status_code, seen) == (403, [])
    assert answer.json()["error"]["message"] == "the request names another host than this one"
    assert post(Guard(application, checks_host=False, token=Secret(TOKEN)), headers={"Host": host}).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        *({"Origin": origin} for origin in ("http://evil.example", "null", "http://127.0.0.1:9999")),
        *({"Sec-Fetch-Site": site} for site in ("cross-site", "same-site")),
    ],
)
def test_pages_of_other_sites_are_refused(headers: dict[str, str]) -> None:
    answer = post(Guard(application), headers=headers, content="{}")
    assert (answer.status_code, seen) == (403, [])
    assert "access-control-allow-origin" not in answer.headers


def test_a_page_of_the_server_itself_is_served() -> None:
    headers = {"Origin": "http://127.0.0.1:8300", "Sec-Fetch-Site": "same-origin"}
    assert post(Guard(application), headers=headers).status_code == 200


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}0", "Bearer é"]
)
def test_a_token_is_required_and_never_repeated(authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization.encode("latin-1")}
    answer = post(Guard(application, token=Secret(TOKEN)), headers=headers)
    assert (answer.status_code, answer.headers["www-authenticate"], seen) == (401, "Bearer", [])
    assert TOKEN not in answer.text


def test_the_token_is_accepted_and_health_needs_none() -> None:
    guard = Guard(application, token=Secret(TOKEN))
    assert post(guard, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert ask(guard, lambda client: client.get("/health")).status_code == 200
    assert ask(guard, lambda client: client.get("/ready")).status_code == 200
    assert ask(guard, lambda client: client.get("/settings")).status_code == 401
    assert TOKEN not in repr(vars(guard))


def test_bodies_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarding, "MOST_BODY_BYTES", 100)
    guard = Guard(application)
    assert post(guard, content=b"[%096d]" % 0).status_code == 400
    assert post(guard, content=b"[%98d]" % 0).status_code == 200
    answer = post(guard, content=b"[%99d]" % 0)
    assert (answer.status_code, answer.json()["error"]["message"], seen) == (
        413,
        "the body has more than 100 bytes",
        [],
    )


def test_a_body_that_does_not_tell_its_length_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarding, "MOST_BODY_BYTES", 5000)

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 1000

    assert (post(Guard(application), content=endless()).status_code, seen) == (413, [])


def test_a_body_that_does_not_arrive_ends_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarding, "BODY_TIMEOUT_S", 0.01)

    async def run() -> list[Any]:
        sent: list[Any] = []

        async def receive() -> Any:
            await asyncio.sleep(60)

        async def send(event: Any) -> None:
            sent.append(event)

        scope = {"type": "http", "method": "POST", "path": "/sql", "headers": [(b"host", b"localhost")]}
        await Guard(application)(scope, receive, send)
        return sent

    assert asyncio.run(run())[0]["status"] == 408


@pytest.mark.parametrize("length", ["-1", "abc", "9" * 30, "1e3"])
def test_a_length_that_is_not_a_number_is_refused(length: str) -> None:
    answer = post(Guard(application), headers={"Content-Length": length}, content=b"")
    assert (answer.status_code, seen) == (400, [])


@pytest.mark.parametrize(
    "body", ["[" * 100_000, '{"a":' * 500 + "1" + "}" * 500, "{", "not json", '{"a": ' + "1" * 5000 + "}"]
)
def test_json_that_is_deep_or_broken_is_refused(body: str) -> None:
    answer = post(Guard(application), content=body)
    assert (answer.status_code, seen) == (400, [])
    assert "the body is not JSON that can be read" in answer.json()["error"]["message"]


def test_json_may_come_under_any_name_as_curl_sends_it() -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert post(Guard(application), content='{"sql": ""}', headers=headers).headers["x-kind"] == "application/json"


@pytest.mark.parametrize("name", ["Host", "Authorization", "Origin", "Content-Length"])
def test_a_header_that_decides_may_come_once(name: str) -> None:
    headers = [("Host", "127.0.0.1"), (name, "127.0.0.1"), (name, "evil.example")]
    assert post(Guard(application), headers=headers).status_code == 400


@pytest.mark.parametrize(
    ("call", "others", "statuses"),
    [
        ("GET /settings", ["GET /settings"], [429]),
        ("POST /sql", ["GET /messages", "GET /tables", "POST /reset"], [200, 429, 429]),
    ],
)
def test_so_many_requests_are_served_at_once_and_those_that_look_count_apart(
    call: str, others: list[str], statuses: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarding, "MOST_AT_ONCE", 1)
    entered, leave = asyncio.Event(), asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == path:
            entered.set()
            await leave.wait()
        await application(scope, receive, send)

    async def run() -> list[int]:
        guard = Guard(slow)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url="http://127.0.0.1") as client:
            first = asyncio.create_task(client.request(method, path))
            await entered.wait()
            answers = [await client.request(*other.split()) for other in others]
            leave.set()
            return [each.status_code for each in [*answers, await first]]

    method, path = call.split()
    assert asyncio.run(run()) == [*statuses, 200]


@pytest.mark.parametrize("why", ["its client has gone", "the server ends"])
def test_a_call_is_told_that_nobody_waits_for_it(why: str) -> None:
    told: list[str] = []

    async def run() -> list[Any]:
        sent: list[Any] = []

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            own = caller.get()
            assert own is not None
            guard.ends = why == "the server ends"
            while not own.gone:
                await asyncio.sleep(0.01)
            told.append(own.gone)
            if guard.ends:
                await asyncio.sleep(600)  # a statement that goes on

        events = [{"type": "http.request"}, {"type": "http.disconnect"}]

        async def receive() -> Any:
            if len(events) == 1 and why == "the server ends":
                await asyncio.sleep(600)
            return events.pop(0)

        async def send(event: Any) -> None:
            sent.append(event)

        guard = Guard(slow)
        await guard(
            {"type": "http", "method": "POST", "path": "/sql", "headers": [(b"host", b"localhost")]}, receive, send
        )
        return sent

    answers = asyncio.run(run())
    assert told == [why]
    assert [each["status"] for each in answers[:1]] == ([503] if why == "the server ends" else [])


def test_answers_are_not_kept_by_caches() -> None:
    answer = post(Guard(application))
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")


def test_websockets_are_closed() -> None:
    events: list[Any] = []

    async def send(event: Any) -> None:
        events.append(event)

    asyncio.run(Guard(application)({"type": "websocket", "path": "/", "headers": []}, None, send))  # type: ignore[arg-type]
    assert events == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.com", ""])
def test_elsewhere_than_on_loopback_a_token_is_required(host: str) -> None:
    with pytest.raises(ConfigError, match="can be reached from other machines") as caught:
        check_binding(host, None)
    assert "TICDC_EMIT_CONTROL_TOKEN" in caught.value.remedy
    check_binding(host, Secret(TOKEN))
    check_binding("127.0.0.1", None)


@pytest.mark.parametrize("token", ["", "short", "with a blank 0123456789", "0123456789abcdeé", "0123456789abcde\n"])
def test_a_token_must_not_be_guessable(token: str) -> None:
    with pytest.raises(ConfigError, match="needs 16 or more") as caught:
        check_binding("127.0.0.1", Secret(token))
    assert not token or token not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8300", ("127.0.0.1", 8300)),
        (":0", ("127.0.0.1", 0)),
        ("8300", ("127.0.0.1", 8300)),
        ("[::1]:1", ("::1", 1)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert address_of(text) == address


@pytest.mark.parametrize("text", ["", "127.0.0.1", "127.0.0.1:", "host:port", "127.0.0.1:70000", "127.0.0.1:-1"])
def test_what_is_not_an_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not an address"):
        address_of(text)
