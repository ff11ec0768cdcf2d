"""What the Kafka clients of this package share: connections that say why they fail, and librdkafka's errors as ours."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ticdc_emit.config.secrets import Secret, foreign_text, hide, hides_arguments
from ticdc_emit.delivery.base import unknown_partition, unknown_topic
from ticdc_emit.errors import (
    AuthenticationError,
    BrokerUnreachableError,
    ConfigError,
    DeliveryError,
    MessageTooLargeError,
    TicdcEmitError,
)

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.admin._metadata import ClusterMetadata

_Client = TypeVar("_Client")

RECORD_OVERHEAD_BYTES = 1_024
"""More than a record and its batch have beside key and value."""

_FILES = {"ssl.ca.location": "ca", "ssl.certificate.location": "cert", "ssl.key.location": "key"}
_PREAMBLES = ("Failed to create admin client: ", "Failed to acquire SASL OAUTHBEARER token: ")
"""Of librdkafka's, where masking would take the word behind them for a secret."""
_TLS_ALERT = re.compile(r"SSL routines:.*\balert ")
"""OpenSSL on what a broker says of a client's certificate; with TLS 1.3 that comes after the handshake."""
_TLS_WORDS = ("SSL handshake", "SSL routines")


_CONNECT = "Check the addresses, TLS and SASL options of the sink URI, or raise dial-timeout."


def login_refused(brokers: Sequence[str], waited: float, cause: str) -> AuthenticationError:
    """A broker of ``brokers`` answered, but refused the login or a certificate; ``cause`` names which."""
    tls = any(words in cause for words in _TLS_WORDS)
    return AuthenticationError(
        f"{'TLS' if tls else 'SASL'} with Kafka at {', '.join(brokers)} failed: {_masked(cause)}",
        remedy="Check ca, cert and key in the sink URI: ca must have issued the brokers' certificates, and the brokers "
        "must trust the issuer of cert."
        if tls
        else "Check sasl-mechanism, and sasl-user and sasl-password or the sasl-oauth options that go with it.",
        waited=round(waited, 1),
    )


def _masked(cause: str) -> str:
    preamble = next((text for text in _PREAMBLES if cause.startswith(text)), "")
    return preamble + foreign_text(cause.removeprefix(preamble))


def is_refusal(error: KafkaError) -> bool:
    """Return whether ``error`` means that a broker answered and refused a login or certificate."""
    from confluent_kafka import KafkaError

    codes = (KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED)
    return error.code() in codes or _TLS_ALERT.search(error.str()) is not None


def is_unreachable(error: KafkaError) -> bool:
    """Return whether ``error`` means that no answer came, rather than a refusal."""
    from confluent_kafka import KafkaError

    return error.code() in (
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._RESOLVE,
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
    )


def delivery_failed(
    error: KafkaError,
    topic: str,
    partition: int | None = None,
    size: int | None = None,
    *,
    limit: int | None = None,
    creates: bool = False,
) -> TicdcEmitError:
    """Return the error for a message, or a request about ``topic``, that Kafka refused or lost.

    ``limit``: what the topics took when they were asked. ``creates``: the next try would make a missing topic.
    """
    from confluent_kafka import KafkaError

    code = error.code()
    if code == KafkaError.MSG_SIZE_TOO_LARGE:
        fault = f"Kafka refused a message of {size} bytes for topic {topic}"
        remedy = "Lower max-message-bytes to the topic's max.message.bytes, or raise that."
        if size is not None and limit is not None and size + RECORD_OVERHEAD_BYTES <= limit:
            fault = (
                f"Kafka refused a batch of messages for topic {topic}, the first of them {size} bytes long, because "
                f"the topic takes less than when it was asked ({limit} bytes)"
            )
            remedy = "Run the batch again, which asks for the topic's max.message.bytes again, or raise that."
        place = {"topic": topic, "partition": partition, "size": size}
        return MessageTooLargeError(f"{fault}: {foreign_text(error.str())}", remedy=remedy, **place)
    if code in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError.TOPIC_EXCEPTION):
        return unknown_topic(topic, creates=creates)
    if code == KafkaError._UNKNOWN_PARTITION and partition is not None:
        return unknown_partition(topic, partition)
    return DeliveryError(
        f"Kafka did not take a message for topic {topic}: {foreign_text(error.str())} ({error.name()})",
        remedy="Check the topic and the brokers' log, then run the batch again",
        topic=topic,
        partition=partition,
        size=size,
    )


_logger = logging.getLogger("ticdc_emit.delivery.librdkafka")

_OAUTH_VALUE = re.compile(r"(?i)[\w.]*(?:secret|password|token|key)[\w.]*=(\S+)")
_SECRET_SETTINGS = ("password", "secret", "passphrase", "key.pem")
_ATTEMPT_S = 0.5
_REFUSAL_LASTS_S = 1.5
"""Of several brokers one may refuse and another, a little later, accept."""


class ConnectionLog:
    """Logger and error callback of one client; ``cause`` is why a connection last failed, empty if none did.

    librdkafka reports every reconnect as an error, and what matters reaches the caller as a typed error, so its lines
    are debug messages. ``login_refused``: ``cause`` is a login or certificate turned down. ``failures``: lost
    connections too.
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
        from confluent_kafka import KafkaError

        if error.fatal():
            self.fatal = error
        if error.code() != KafkaError._ALL_BROKERS_DOWN or not self.cause:
            self._note(error.str(), is_refusal(error))

    def forget(self) -> None:
        self.cause, self.refused = "", False

    def failure(
        self, brokers: Sequence[str], waited: float, otherwise: str = "", remedy: str = _CONNECT
    ) -> DeliveryError:
        """Return the error for ``waited`` seconds in vain; ``otherwise`` is the cause where no connection failed."""
        if self.refused:
            return login_refused(brokers, waited, self.cause)
        cause = self.cause or otherwise
        detail = f": {foreign_text(cause)}" if cause else ""
        return BrokerUnreachableError(
            f"no Kafka broker of {', '.join(brokers)} answered in {waited:.1f} s{detail}",
            remedy=remedy,
            waited=round(waited, 1),
        )

    def _clean(self, text: str) -> str:
        return hide(text, (secret.reveal() for secret in self._secrets))

    def _note(self, cause: str, refused: bool) -> None:
        cause = self._clean(cause)
        if refused or not self.refused:
            self.cause, self.refused = cause, refused


@hides_arguments
def new_client(kind: Callable[[dict[str, Any]], _Client], settings: Mapping[str, Any], log: ConnectionLog) -> _Client:
    """Return a client with ``settings`` and what every one here has; ``ConfigError`` if librdkafka refuses them."""
    from confluent_kafka import KafkaException

    log.hide(settings)
    try:
        return kind({**settings, "logger": log, "error_cb": log.on_error})
    except KafkaException as error:
        cause = error.args[0].str()
    option = next((option for setting, option in _FILES.items() if setting in cause), None)
    raise ConfigError(
        f"librdkafka refuses the Kafka options: {_masked(cause)}",
        remedy="The file must be PEM, and readable on the driver and on every worker." if option else "",
        option=option,
    )


def find_topics(
    client: AdminClient | Producer | Consumer,
    log: ConnectionLog,
    brokers: Sequence[str],
    timeout_s: float,
    topic: str | None = None,
) -> ClusterMetadata:
    """Return the metadata of ``topic``, or of the whole cluster; raises as soon as a refusal has lasted."""
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
