"""One request and its answer, within limits that the server cannot change.

In: method, path, headers and body for one :class:`~ticdc_emit.web.address.RegistryAddress`. Out: an :class:`Answer`, or
an :class:`ExchangeError`. A redirect is followed only within the address's origin (scheme, host and port). So a login,
a client certificate and a schema go to the configured server only. The whole exchange has a time limit, and the answer
has a size limit, which also holds after decompression. httpx is imported when a client is made.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ticdc_emit.config.log_masking import HTTP_LOGGERS, hide_in_logs
from ticdc_emit.config.secrets import mask_uri
from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.json_depth import parsed
from ticdc_emit.web.address import RegistryAddress

if TYPE_CHECKING:
    import httpx

__all__ = ["LARGEST_ANSWER", "Answer", "Exchange", "ExchangeError"]

LARGEST_ANSWER = 16 * 1024 * 1024
"""Maximum bytes of an answer. A schema of 4,096 columns with long comments takes about two million."""

_MOST_REDIRECTS = 5
_CHUNK = 64 * 1024
_GZIP_OR_ZLIB = 47


class ExchangeError(Exception):
    """There is no usable answer. ``transient``: another attempt may succeed. ``tls``: TLS itself failed."""

    def __init__(self, text: str, *, transient: bool = False, tls: bool = False) -> None:
        super().__init__(text)
        self.transient = transient
        self.tls = tls


@dataclass(frozen=True)
class Answer:
    """A server's answer. ``method`` is that of the last request, because a redirect may turn a POST into a GET.

    Its content is not printed, because it may repeat the login.
    """

    status: int
    reason: str = field(repr=False)
    content_type: str = field(repr=False)
    content: bytes = field(repr=False)
    method: str

    def json(self) -> object:
        """Return the content's JSON; ``None`` if it is not JSON or is nested too deeply."""
        try:
            return parsed(self.content)
        except ValueError:
            return None

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")


class Exchange:
    """A client of one server that sends one request at a time. Keeps its connection until :meth:`close`."""

    def __init__(
        self,
        address: RegistryAddress,
        tls: ssl.SSLContext | None = None,
        *,
        timeout_s: float,
        proxies: bool = False,
        keep_alive: bool = True,
    ) -> None:
        """``timeout_s``: for a whole exchange, from connecting to the last byte. ``proxies``: whether to use the
        proxies of the environment. Raises :class:`~ticdc_emit.errors.MissingDependencyError` without httpx, and
        :class:`~ticdc_emit.errors.ConfigError` for an invalid host.
        """
        try:
            import httpx
        except ImportError:
            raise MissingDependencyError("a schema registry needs httpx", extra="avro") from None
        self._address = address
        try:
            self._origin = _origin(httpx.URL(address.base))
        except httpx.InvalidURL:
            raise address.refusal() from None
        hide_in_logs(HTTP_LOGGERS, address.secrets)
        login = address.login
        self._auth = httpx.BasicAuth(*login.reveal()) if login else None
        self._timeout_s = timeout_s
        limits = httpx.Limits() if keep_alive else httpx.Limits(max_keepalive_connections=0)
        # plain http needs no TLS context: redirects to https are refused
        verify = (tls or ssl.create_default_context()) if address.https else False
        self._client = httpx.Client(verify=verify, timeout=timeout_s, trust_env=proxies, limits=limits)
        self._kept: Any = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> Answer:
        """Send a request; ``path`` is escaped and follows the address. Raises :class:`ExchangeError`, which shows no
        login.
        """
        import httpx

        with self._lock, _Deadline(self._timeout_s, self._kept) as deadline:
            extensions = {"trace": deadline.trace}
            # built here, because a request made by the client also has headers besides these, Host and Content-Length
            request = httpx.Request(
                method, self._address.base + path, headers=headers, content=body, extensions=extensions
            )
            try:
                return self._answer(request)
            except httpx.HTTPError as error:
                raise self._failure(error, deadline) from None
            except (UnicodeError, httpx.InvalidURL) as error:
                raise ExchangeError(self._address.without_secrets(str(error))) from None

    def _answer(self, request: httpx.Request) -> Answer:
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._client.send(request, auth=self._auth, stream=True)
            try:
                self._kept = answer.extensions.get("network_stream")
                onward = answer.next_request
                content = _content(answer)
            finally:
                answer.close()
            if onward is None:
                return Answer(
                    answer.status_code,
                    answer.reason_phrase,
                    answer.headers.get("Content-Type", ""),
                    content,
                    request.method,
                )
            if _origin(onward.url) != self._origin:
                raise ExchangeError(
                    f"it redirects to another server, {self._address.without_secrets(mask_uri(str(onward.url)))}"
                )
            onward.extensions = request.extensions
            request = onward
        raise ExchangeError(f"it redirects more than {_MOST_REDIRECTS} times")

    def _failure(self, error: Exception, deadline: _Deadline) -> ExchangeError:
        import httpx

        if deadline.passed or isinstance(error, httpx.TimeoutException):
            stage = "connection" if isinstance(error, httpx.ConnectTimeout) else "whole answer"
            return ExchangeError(f"no {stage} within {self._timeout_s:g} s", transient=True)
        text = self._address.without_secrets(str(error))
        if _is_refusal_of_tls(error):
            return ExchangeError(text, tls=True)
        return ExchangeError(f"{type(error).__name__}: {text}", transient=isinstance(error, httpx.TransportError))


class _Deadline:
    """Cuts the connection of an exchange that takes too long. A client's own timeouts apply to each read, and a server
    that sends a byte per second never exceeds them. ``kept``: the stream that an earlier exchange left open.
    """

    def __init__(self, seconds: float, kept: Any) -> None:
        self.passed = False
        self._lines: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        if kept is not None:
            self._watch(kept)

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            for line in self._lines:
                line.close()
            self._lines.clear()

    def trace(self, event: str, details: Mapping[str, Any]) -> None:
        """Watch a new connection, before TLS begins on it."""
        if event.endswith(".connect_tcp.complete"):
            self._watch(details["return_value"])

    def _watch(self, stream: Any) -> None:
        own = stream.get_extra_info("socket")
        # a second handle of the connection, because TLS takes over the first one
        with contextlib.suppress(OSError, AttributeError), self._lock:
            self._lines.append(socket.fromfd(own.fileno(), own.family, own.type))
        if self.passed:
            self._cut()

    def _cut(self) -> None:
        self.passed = True
        with self._lock:
            for line in self._lines:
                with contextlib.suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)


def _content(answer: httpx.Response) -> bytes:
    """Read a body up to the limit."""
    content = bytearray()
    for chunk in answer.iter_raw(_CHUNK):
        content += chunk
        if len(content) > LARGEST_ANSWER:
            raise _too_large()
    coding = answer.headers.get("Content-Encoding", "identity").lower()
    if coding == "identity":
        return bytes(content)
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise ExchangeError("its answer has a compression that was not requested")
    try:
        plain = zlib.decompressobj(_GZIP_OR_ZLIB).decompress(content, LARGEST_ANSWER + 1)
    except zlib.error as error:
        raise ExchangeError(f"its answer cannot be decompressed: {error}") from None
    if len(plain) > LARGEST_ANSWER:
        raise _too_large()
    return plain


def _too_large() -> ExchangeError:
    return ExchangeError(f"its answer is larger than {LARGEST_ANSWER // (1024 * 1024)} MiB")


def _is_refusal_of_tls(error: BaseException | None) -> bool:
    """Whether TLS itself failed, which another attempt cannot fix. A connection that was cut may work again."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return not isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError))
        error = error.__cause__ or error.__context__
    return False
