"""The sink of ``kafka://``: topics and writers of a Kafka cluster, from a changefeed's options.

Settings have librdkafka's names, secrets stay wrapped until then. What librdkafka cannot do is refused by the option's
name, before anything connects. :class:`KafkaAdmin` asks for topics and their limits, as TiCDC does.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from ticdc_emit.config.document import refused, warn_of_option
from ticdc_emit.config.kafka import (
    DEFAULT_MAX_MESSAGE_BYTES,
    DEFAULT_PARTITION_NUM,
    KafkaConfig,
    OAuthConfig,
    SaslConfig,
    TlsConfig,
)
from ticdc_emit.config.secrets import Secret, foreign_text, is_sensitive_name, mask_text
from ticdc_emit.delivery.base import effective_partitions, unknown_topic
from ticdc_emit.delivery.kafka_client import (
    RECORD_OVERHEAD_BYTES,
    ConnectionLog,
    find_topics,
    is_unreachable,
    new_client,
)
from ticdc_emit.delivery.kafka_writer import BATCH_BYTES, KafkaWriter, acquire
from ticdc_emit.errors import ConfigError, DeliveryError, importing
from ticdc_emit.hints import hold_names

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka.admin._metadata import ClusterMetadata

logger = logging.getLogger(__name__)


_OWNED = {
    "bootstrap.servers": "the sink URI's hosts",
    "metadata.broker.list": "the sink URI's hosts",
    "acks": "required-acks",
    "request.required.acks": "required-acks",
    "enable.idempotence": "required-acks",
    "compression.codec": "compression",
    "compression.type": "compression",
    "message.max.bytes": "max-message-bytes",
    "message.timeout.ms": "the delivery timeout",
    "delivery.timeout.ms": "the delivery timeout",
    "delivery.report.only.error": "the writer",
    "transactional.id": "the writer (delivery is at-least-once)",
}


@dataclass(frozen=True)
class KafkaSink:
    """A :class:`~ticdc_emit.delivery.base.Sink` into the Kafka cluster at ``brokers``: a ``host:port``, or several."""

    brokers: tuple[str, ...]
    acks: int = KafkaConfig.required_acks
    """-1 all in-sync replicas, 1 the leader, 0 none. Anything but -1 switches off the idempotent producer, and with it
    the order of retried messages.
    """
    max_message_bytes: int = KafkaConfig.max_message_bytes
    compression: str = KafkaConfig.compression
    client_id: str = KafkaConfig.kafka_client_id
    auto_create_topic: bool = KafkaConfig.auto_create_topic
    replication_factor: int = KafkaConfig.replication_factor
    new_partitions: int = DEFAULT_PARTITION_NUM
    """Partitions of a missing topic if no number is given."""
    dial_timeout_ms: int = KafkaConfig.dial_timeout_ms
    request_timeout_ms: int = KafkaConfig.write_timeout_ms
    delivery_timeout_ms: int = 120_000
    """How long a writer waits if no message at all is acknowledged."""
    linger_ms: int = 100
    """Longer than three batches of a partition take, or librdkafka spins; a flush does not wait for it."""
    queue_messages: int = 500_000
    queue_bytes: int = 128 * 1024 * 1024
    librdkafka: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Further settings of the client by their librdkafka names; sensitive ones become
    :class:`~ticdc_emit.config.Secret`.
    """
    admin_api: bool = True
    """False: the broker makes topics itself (the embedded one does)."""
    limited_by_topics: bool = False
    """Messages may have the size that the topics take, whatever ``max_message_bytes`` is."""
    one_request_at_a_time: bool = False
    """Keep the order of retried messages by waiting for each request, not by an idempotent producer, whose first
    message waits half a second or more for the producer's id: for a broker that has just started.
    """

    def __post_init__(self) -> None:
        hold_names(self, "brokers")
        for name in self.librdkafka:
            if name in _OWNED:
                raise ConfigError(
                    f"the librdkafka setting {name} follows {_OWNED[name]}",
                    remedy=f"Remove it, and set {_OWNED[name]}",
                    option=name,
                )
        hidden = {
            name: value if isinstance(value, Secret) or not _holds_secret(name, value) else Secret(value)
            for name, value in self.librdkafka.items()
        }
        object.__setattr__(self, "librdkafka", hidden)

    @classmethod
    def of(cls, config: KafkaConfig, librdkafka: Mapping[str, Any] | None = None) -> KafkaSink:
        """Return the sink that a changefeed's ``config`` describes.

        ``kafka-version`` and ``max-retry`` have no counterpart: librdkafka negotiates the one, and retries until the
        delivery timeout. Raises :class:`~ticdc_emit.errors.ConfigError` for security options that librdkafka lacks.
        """
        return cls(
            brokers=config.brokers,
            acks=config.required_acks,
            max_message_bytes=config.max_message_bytes,
            compression=config.compression,
            client_id=config.kafka_client_id,
            auto_create_topic=config.auto_create_topic,
            replication_factor=config.replication_factor,
            new_partitions=config.partition_num or DEFAULT_PARTITION_NUM,
            dial_timeout_ms=config.dial_timeout_ms,
            request_timeout_ms=max(config.write_timeout_ms, config.read_timeout_ms),
            librdkafka={**security_settings(config.tls, config.sasl), **(librdkafka or {})},
        )

    @property
    def idempotent(self) -> bool:
        return self.acks == -1 and not self.one_request_at_a_time

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        if self.acks != -1:
            logger.warning(
                "required-acks=%d switches the idempotent producer off: retries may reorder or repeat messages",
                self.acks,
            )
        _require_client()
        return KafkaAdmin(self).prepare(topics)

    def message_limit(self, topics: Iterable[str]) -> int:
        _require_client()
        return KafkaAdmin(self).message_limit(topics) if self.admin_api else self.max_message_bytes

    def open(self, message_limit: int | None = None) -> KafkaWriter:
        _require_client()
        limit = message_limit if self.admin_api else None
        return KafkaWriter(
            acquire(self.producer_settings(limit)),  # no local holds them: a traceback shows locals
            self.largest_message(limit),
            limit,
            brokers=self.brokers,
            creates_topics=self.auto_create_topic,
            dial_timeout_ms=self.dial_timeout_ms,
            delivery_timeout_ms=self.delivery_timeout_ms,
        )

    def largest_message(self, message_limit: int | None = None) -> int:
        """Return the size that a writer checks; ``message_limit``: what the topics take, if it is known."""
        if self.limited_by_topics and message_limit is not None:
            return message_limit
        return self.max_message_bytes

    def connection_settings(self) -> dict[str, Any]:
        """librdkafka settings of any client of this cluster, secrets in the clear."""
        revealed = {
            name: value.reveal() if isinstance(value, Secret) else value for name, value in self.librdkafka.items()
        }
        return {
            "bootstrap.servers": ",".join(self.brokers),
            "client.id": self.client_id,
            "socket.connection.setup.timeout.ms": max(1_000, self.dial_timeout_ms),
            "socket.timeout.ms": min(max(1_000, self.request_timeout_ms), 300_000),
            **revealed,
        }

    def producer_settings(self, message_limit: int | None = None) -> dict[str, Any]:
        """librdkafka settings, secrets in the clear; ``message_limit`` bounds a batch too, which is a message."""
        largest = max(self.max_message_bytes, message_limit or 0)
        # librdkafka counts a record's framing; the limit itself is checked before it
        message_max = min(largest + RECORD_OVERHEAD_BYTES, 1_000_000_000)
        batches = {} if message_limit is None else {"batch.size": min(message_limit, BATCH_BYTES)}
        return {
            **batches,
            "linger.ms": self.linger_ms,
            "queue.buffering.max.messages": self.queue_messages,
            # A queue smaller than one message would stay full forever.
            "queue.buffering.max.kbytes": max(self.queue_bytes, 2 * message_max) // 1024,
            **self.connection_settings(),
            "acks": self.acks,
            "enable.idempotence": self.idempotent,
            **({"max.in.flight.requests.per.connection": 1} if self.one_request_at_a_time else {}),
            "compression.type": self.compression,
            "message.max.bytes": message_max,
            # The writer gives up when nothing moves; a message that waits its turn in a moving queue must not expire.
            "message.timeout.ms": 0,
        }


