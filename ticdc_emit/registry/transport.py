"""Requests to a registry's HTTP API, as often as they need.

In: method, path, headers and body. Out: the registry's answer below 500, whatever it says. Network errors and 5xx are
tried again with exponential back-off, up to a limit (TiCDC: until the changefeed is stopped; ``httpRetry`` in
``pingcap/tiflow: pkg/sink/codec/avro/confluent_schema_registry.go``). TLS that fails is an error at once.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ticdc_emit.errors import ConfigError, MissingDependencyError, RegistryError, RegistryUnreachableError
from ticdc_emit.registry.address import RegistryAddress
from ticdc_emit.registry.tls import RegistryTls

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState

__all__ = ["RegistryTransport", "json_content"]

logger = logging.getLogger(__name__)

_LONGEST_WAIT_S = 30.0
_SHOWN_ANSWER = 1000


class _TransientError(Exception):
    """Worth another attempt."""


class RegistryTransport:
    """Connections to one registry, until :meth:`close`."""

    def __init__(
        self, address: RegistryAddress, tls: RegistryTls | None, *, timeout_s: float, attempts: int, backoff_s: float
    ) -> None:
        if tls is not None and not address.https:
            raise ConfigError(
                "TLS files are given for a registry without TLS", remedy="Use an https URL", option="schema-registry"
            )
        if attempts < 1:
            raise ConfigError("a registry must be asked at least once", option="attempts")
        self.address = address
        self._attempts = attempts
        self._backoff_s = backoff_s
        self._client = _client(address, tls, timeout_s)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None, *, subject: str
    ) -> httpx.Response:
        """Send a request; ``path`` is escaped already and follows the address, ``subject`` is for errors.

        Raises :class:`~ticdc_emit.errors.RegistryUnreachableError` after the last attempt, and
        :class:`~ticdc_emit.errors.RegistryError` for what another attempt would not mend.
        """
        import httpx
        from tenacity import RetryError, Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

        # A request of one's own, for a client's has headers beside these, Host and Content-Length.
        request = httpx.Request(method, self.address.base + path, headers=headers, content=body)
        login = self.address.login
        auth = httpx.BasicAuth(*login.reveal()) if login else None
        retrying = Retrying(
            stop=stop_after_attempt(self._attempts),
            wait=wait_exponential(multiplier=self._backoff_s, max=_LONGEST_WAIT_S),
            retry=retry_if_exception_type(_TransientError),
            before_sleep=self._log_retry,
        )

        def send() -> httpx.Response:
            try:
                answer = self._client.send(request, auth=auth, follow_redirects=True)
            except httpx.TransportError as error:
                if _is_refusal_of_tls(error):
                    raise self._tls_error(error, subject) from None
                raise _TransientError(f"{type(error).__name__}: {error}") from error
            except httpx.HTTPError as error:
                raise RegistryError(
                    f"the registry {self.address.shown} gave no usable answer: {self._clean(str(error))}",
                    subject=subject,
                ) from None
            if answer.status_code >= 500:
                raise _TransientError(f"{answer.status_code} {self.cause(answer)}")
            return answer

        try:
            return retrying(send)
        except RetryError as error:
            cause = self._clean(str(error.last_attempt.exception()))
        raise RegistryUnreachableError(
            f"the registry {self.address.shown} did not answer: {cause}",
            remedy="Check that it runs and can be reached from here",
            subject=subject,
            attempts=self._attempts,
        )

    def cause(self, answer: httpx.Response) -> str:
        """Return what the registry says, as far as it says something; a page of HTML does not."""
        content = json_content(answer)
        if isinstance(content, dict) and content.get("message"):
            text = str(content["message"])
        elif "html" in answer.headers.get("Content-Type", ""):
            text = "a page of HTML"
        else:
            text = answer.text.strip() or answer.reason_phrase or "nothing"
        text = self._clean(text)
        return text if len(text) <= _SHOWN_ANSWER else text[:_SHOWN_ANSWER] + " …"

    def _clean(self, text: str) -> str:
        return self.address.without_secrets(text)

    def _log_retry(self, state: RetryCallState) -> None:
        cause = state.outcome.exception() if state.outcome else None
        logger.warning(
            "the registry %s failed (attempt %d of %d), next in %.1f s: %s",
            self.address.shown,
            state.attempt_number,
            self._attempts,
            state.upcoming_sleep,
            self._clean(str(cause)),
        )

    def _tls_error(self, error: Exception, subject: str) -> RegistryError:
        return RegistryError(
            f"no TLS with the registry {self.address.shown}: {self._clean(str(error))}",
            remedy="Give the CA of the registry (ca), and cert and key if it asks for a client certificate",
            subject=subject,
        )


def json_content(answer: httpx.Response) -> object:
    """Return the JSON of an answer, ``None`` if it is none."""
    try:
        content: object = answer.json()
    except ValueError:
        return None
    return content


def _client(address: RegistryAddress, tls: RegistryTls | None, timeout_s: float) -> httpx.Client:
    try:
        import httpx
        import tenacity  # noqa: F401 - part of the same extra
    except ImportError as error:
        raise MissingDependencyError("a schema registry needs httpx and tenacity", extra="avro") from error
    # The system's CAs, as in Go; httpx would bring its own.
    verify = (tls or RegistryTls()).context() if address.https else True
    # The proxy of the environment counts, as in Go, but not towards this machine.
    return httpx.Client(verify=verify, timeout=timeout_s, trust_env=not address.loopback)


def _is_refusal_of_tls(error: BaseException | None) -> bool:
    """Whether TLS itself failed, which another attempt would not mend; a connection cut short may come back."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return not isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError))
        error = error.__cause__ or error.__context__
    return False
