"""librdkafka's errors as this library's.

In: a ``KafkaError`` with its place.  Out: an error of the :class:`~ticdc_emit.errors.DeliveryError` family (or
:class:`~ticdc_emit.errors.MessageTooLargeError`) with librdkafka's own words as cause, secrets masked.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ticdc_emit.config.document import refused
from ticdc_emit.config.kafka import DEFAULT_MAX_MESSAGE_BYTES
from ticdc_emit.config.secrets import Secret, foreign_text, hide
from ticdc_emit.delivery.base import effective_partitions, unknown_partition, unknown_topic
from ticdc_emit.errors import (
    AuthenticationError,
    BrokerUnreachableError,
    ConfigError,
    DeliveryError,
    MessageTooLargeError,
    TicdcEmitError,
)

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.admin._metadata import ClusterMetadata

    from ticdc_emit.delivery.kafka import KafkaSink

__all__ = [
    "RECORD_OVERHEAD_BYTES",
    "ConnectionLog",
    "KafkaAdmin",
    "client_settings",
    "delivery_failed",
    "find_topics",
    "is_refusal",
    "is_unreachable",
    "login_refused",
    "settings_refused",
    "unreachable",
]


RECORD_OVERHEAD_BYTES = 1_024
"""More than a record and its batch have beside key and value."""

_FILES = {"ssl.ca.location": "ca", "ssl.certificate.location": "cert", "ssl.key.location": "key"}
_PREAMBLES = ("Failed to create admin client: ", "Failed to acquire SASL OAUTHBEARER token: ")
"""Of librdkafka's, where masking would take the word behind them for a secret."""
_TLS_ALERT = re.compile(r"SSL routines:.*\balert ")
"""OpenSSL on what a broker says of a client's certificate; with TLS 1.3 that comes after the handshake."""
_TLS_WORDS = ("SSL handshake", "SSL routines")


def unreachable(brokers: Sequence[str], waited: float, cause: str) -> BrokerUnreachableError:
    """No broker of ``brokers`` answered for ``waited`` seconds; ``cause`` is the last thing that went wrong."""
    detail = f": {foreign_text(cause)}" if cause else ""
    return BrokerUnreachableError(
        f"no Kafka broker of {', '.join(brokers)} answered in {waited:.1f} s{detail}",
        remedy="Check the addresses, TLS and SASL options of the sink URI, or raise dial-timeout.",
        waited=round(waited, 1),
    )


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


def settings_refused(error: KafkaException) -> ConfigError:
    """Return the error for a client that librdkafka does not even make."""
    cause = error.args[0].str()
    if "SASL mechanism GSSAPI" in cause:
        return ConfigError(
            "the installed librdkafka has no Kerberos (SASL GSSAPI)",
            remedy="Install libsasl2 and a librdkafka built with it, then confluent-kafka from source "
            "(pip install --no-binary confluent-kafka confluent-kafka), or use another sasl-mechanism.",
            option="sasl-mechanism",
        )
    option = next((option for setting, option in _FILES.items() if setting in cause), None)
    return ConfigError(
        f"librdkafka refuses the Kafka options: {_masked(cause)}",
        remedy="The file must be PEM, and readable on the driver and on every worker." if option else "",
        option=option,
    )


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
        if size is not None and limit is not None and size + RECORD_OVERHEAD_BYTES <= limit:
            return MessageTooLargeError(
                f"Kafka refused a batch of messages for topic {topic}, the first of them {size} bytes long, because "
                f"the topic takes less than when it was asked ({limit} bytes): {foreign_text(error.str())}",
                remedy="Run the batch again, which asks for the topic's max.message.bytes again, or raise that.",
                topic=topic,
                partition=partition,
                size=size,
            )
        return MessageTooLargeError(
            f"Kafka refused a message of {size} bytes for topic {topic}: {foreign_text(error.str())}",
            remedy="Lower max-message-bytes to the topic's max.message.bytes, or raise that.",
            topic=topic,
            partition=partition,
            size=size,
        )
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

    librdkafka reports every reconnect as an error; what matters of it reaches the caller as a typed error, so its lines
    go to :mod:`logging` as debug messages only.  ``login_refused``: ``cause`` is a login or certificate turned down.
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
            return login_refused(brokers, waited, self.cause)
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