def _holds_secret(name: str, value: object) -> bool:
    """Return whether a librdkafka setting is a secret, or has one in its text, like ``sasl.oauthbearer.config``."""
    return is_sensitive_name(name) or "oauthbearer.config" in name or mask_text(str(value)) != str(value)


def _require_client() -> None:
    with importing("Kafka sinks need confluent-kafka", extra="kafka"):
        import confluent_kafka  # noqa: F401


def security_settings(tls: TlsConfig, sasl: SaslConfig) -> dict[str, Any]:
    """librdkafka settings; empty for a plain connection."""
    settings: dict[str, Any] = {}
    if tls.enable or sasl.mechanism:
        settings["security.protocol"] = ("sasl_" if sasl.mechanism else "") + ("ssl" if tls.enable else "plaintext")
    if tls.enable:
        settings |= _tls(tls)
    if sasl.mechanism:
        settings |= {"sasl.mechanisms": sasl.mechanism, **_sasl(sasl, sasl.mechanism)}
    elif sasl.user or sasl.password:
        warn_of_option("sasl-user and sasl-password have no effect without sasl-mechanism")
    return settings


def _given(**settings: Any) -> dict[str, Any]:
    """Return settings that have a value, by librdkafka's names with ``_`` for ``.``."""
    return {name.replace("_", "."): value for name, value in settings.items() if value}


def _tls(tls: TlsConfig) -> dict[str, Any]:
    own = {"ssl_certificate_location": tls.cert, "ssl_key_location": tls.key} if tls.cert and tls.key else {}
    settings = _given(ssl_ca_location=tls.ca, **own)
    if tls.insecure_skip_verify:
        logger.warning("insecure-skip-verify: the brokers' certificates are not checked")
        settings["enable.ssl.certificate.verification"] = False
    return settings


