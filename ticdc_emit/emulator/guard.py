"""What is refused before a request reaches the control API, which changes tests and can connect to Kafka.

- On loopback a request must name a loopback host: a page of the web that points its own name to 127.0.0.1 (DNS
  rebinding) has another one.
- A request that a browser sends for a page of another site is refused. There are no CORS headers.
- Elsewhere than on loopback a token is required (:func:`check_binding`), for all but health and readiness. It is
  compared in constant time, and no answer repeats it.
- Bodies, their time, the depth of JSON and the number of requests are bounded.
- A script ends before its next statement when its client has gone. When the server ends, every call is answered.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import orjson

from ticdc_emit.config.secrets import Secret
from ticdc_emit.emulator.call_lock import Caller, caller
from ticdc_emit.errors import ConfigError
from ticdc_emit.sql.json_depth import parsed

MOST_BODY_BYTES = 8 * 1024 * 1024
MOST_AT_ONCE = 16
BODY_TIMEOUT_S = 30.0
OPEN_PATHS = frozenset({"/health", "/ready"})
"""Which need no token: they tell nothing but that the server runs."""

_SHORTEST_TOKEN = 16
_LOOK_S, _LAST_S = 0.1, 0.3  # between looks at the client; for the last answers

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine's own: ``localhost``, ``127.0.0.1``, ``::1`` ..."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def address_of(text: str) -> tuple[str, int]:
    """Return host and port of ``127.0.0.1:8300``, ``:8300`` (loopback), ``8300`` or ``[::1]:8300``."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not port.isdecimal() or int(port) > 65535:
        raise ConfigError(
            f"{text!r} is not an address", remedy="Give HOST:PORT, such as 127.0.0.1:8300", option="control"
        )
    return host, int(port)


def check_binding(host: str, token: Secret[str] | None) -> None:
    """Raise :class:`~ticdc_emit.errors.ConfigError` for a host elsewhere without a token, and for a short token."""
    if token is None:
        if not is_loopback(host):
            raise ConfigError(
                f"the control API on {host} can be reached from other machines, and has no token",
                remedy="Give --control-token or TICDC_EMIT_CONTROL_TOKEN, or bind it to 127.0.0.1",
                option="control",
            )
        return
    text = token.reveal()
    if len(text) < _SHORTEST_TOKEN or not text.isascii() or not text.isprintable() or " " in text:
        raise ConfigError(
            f"the token of the control API needs {_SHORTEST_TOKEN} or more visible ASCII characters",
            remedy="Make one: openssl rand -hex 16",
            option="control-token",
        )


class Refusal(Exception):  # noqa: N818 - an answer
    """``status`` is HTTP's. ``message`` and ``remedy`` are those of an error."""

    def __init__(self, status: int, message: str, remedy: str) -> None:
        super().__init__(message)
        self.status, self.message, self.remedy = status, message, remedy


def refusal_body(message: str, remedy: str, kind: str = "RequestRefused", **context: str) -> dict[str, Any]:
    """Return an error of the server itself as its answers have it."""
    return {"type": kind, "message": message, "remedy": remedy, "context": context}


