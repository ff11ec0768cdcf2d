"""One bounded HTTP exchange with a registry: its address, its TLS files, requests with retries. Answers have at most 16
MiB, and errors show no login. The proxies and CAs are those that Go would use.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import unquote_to_bytes, urlsplit

from ticdc_emit.config.secrets import HTTP_LOGGERS, Secret, hide, hide_in_logs, hides_arguments, mask_uri, printable
from ticdc_emit.errors import ConfigError, RegistryError, RegistryUnreachableError, importing
from ticdc_emit.sql.json_depth import parsed

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState


logger = logging.getLogger(__name__)
_PathLike = str | os.PathLike[str]

ACCEPT = "application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json, application/json"
"""The ``Accept`` header of requests to a Confluent registry."""

LARGEST_ANSWER = 16 * 1024 * 1024
"""Maximum bytes of an answer. A schema of 4,096 columns with long comments takes about two million."""

_MOST_REDIRECTS = 5
_CHUNK = 64 * 1024
_LONGEST_WAIT_S = 30.0
_SHOWN_ANSWER = 1000
_READ_ANSWER = 64 * 1024
"""How much of an answer is searched for secrets and shown at most."""


@dataclass(frozen=True)
class RegistryAddress:
    """``base``: the URL without userinfo and without a slash at its end; ``shown``: for messages, userinfo masked."""

    base: str
    shown: str
    login: Secret[tuple[bytes, bytes]] | None

    @classmethod
    @hides_arguments
    def parse(cls, url: str) -> RegistryAddress:
        """Split a URL. Raises :class:`~ticdc_emit.errors.ConfigError` (``option="schema-registry"``)."""
        shown = mask_uri(url)
        try:
            parts = urlsplit(url)
            scheme, host, _ = parts.scheme, parts.hostname, parts.port
            (host or "").encode("idna").decode("idna")  # a label has at most 63 letters, and xn-- is Punycode
        except ValueError:
            scheme, host = "", None
        if scheme not in ("http", "https") or not host or any(mark in url for mark in "?# \t\r\n"):
            raise _refusal(shown)
        userinfo, at, authority = parts.netloc.rpartition("@")
        user, _, password = userinfo.partition(":")
        login = Secret((unquote_to_bytes(user), unquote_to_bytes(password))) if at else None
        return cls(f"{scheme}://{authority}{parts.path.rstrip('/')}", shown, login)

    @property
    def https(self) -> bool:
        return self.base.startswith("https:")

    @property
    def loopback(self) -> bool:
        """Whether the host is this machine, for which Go uses no proxy."""
        host = urlsplit(self.base).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def secrets(self) -> tuple[Secret[str], ...]:
        """Secrets that no text may show: the password (or the user if there is none) and the Basic token of both."""
        if self.login is None:
            return ()
        user, password = self.login.reveal()
        # With a password the user is not a secret, and it may be an ordinary word of the text.
        token = b64encode(user + b":" + password).decode()
        return Secret(token), Secret((password or user).decode("utf-8", "surrogateescape"))

    def without_secrets(self, text: str) -> str:
        """Return a foreign text, printable and without the credentials that it may repeat."""
        return printable(hide(text, (secret.reveal() for secret in self.secrets)))


def _refusal(shown: str) -> ConfigError:
    return ConfigError(
        f"{shown!r} is not the URL of a schema registry",
        remedy="Write http[s]://[user:password@]host[:port][/path], user and password percent-encoded",
        option="schema-registry",
    )


class _AnswerError(Exception):
    """There is no usable answer. ``transient``: another attempt may succeed, after ``wait_s``. ``tls``: TLS failed."""

    def __init__(self, text: str, *, transient: bool = False, tls: bool = False, wait_s: float = 0) -> None:
        super().__init__(text)
        self.transient = transient
        self.tls = tls
        self.wait_s = wait_s


@dataclass(frozen=True)
class Answer:
    """A server's answer; its content is not printed, because it may repeat the login. ``method``: of the last request,
    as a redirect may turn a POST into a GET. ``wait_s``: how long to wait before another attempt, if it says so.
    """

    status: int
    reason: str = field(repr=False)
    content_type: str = field(repr=False)
    content: bytes = field(repr=False)
    method: str
    wait_s: float = 0

    def json(self) -> object:
        """Return the content's JSON; ``None`` if it is not JSON or is nested too deeply."""
        try:
            return parsed(self.content)
        except ValueError:
            return None


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)