_admin_logger = logging.getLogger(__name__)

T = TypeVar("T")

_TOPIC_OVERHEAD_BYTES = 128
"""What TiCDC leaves below the topic's ``max.message.bytes``."""

_lock = threading.Lock()
_told_lowered: set[tuple[object, ...]] = set()


class KafkaAdmin:
    """One admin connection, for one call of :meth:`KafkaSink.prepare` or :meth:`KafkaSink.message_limit`."""

    def __init__(self, sink: KafkaSink) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        self._sink = sink
        self._timeout = sink.dial_timeout_ms / 1000
        self._log = ConnectionLog()
        try:
            self._client = AdminClient(client_settings(sink.connection_settings(), self._log))
        except KafkaException as error:
            raise settings_refused(error) from None

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        """Create missing topics and return the number of partitions to use (see the contract)."""
        metadata = self._metadata()
        existing = _partition_counts(metadata)
        missing = {
            topic: asked or self._sink.new_partitions for topic, asked in topics.items() if topic not in existing
        }
        if missing:
            if not self._sink.auto_create_topic:
                raise unknown_topic(next(iter(missing)))
            if self._makes_topics_itself(metadata):
                for topic in missing:
                    self._metadata(topic)
            else:
                if self._sink.acks == -1:
                    self._check_replicas(next(iter(metadata.brokers)))
                self._create(missing)
            existing = self._wait_for(missing)
        return {topic: effective_partitions(topic, asked, existing[topic]) for topic, asked in topics.items()}

    def message_limit(self, topics: Iterable[str]) -> int:
        """``max-message-bytes``, lowered to what the topics take; or what they take, as far as they tell it."""
        from confluent_kafka.admin._config import ConfigResource
        from confluent_kafka.admin._resource import ResourceType

        limit = self._sink.max_message_bytes
        if self._makes_topics_itself(self._metadata()):
            return limit
        resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        limits: dict[str, int] = {}
        for resource, future in self._client.describe_configs(resources, request_timeout=self._timeout).items():
            entry = self._ask(future.result).get("max.message.bytes")
            if entry is not None and entry.value is not None:
                limits[resource.name] = int(entry.value)
        if self._sink.limited_by_topics:
            return min(limits.get(resource.name, limit) for resource in resources)
        for topic, size in limits.items():
            if size - _TOPIC_OVERHEAD_BYTES < limit:
                limit = size - _TOPIC_OVERHEAD_BYTES
                self._tell_lowered(limit, topic)
        return limit

    def _makes_topics_itself(self, metadata: ClusterMetadata) -> bool:
        """Return whether the broker makes topics when it is asked for them, and cannot be asked for anything else.

        An embedded Kafka does: none of its brokers is a controller, and none knows the request for a configuration.
        """
        from confluent_kafka import KafkaError, KafkaException

        if not self._sink.admin_api or metadata.controller_id in metadata.brokers:
            return not self._sink.admin_api
        try:
            self._broker_config(next(iter(metadata.brokers)))
        except KafkaException as error:
            return bool(error.args[0].code() == KafkaError._UNSUPPORTED_FEATURE)
        return False

    def _broker_config(self, broker: int) -> Any:
        """Return a broker's configuration; raises ``KafkaException``."""
        from confluent_kafka.admin._config import ConfigResource
        from confluent_kafka.admin._resource import ResourceType

        resource = ConfigResource(ResourceType.BROKER, str(broker))
        (future,) = self._client.describe_configs([resource], request_timeout=self._timeout).values()
        return future.result()

    def _tell_lowered(self, limit: int, topic: str) -> None:
        """Log once per process that a topic takes less; it is worth a warning if the value is not the default."""
        place = (*self._sink.brokers, topic, limit, self._sink.max_message_bytes)
        with _lock:
            is_new = place not in _told_lowered
            _told_lowered.add(place)
        if is_new:
            is_default = self._sink.max_message_bytes == DEFAULT_MAX_MESSAGE_BYTES
            _admin_logger.log(
                logging.INFO if is_default else logging.WARNING,
                "max-message-bytes is lowered from %d to %d: topic %s takes messages of %d bytes",
                self._sink.max_message_bytes,
                limit,
                topic,
                limit + _TOPIC_OVERHEAD_BYTES,
            )

    def _check_replicas(self, broker: int) -> None:
        """A topic with fewer replicas than ``broker`` wants in sync takes no message."""
        from confluent_kafka import KafkaException

        try:
            entry = self._broker_config(broker).get("min.insync.replicas")
        except KafkaException as error:
            _admin_logger.warning(
                "min.insync.replicas of the brokers is not known: %s", foreign_text(error.args[0].str())
            )
            return
        replicas = self._sink.replication_factor
        if entry is not None and entry.value is not None and replicas < int(entry.value):
            raise refused(
                "ErrKafkaInvalidConfig",
                "TiCDC Kafka producer's `request.required.acks` defaults to -1, TiCDC cannot deliver messages when the "
                f"`replication-factor` {replicas} is smaller than the `min.insync.replicas` {entry.value} of broker",
                option="replication-factor",
                remedy=f"Set replication-factor to {entry.value} or more.",
            )

    def _create(self, missing: Mapping[str, int]) -> None:
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.cimpl import NewTopic

        new_topics = [
            NewTopic(topic, partitions, replication_factor=self._sink.replication_factor)
            for topic, partitions in missing.items()
        ]
        created = self._client.create_topics(new_topics, request_timeout=self._timeout)
        for topic, future in created.items():
            try:
                future.result()
            except KafkaException as error:
                cause = error.args[0]
                if cause.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                    continue
                raise self._refused(topic, cause) from None

    def _refused(self, topic: str, cause: KafkaError) -> Exception:
        from confluent_kafka import KafkaError

        if cause.code() == KafkaError.INVALID_REPLICATION_FACTOR:
            return ConfigError(
                f"the topic {topic} cannot have {self._sink.replication_factor} replicas: {foreign_text(cause.str())}",
                remedy="Set replication-factor to at most the number of brokers.",
                option="replication-factor",
            )
        return DeliveryError(
            f"Kafka did not create the topic {topic}: {foreign_text(cause.str())}",
            remedy="Create it yourself, or give the user the right to",
            topic=topic,
        )

    def _wait_for(self, topics: Iterable[str]) -> dict[str, int]:
        """Creation is done before every broker knows it."""
        deadline = time.monotonic() + self._timeout
        while True:
            counts = _partition_counts(self._metadata())
            unseen = [topic for topic in topics if not counts.get(topic)]
            if not unseen:
                return counts
            if time.monotonic() > deadline:
                raise DeliveryError(
                    f"the topic {unseen[0]} was created, but is not visible after {self._timeout:.1f} s",
                    remedy="Check the brokers, or raise dial-timeout",
                    topic=unseen[0],
                )
            time.sleep(0.05)

    def _metadata(self, topic: str | None = None) -> ClusterMetadata:
        return self._ask(find_topics, self._client, self._log, self._sink.brokers, self._timeout, topic)

    def _ask(self, request: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        from confluent_kafka import KafkaException

        started = time.monotonic()
        try:
            return request(*args, **kwargs)
        except KafkaException as error:
            cause = error.args[0]
            if is_unreachable(cause):
                self._client.poll(0)
                raise self._log.failure(self._sink.brokers, time.monotonic() - started, cause.str()) from None
            raise DeliveryError(
                f"Kafka refused a request: {foreign_text(cause.str())} ({cause.name()})",
                remedy="Check the rights of the user, and the brokers' log",
            ) from None


def _partition_counts(metadata: ClusterMetadata) -> dict[str, int]:
    return {name: len(topic.partitions) for name, topic in metadata.topics.items()}