def _sasl(sasl: SaslConfig, mechanism: str) -> dict[str, Any]:
    if mechanism == "GSSAPI":
        remedy = "Leave it out, and give librdkafka's own settings (sasl.mechanisms, sasl.kerberos.keytab and so on)"
        raise ConfigError("a Kerberos login is not made of a sink URI", remedy=remedy, option="sasl-mechanism")
    if mechanism == "OAUTHBEARER":
        return _oauth(sasl.oauth)
    if not sasl.user or sasl.password is None:
        fault = f"SASL {mechanism} needs sasl-user and sasl-password"
        option = "sasl-password" if sasl.user else "sasl-user"
        raise ConfigError(fault, remedy="Add both to the sink URI", option=option)
    return {"sasl.username": sasl.user, "sasl.password": sasl.password}


def _oauth(oauth: OAuthConfig | None) -> dict[str, Any]:
    if oauth is None:
        fault = "SASL OAUTHBEARER needs sasl-oauth-client-id, sasl-oauth-client-secret and sasl-oauth-token-url"
        raise ConfigError(fault, remedy="Add them to the sink URI", option="sasl-oauth-client-id")
    if oauth.grant_type != "client_credentials":
        fault = f"librdkafka has no OAuth grant type {oauth.grant_type}"
        raise ConfigError(fault, remedy="Use client_credentials.", option="sasl-oauth-grant-type")
    if oauth.audience:
        remedy = "Remove it, and let the token endpoint set the audience"
        raise ConfigError("librdkafka cannot send an OAuth audience", remedy=remedy, option="sasl-oauth-audience")
    return _given(
        sasl_oauthbearer_method="oidc",
        sasl_oauthbearer_client_id=oauth.client_id,
        sasl_oauthbearer_client_secret=oauth.client_secret,
        sasl_oauthbearer_token_endpoint_url=oauth.token_url,
        sasl_oauthbearer_scope=" ".join(oauth.scopes),
    )


T = TypeVar("T")

_TOPIC_OVERHEAD_BYTES = 128
"""What TiCDC leaves below the topic's ``max.message.bytes``."""

_lock = threading.Lock()
_logged_limits: set[tuple[object, ...]] = set()


class KafkaAdmin:
    """One admin connection, for one call of :meth:`KafkaSink.prepare` or :meth:`KafkaSink.message_limit`."""

    def __init__(self, sink: KafkaSink) -> None:
        from confluent_kafka.admin import AdminClient

        self._sink = sink
        self._timeout = sink.dial_timeout_ms / 1000
        self._log = ConnectionLog()
        self._client = new_client(AdminClient, sink.connection_settings(), self._log)

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
        for name, entries in self._ask(self._configs, resources).items():
            entry = entries.get("max.message.bytes")
            if entry is not None and entry.value is not None:
                limits[name] = int(entry.value)
        if self._sink.limited_by_topics:
            return min(limits.get(resource.name, limit) for resource in resources)
        for topic, size in limits.items():
            if size - _TOPIC_OVERHEAD_BYTES < limit:
                limit = size - _TOPIC_OVERHEAD_BYTES
                self._log_lowered(limit, topic)
        return limit

    def _configs(self, resources: list[Any]) -> dict[str, Any]:
        """Return the settings of topics, asked again while a broker does not know one that was just created."""
        from confluent_kafka import KafkaError, KafkaException

        deadline = time.monotonic() + self._timeout
        while True:
            futures = self._client.describe_configs(resources, request_timeout=self._timeout)
            try:
                return {resource.name: future.result() for resource, future in futures.items()}
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART or time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def _makes_topics_itself(self, metadata: ClusterMetadata) -> bool:
        """Return whether asking makes topics, as an embedded Kafka does: no controller, no configuration requests."""
        from confluent_kafka import KafkaError, KafkaException

        if not self._sink.admin_api or metadata.controller_id in metadata.brokers:
            return not self._sink.admin_api
        try:
            self._broker_config(next(iter(metadata.brokers)))
        except KafkaException as error:
            return bool(error.args[0].code() == KafkaError._UNSUPPORTED_FEATURE)
        return False

    def _broker_config(self, broker: int) -> Any:
        from confluent_kafka.admin._config import ConfigResource
        from confluent_kafka.admin._resource import ResourceType

        resource = ConfigResource(ResourceType.BROKER, str(broker))
        (future,) = self._client.describe_configs([resource], request_timeout=self._timeout).values()
        return future.result()

    def _log_lowered(self, limit: int, topic: str) -> None:
        """Log once per process that a topic takes less; it is worth a warning if the value is not the default."""
        lowered = (*self._sink.brokers, topic, limit, self._sink.max_message_bytes)
        with _lock:
            is_new = lowered not in _logged_limits
            _logged_limits.add(lowered)
        if is_new:
            is_default = self._sink.max_message_bytes == DEFAULT_MAX_MESSAGE_BYTES
            logger.log(
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
            logger.warning("min.insync.replicas of the brokers is not known: %s", foreign_text(error.args[0].str()))
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