def _wait_s(retry_after: str) -> float:
    with contextlib.suppress(ValueError, OverflowError):
        is_number = retry_after.isdecimal()
        seconds = float(retry_after) if is_number else parsedate_to_datetime(retry_after).timestamp() - time.time()
        return min(seconds, _LONGEST_WAIT_S)
    return 0


def _content(answer: httpx.Response) -> bytes:
    if answer.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise _AnswerError("its answer has a compression that was not requested")
    content = bytearray()
    for chunk in answer.iter_raw(_CHUNK):
        content += chunk
        if len(content) > LARGEST_ANSWER:
            raise _AnswerError(f"its answer is larger than {LARGEST_ANSWER // (1024 * 1024)} MiB")
    return bytes(content)


def _is_refusal_of_tls(error: BaseException | None) -> bool:
    """Whether TLS itself failed, which another attempt cannot fix. A connection that was cut may work again."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return not isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError))
        error = error.__cause__ or error.__context__
    return False


@dataclass(frozen=True)
class RegistryTls:
    """PEM files: ``ca`` holds the only authorities to trust, ``cert`` (chain) and ``key`` (unencrypted) the client's.
    The key may also be in the file of the certificate.
    """

    ca: _PathLike | None = None
    cert: _PathLike | None = None
    key: _PathLike | None = None

    def context(self) -> ssl.SSLContext:
        """Return the context of a client. Raises :class:`~ticdc_emit.errors.ConfigError` naming the option at fault."""
        if self.key is not None and self.cert is None:
            raise ConfigError("a client key needs its certificate", remedy="Give cert too", option="cert")
        for option in ("ca", "cert", "key"):
            path = getattr(self, option)
            if path is None:
                continue
            try:
                Path(path).open("rb").close()
                if option != "key":
                    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
            except OSError as error:
                _refuse(option, path, error.strerror or error)
        context = ssl.create_default_context(cafile=self.ca)
        if self.cert is not None:
            try:
                # without a password here, OpenSSL would prompt for one on the terminal
                context.load_cert_chain(self.cert, self.key, password="")
            except (ssl.SSLError, ValueError) as error:
                _refuse("key", self.key or self.cert, error)
        return context


def _refuse(option: str, path: _PathLike, cause: object) -> NoReturn:
    raise ConfigError(
        f"the registry's TLS file {os.fspath(path)!r} cannot be used: {cause}",
        remedy="Give a readable PEM file; a key must be the certificate's and not encrypted",
        option=option,
    ) from None


class RegistryTransport:
    """Connections to one registry, until :meth:`close`; one request at a time."""

    def __init__(
        self, address: RegistryAddress, tls: RegistryTls | None, *, timeout_s: float, attempts: int, backoff_s: float
    ) -> None:
        """``timeout_s``: for a whole exchange."""
        if tls is not None and not address.https:
            raise ConfigError(
                "TLS files need an https URL of the registry", remedy="Use an https URL", option="schema-registry"
            )
        if attempts < 1:
            raise ConfigError("a request needs at least one attempt", remedy="Give 1 or more", option="attempts")
        with importing("a schema registry needs httpx and tenacity", extra="avro"):
            import httpx
            import tenacity  # noqa: F401 - part of the same extra as httpx
        self.address = address
        self._attempts = attempts
        self._backoff_s = backoff_s
        self._timeout_s = timeout_s
        try:
            self._origin = _origin(httpx.URL(address.base))
        except httpx.InvalidURL:
            raise _refusal(address.shown) from None
        hide_in_logs(HTTP_LOGGERS, address.secrets)
        login = address.login
        self._auth = httpx.BasicAuth(*login.reveal()) if login else None
        # the system's CAs, as in Go, not httpx's; plain http needs none, because redirects to https are refused
        verify = (tls or RegistryTls()).context() if address.https else False
        # the environment's proxy is used, as in Go, but not for this machine
        proxies = not address.loopback
        self._connect = partial(httpx.Client, verify=verify, timeout=timeout_s, trust_env=proxies)
        self._client = self._connect()

    def close(self) -> None:
        self._client.close()

    def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None, **context: object
    ) -> Answer:
        """Send a request; ``path`` is escaped, ``context`` is that of errors, all of them :class:`RegistryError`."""
        from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

        backoff = wait_exponential(multiplier=self._backoff_s, max=_LONGEST_WAIT_S)
        retrying = Retrying(
            stop=stop_after_attempt(self._attempts),
            wait=lambda state: max(backoff(state), getattr(state.outcome and state.outcome.exception(), "wait_s", 0)),
            retry=retry_if_exception(lambda error: isinstance(error, _AnswerError) and error.transient),
            before_sleep=self._log_retry,
            reraise=True,
        )
        try:
            return retrying(self._send, method, path, headers, body)
        except _AnswerError as error:
            failure = self._failure(error, context)
        raise failure  # outside, so that it has no frames with an answer, which may repeat the login

    def _send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        answer = self._exchanged(method, path, headers, body)
        if answer.status >= 500 or answer.status == 429:
            raise _AnswerError(f"{answer.status} {self.cause(answer)}", transient=True, wait_s=answer.wait_s)
        return answer

    def _exchanged(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        import httpx

        answer: Future[Answer] = Future()

        def exchange() -> None:
            try:
                # built here, because a request made by the client also has headers besides these, Host, Content-Length
                request = httpx.Request(method, self.address.base + path, headers=headers, content=body)
                answer.set_result(self._answer(request))
            except Exception as error:
                answer.set_exception(error)

        # a client's own timeouts apply to each read, which a server that sends a byte per second never exceeds
        threading.Thread(target=exchange, daemon=True).start()
        try:
            return answer.result(self._timeout_s)
        except FutureTimeoutError:
            self._client = self._connect()  # the other one is left to the server that it waits for
            raise _AnswerError(f"no whole answer within {self._timeout_s:g} s", transient=True) from None
        except httpx.TimeoutException as error:
            stage = "connection" if isinstance(error, httpx.ConnectTimeout) else "whole answer"
            raise _AnswerError(f"no {stage} within {self._timeout_s:g} s", transient=True) from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            text, is_tls = self.address.without_secrets(str(error)), _is_refusal_of_tls(error)
            told = text if is_tls else f"{type(error).__name__}: {text}"
            raise _AnswerError(
                told, transient=not is_tls and isinstance(error, httpx.TransportError), tls=is_tls
            ) from None

    def _answer(self, request: httpx.Request) -> Answer:
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._client.send(request, auth=self._auth, stream=True)
            try:
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
                    _wait_s(answer.headers.get("Retry-After", "")),
                )
            if _origin(onward.url) != self._origin:
                raise _AnswerError(
                    f"it redirects to another server, {self.address.without_secrets(mask_uri(str(onward.url)))}"
                )
            request = onward
        raise _AnswerError(f"it redirects more than {_MOST_REDIRECTS} times")

    def cause(self, answer: Answer) -> str:
        """Return the registry's message, if it has one; an HTML page has none."""
        content = answer.json()
        if isinstance(content, dict) and content.get("message"):
            text = str(content["message"])
        elif "html" in answer.content_type:
            text = "a page of HTML"
        else:
            text = answer.content.decode("utf-8", "replace").strip() or answer.reason or "nothing"
        text = self.address.without_secrets(text[:_READ_ANSWER])
        return text if len(text) <= _SHOWN_ANSWER else text[:_SHOWN_ANSWER] + " …"

    def _log_retry(self, state: RetryCallState) -> None:
        cause = state.outcome.exception() if state.outcome else None
        logger.warning(
            "the registry %s failed (attempt %d of %d), next in %.1f s: %s",
            self.address.shown,
            state.attempt_number,
            self._attempts,
            state.upcoming_sleep,
            cause,
        )

    def _failure(self, error: _AnswerError, context: Mapping[str, object]) -> RegistryError:
        if error.transient:
            return RegistryUnreachableError(
                f"the registry {self.address.shown} did not answer: {error}",
                remedy="Check that it runs, can be reached from here, and has no limit of requests that is too low",
                **context,
                attempts=self._attempts,
            )
        if not error.tls:
            return RegistryError(
                f"the registry {self.address.shown} gave no usable answer: {error}",
                remedy="Check that the URL leads to a schema registry, without a redirect to another server",
                **context,
            )
        return RegistryError(
            f"no TLS with the registry {self.address.shown}: {error}",
            remedy="Give the CA of the registry (ca), and cert and key if it asks for a client certificate",
            **context,
        )