class Guard:
    """An ASGI application around another one. ``checks_host``: the server is on loopback; requests must name it."""

    def __init__(self, application: Application, *, token: Secret[str] | None = None, checks_host: bool = True) -> None:
        self._application = application
        self._digest = None if token is None else hashlib.sha256(token.reveal().encode()).digest()
        self._checks_host = checks_host
        self._running = {True: 0, False: 0}
        self.ends = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        looks = scope["method"] == "GET" and scope["path"] != "/tables"  # and does not wait for other calls
        if self._running[looks] >= MOST_AT_ONCE and scope["path"] not in OPEN_PATHS:
            await _refuse(send, Refusal(429, "too many requests at once", "Send fewer requests in parallel"))
            return
        self._running[looks] += 1
        try:
            await self._serve(scope, receive, send)
        finally:
            self._running[looks] -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            headers = _headers(scope)
            scope = {**scope, "is_trusted": self._has_token(headers)}
            self._check(scope, headers)
            body = await asyncio.wait_for(self._read(headers, receive), BODY_TIMEOUT_S)
            if body:
                try:
                    parsed(body)
                except ValueError as error:
                    cause = f"the body is not JSON that can be read: {error}"
                    raise Refusal(400, cause, "Send one JSON object") from None
                # curl's -d names a form, and TiCDC's documentation shows it that way
                kept = [(name, value) for name, value in scope["headers"] if name.lower() != b"content-type"]
                scope = {**scope, "headers": [*kept, (b"content-type", b"application/json")]}
        except Refusal as refusal:
            await _refuse(send, refusal)
            return
        except TimeoutError:
            await _refuse(send, Refusal(408, "the body did not arrive in time", "Send it again"))
            return
        events: list[Event] = [{"type": "http.request", "body": body, "more_body": False}]

        gone = asyncio.ensure_future(receive())

        async def read_again() -> Event:
            return events.pop() if events else await asyncio.shield(gone)

        async def send_safely(event: Event) -> None:
            if event["type"] == "http.response.start":
                event = {**event, "headers": [*event.get("headers", ()), *_SAFE_HEADERS]}
            await send(event)

        own = Caller()
        caller.set(own)
        call = asyncio.ensure_future(self._application(scope, read_again, send_safely))
        try:
            while not call.done():
                await asyncio.wait({call}, timeout=_LAST_S if own.gone and self.ends else _LOOK_S)
                if own.gone and self.ends and not call.done():
                    await _refuse(send, Refusal(503, "the server ends", "Start it again"))
                    return
                own.gone = "the server ends" if self.ends else "its client has gone" if gone.done() else ""
            await call
        finally:
            gone.cancel()
            call.cancel()

    def _check(self, scope: Scope, headers: dict[str, str]) -> None:
        host = headers.get("host", "")
        if self._checks_host and not is_loopback(name_of(host)):
            raise Refusal(
                403, "the request names another host than this one", "Use http://127.0.0.1 and the port of --control"
            )
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if (origin is not None and origin not in (f"http://{host}", f"https://{host}")) or site not in (
            "none",
            "same-origin",
        ):
            raise Refusal(403, "the request comes from a page of another site", "Use a client that is not a browser")
        if not scope["is_trusted"] and scope["path"] not in OPEN_PATHS:
            raise Refusal(
                401, "the request has no token, or another one", "Send the header Authorization: Bearer TOKEN"
            )

    def _has_token(self, headers: dict[str, str]) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        digest = hashlib.sha256(given.strip().encode()).digest()
        return self._digest is None or (hmac.compare_digest(digest, self._digest) and scheme.lower() == "bearer")

    async def _read(self, headers: dict[str, str], receive: Receive) -> bytes:
        too_large = Refusal(413, f"the body has more than {MOST_BODY_BYTES} bytes", "Send it in several requests")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > len(str(1 << 63)):
            raise Refusal(400, "Content-Length is not a number", "Leave it to the client")
        if int(length) > MOST_BODY_BYTES:
            while int(length) < 16 * MOST_BODY_BYTES and (await receive()).get("more_body"):
                """A client that is still sending would not see the answer."""
            raise too_large
        parts: list[bytes] = []
        size = 0
        while True:
            event = await receive()
            if event["type"] != "http.request":
                raise Refusal(400, "the connection was closed", "Send the request again")
            part = event.get("body", b"")
            size += len(part)
            if size > MOST_BODY_BYTES:
                raise too_large
            parts.append(part)
            if not event.get("more_body", False):
                return b"".join(parts)


def _headers(scope: Scope) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name in headers and name in ("host", "origin", "authorization", "content-length"):
            raise Refusal(400, f"the request has the header {name} twice", "Send it once")
        headers[name] = value
    return headers


def name_of(host: str) -> str:
    """Return the name or address of ``host:port``, without the port; an empty text for what is not one."""
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([^:\[\]]+))(?::\d+)?", host)
    return "" if found is None else found[1] or found[2]


_SAFE_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


async def _refuse(send: Send, refusal: Refusal) -> None:
    body = orjson.dumps({"error": refusal_body(refusal.message, refusal.remedy)})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *_SAFE_HEADERS]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if refusal.status in (400, 408, 413, 429, 503):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
