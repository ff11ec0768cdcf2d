"""Requests to a registry's HTTP API, with retries.

In: method, path, headers and body. Out: any answer with a status below 500. After network errors and 5xx, the request
is tried again with exponential back-off, up to a limit (TiCDC: until the changefeed is stopped; ``httpRetry`` in
``pingcap/tiflow: pkg/sink/codec/avro/confluent_schema_registry.go``). A TLS failure is an error at once. The limits of
one request are in :mod:`ticdc_emit.web.exchange`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ticdc_emit.errors import ConfigError, MissingDependencyError, RegistryError, RegistryUnreachableError
from ticdc_emit.registry.tls import RegistryTls
from ticdc_emit.web.address import RegistryAddress
from ticdc_emit.web.exchange import Answer, Exchange, ExchangeError

if TYPE_CHECKING:
    from tenacity import RetryCallState

__all__ = ["RegistryTransport"]

logger = logging.getLogger(__name__)

_LONGEST_WAIT_S = 30.0
_SHOWN_ANSWER = 1000
_READ_ANSWER = 64 * 1024
"""How much of an answer is searched for secrets and shown at most."""


class _TransientError(Exception):
    """Worth another attempt."""


class RegistryTransport:
    """Connections to one registry, until :meth:`close`."""

    def __init__(
        self, address: RegistryAddress, tls: RegistryTls | None, *, timeout_s: float, attempts: int, backoff_s: float
    ) -> None:
        if tls is not None and not address.https:
            raise ConfigError(
                "TLS files need an https URL of the registry", remedy="Use an https URL", option="schema-registry"
            )
        if attempts < 1:
            raise ConfigError("a request needs at least one attempt", remedy="Give 1 or more", option="attempts")
        self.address = address
        self._attempts = attempts
        self._backoff_s = backoff_s
        self._exchange = _exchange(address, tls, timeout_s)

    def close(self) -> None:
        """Close the connection."""
        self._exchange.close()

    def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None, *, subject: str
    ) -> Answer:
        """Send a request; ``path`` is escaped already and follows the address, ``subject`` is for errors.

        Raises :class:`~ticdc_emit.errors.RegistryUnreachableError` after the last attempt, and
        :class:`~ticdc_emit.errors.RegistryError` for an error that another attempt cannot fix.
        """
        from tenacity import RetryError, Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

        retrying = Retrying(
            stop=stop_after_attempt(self._attempts),
            wait=wait_exponential(multiplier=self._backoff_s, max=_LONGEST_WAIT_S),
            retry=retry_if_exception_type(_TransientError),
            before_sleep=self._log_retry,
        )

        def send() -> Answer:
            try:
                answer = self._exchange.ask(method, path, headers, body)
            except ExchangeError as error:
                if error.transient:
                    raise _TransientError(str(error)) from None
                raise self._failure(error, subject) from None
            if answer.status >= 500:
                raise _TransientError(f"{answer.status} {self.cause(answer)}")
            return answer

        try:
            return retrying(send)
        except RetryError as error:
            cause = str(error.last_attempt.exception())
        raise RegistryUnreachableError(
            f"the registry {self.address.shown} did not answer: {cause}",
            remedy="Check that it runs and can be reached from here",
            subject=subject,
            attempts=self._attempts,
        )

    def cause(self, answer: Answer) -> str:
        """Return the registry's message, if it has one; an HTML page has none."""
        content = answer.json()
        if isinstance(content, dict) and content.get("message"):
            text = str(content["message"])
        elif "html" in answer.content_type:
            text = "a page of HTML"
        else:
            text = answer.text.strip() or answer.reason or "nothing"
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

    def _failure(self, error: ExchangeError, subject: str) -> RegistryError:
        if not error.tls:
            return RegistryError(
                f"the registry {self.address.shown} gave no usable answer: {error}",
                remedy="Check that the URL leads to a schema registry, without a redirect to another server",
                subject=subject,
            )
        return RegistryError(
            f"no TLS with the registry {self.address.shown}: {error}",
            remedy="Give the CA of the registry (ca), and cert and key if it asks for a client certificate",
            subject=subject,
        )


def _exchange(address: RegistryAddress, tls: RegistryTls | None, timeout_s: float) -> Exchange:
    try:
        import tenacity  # noqa: F401 - part of the same extra as httpx
    except ImportError as error:
        raise MissingDependencyError("a schema registry needs httpx and tenacity", extra="avro") from error
    # the system's CAs, as in Go; httpx would use its own
    context = (tls or RegistryTls()).context() if address.https else None
    # the environment's proxy is used, as in Go, but not for this machine
    return Exchange(address, context, timeout_s=timeout_s, proxies=not address.loopback)
