"""The log of a Kafka client about its connections, and metadata requests that use it.

In: librdkafka's log lines and error callbacks of one client.  Out: the cause behind a failure, and metadata or a typed
error.  librdkafka itself tries again for ever and only ever says "timed out", also where a login was refused.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ticdc_emit.config.encoded_secrets import hide
from ticdc_emit.config.secrets import Secret, foreign_text
from ticdc_emit.delivery.kafka_errors import is_refusal, is_unreachable, refused, unreachable
from ticdc_emit.errors import DeliveryError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.admin._metadata import ClusterMetadata

__all__ = ["ConnectionLog", "client_settings", "find_topics"]

_logger = logging.getLogger("ticdc_emit.delivery.librdkafka")

_OAUTH_VALUE = re.compile(r"(?i)[\w.]*(?:secret|password|token|key)[\w.]*=(\S+)")
_SECRET_SETTINGS = ("password", "secret", "passphrase", "key.pem")
_ATTEMPT_S = 0.5
_REFUSAL_LASTS_S = 1.5
"""Of several brokers one may refuse and another, a little later, accept."""


class ConnectionLog:
    """Logger and error callback of one client; ``cause`` is why a connection last failed, empty if none did.

    librdkafka reports every reconnect as an error; what matters of it reaches the caller as a typed error, so its lines
    go to :mod:`logging` as debug messages only.  ``refused``: ``cause`` is a login or certificate turned down.
    ``failures`` counts connections that failed or were lost.
    """

    def __init__(self) -> None:
        self.cause = ""
        self.refused = False
        self.failures = 0
        self.fatal: KafkaError | None = None
        self._secrets: tuple[Secret[str], ...] = ()

    def hide(self, settings: Mapping[str, Any]) -> None:
        """Mask a client's passwords, which a broker or a token endpoint may repeat."""
        sensitive = [value for name, value in settings.items() if any(word in name for word in _SECRET_SETTINGS)]
        # a list of settings of its own
        sensitive += _OAUTH_VALUE.findall(str(settings.get("sasl.oauthbearer.config", "")))
        self._secrets = tuple(Secret(value) for value in sensitive if isinstance(value, str))

    def log(self, level: int, text: str, *args: object) -> None:
        """The logger's method that confluent-kafka calls, with librdkafka's facility, client and message."""
        _logger.debug("%s", foreign_text(self._clean(text % args if args else text)))
        if args and args[0] == "FAIL":
            self.failures += 1
            # A connection closed by the broker is in the log only.
            self._note(str(args[-1]).rpartition("]: ")[2], False)

    def on_error(self, error: KafkaError) -> None:
        """The error callback."""
        from confluent_kafka import KafkaError

        if error.fatal():
            self.fatal = error
        if error.code() != KafkaError._ALL_BROKERS_DOWN or not self.cause:
            self._note(error.str(), is_refusal(error))

    def forget(self) -> None:
        """Connections work again."""
        self.cause, self.refused = "", False

    def failure(self, brokers: Sequence[str], waited: float, otherwise: str = "") -> DeliveryError:
        """Return the error for ``waited`` seconds in vain; ``otherwise`` is the cause where no connection failed."""
        if self.refused:
            return refused(brokers, waited, self.cause)
        return unreachable(brokers, waited, self.cause or otherwise)

    def _clean(self, text: str) -> str:
        return hide(text, (secret.reveal() for secret in self._secrets))

    def _note(self, cause: str, refused: bool) -> None:
        cause = self._clean(cause)
        if refused or not self.refused:
            self.cause, self.refused = cause, refused


def client_settings(settings: Mapping[str, Any], log: ConnectionLog) -> dict[str, Any]:
    """Return ``settings`` plus what every client of this library has."""
    log.hide(settings)
    return {**settings, "logger": log, "error_cb": log.on_error}


def find_topics(
    client: AdminClient | Producer | Consumer,
    log: ConnectionLog,
    brokers: Sequence[str],
    timeout_s: float,
    topic: str | None = None,
) -> ClusterMetadata:
    """Return the metadata of ``topic``, or of the cluster and all its topics.

    Raises :class:`~ticdc_emit.errors.BrokerUnreachableError` after ``timeout_s``,
    :class:`~ticdc_emit.errors.AuthenticationError` as soon as a refusal has lasted, and ``KafkaException`` for what
    Kafka answered.
    """
    from confluent_kafka import KafkaException

    started = time.monotonic()
    attempt_s = _ATTEMPT_S
    while True:
        left = timeout_s - (time.monotonic() - started)
        try:
            return client.list_topics(topic, timeout=min(attempt_s, max(left, 0.1)))
        except KafkaException as error:
            cause = error.args[0]
            if not is_unreachable(cause):
                raise
            client.poll(0.1)
            waited = time.monotonic() - started
            if waited >= timeout_s or (log.refused and waited >= _REFUSAL_LASTS_S):
                raise log.failure(brokers, waited, cause.str()) from None
            # A request that is only slow must be given the time in the end.
            attempt_s *= 2
