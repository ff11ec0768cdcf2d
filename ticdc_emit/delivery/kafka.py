"""The sink of ``kafka://``: a changefeed's options of delivery as settings of librdkafka.

In: the records of :mod:`ticdc_emit.config.kafka`. Out: writers and topics, made with settings by librdkafka's names;
secrets stay wrapped until then. What librdkafka cannot do is refused by the option's name, before anything connects.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ticdc_emit.config.document import warn_of_option
from ticdc_emit.config.kafka import (
    DEFAULT_PARTITION_NUM,
    GssapiConfig,
    KafkaConfig,
    OAuthConfig,
    SaslConfig,
    TlsConfig,
)
from ticdc_emit.config.secrets import Secret, is_sensitive_name, mask_text
from ticdc_emit.delivery.kafka_client import RECORD_OVERHEAD_BYTES, KafkaAdmin
from ticdc_emit.delivery.kafka_writer import BATCH_BYTES, KafkaWriter
from ticdc_emit.errors import ConfigError, MissingDependencyError

__all__ = ["KafkaSink", "security_settings"]


_security_logger = logging.getLogger(__name__)


def security_settings(tls: TlsConfig, sasl: SaslConfig) -> dict[str, Any]:
    """librdkafka settings; empty for a plain connection."""
    settings: dict[str, Any] = {}
    if tls.enable or sasl.mechanism:
        settings["security.protocol"] = ("sasl_" if sasl.mechanism else "") + ("ssl" if tls.enable else "plaintext")
    if tls.enable:
        settings |= _tls(tls)
    if sasl.mechanism:
        settings |= _sasl(sasl, sasl.mechanism)
    elif sasl.user or sasl.password:
        warn_of_option("sasl-user and sasl-password have no effect without sasl-mechanism")
    return settings


def _tls(tls: TlsConfig) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if tls.ca:
        settings["ssl.ca.location"] = tls.ca
    if tls.cert and tls.key:
        settings["ssl.certificate.location"] = tls.cert
        settings["ssl.key.location"] = tls.key
    if tls.insecure_skip_verify:
        _security_logger.warning("insecure-skip-verify: the brokers' certificates are not checked")
        settings["enable.ssl.certificate.verification"] = False
    return settings


def _sasl(sasl: SaslConfig, mechanism: str) -> dict[str, Any]:
    settings: dict[str, Any] = {"sasl.mechanisms": mechanism}
    if mechanism == "GSSAPI":
        return settings | _gssapi(sasl.gssapi)
    if mechanism == "OAUTHBEARER":
        return settings | _oauth(sasl.oauth)
    if not sasl.user or sasl.password is None:
        raise ConfigError(
            f"SASL {mechanism} needs sasl-user and sasl-password",
            remedy="Add both to the sink URI",
            option="sasl-password" if sasl.user else "sasl-user",
        )
    return settings | {"sasl.username": sasl.user, "sasl.password": sasl.password}


def _gssapi(gssapi: GssapiConfig) -> dict[str, Any]:
    if gssapi.auth_type == "user":
        raise ConfigError(
            "librdkafka cannot log in to Kerberos with a password",
            remedy="Use sasl-gssapi-auth-type=keytab.",
            option="sasl-gssapi-auth-type",
        )
    settings: dict[str, Any] = {}
    if gssapi.service_name:
        settings["sasl.kerberos.service.name"] = gssapi.service_name
    if gssapi.user:
        settings["sasl.kerberos.principal"] = f"{gssapi.user}@{gssapi.realm}" if gssapi.realm else gssapi.user
    if gssapi.keytab_path:
        settings["sasl.kerberos.keytab"] = gssapi.keytab_path
    if gssapi.kerberos_config_path:
        warn_of_option("sasl-gssapi-kerberos-config-path is not used: set KRB5_CONFIG in the workers' environment")
    if gssapi.disable_pafxfast:
        warn_of_option("sasl-gssapi-disable-pafxfast is not used: the Kerberos library negotiates PA-FX-FAST itself")
    return settings


def _oauth(oauth: OAuthConfig | None) -> dict[str, Any]:
    if oauth is None:
        raise ConfigError(
            "SASL OAUTHBEARER needs sasl-oauth-client-id, sasl-oauth-client-secret and sasl-oauth-token-url",
            remedy="Add them to the sink URI",
            option="sasl-oauth-client-id",
        )
    if oauth.grant_type != "client_credentials":
        raise ConfigError(
            f"librdkafka has no OAuth grant type {oauth.grant_type}",
            remedy="Use client_credentials.",
            option="sasl-oauth-grant-type",
        )
    if oauth.audience:
        raise ConfigError(
            "librdkafka cannot send an OAuth audience",
            remedy="Remove it, and let the token endpoint set the audience",
            option="sasl-oauth-audience",
        )
    settings: dict[str, Any] = {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": oauth.client_id,
        "sasl.oauthbearer.client.secret": oauth.client_secret,
        "sasl.oauthbearer.token.endpoint.url": oauth.token_url,
    }
    if oauth.scopes:
        settings["sasl.oauthbearer.scope"] = " ".join(oauth.scopes)
    return settings


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
    """A :class:`~ticdc_emit.delivery.base.Sink` into the Kafka cluster at ``brokers`` (``host:port`` each)."""

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

    def __post_init__(self) -> None:
        for name in self.librdkafka:
            if name in _OWNED:
                raise ConfigError(
                    f"the librdkafka setting {name} follows {_OWNED[name]}",
                    remedy=f"Remove it, and set {_OWNED[name]}",
                    option=name,
                )
        hidden = {
            name: Secret(value) if _holds_secret(name, value) and not isinstance(value, Secret) else value
            for name, value in self.librdkafka.items()
        }
        object.__setattr__(self, "librdkafka", hidden)

    @classmethod
    def of(cls, config: KafkaConfig, librdkafka: Mapping[str, Any] | None = None) -> KafkaSink:
        """Return the sink that a changefeed's ``config`` describes.

        ``kafka-version`` and ``max-retry`` have no counterpart: librdkafka negotiates the one, and retries until the
        delivery timeout.  Raises :class:`~ticdc_emit.errors.ConfigError` for security options that librdkafka lacks.
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
        return self.acks == -1

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        if not self.idempotent:
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
        return KafkaWriter(self, message_limit if self.admin_api else None)

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
        """librdkafka settings of a writer's producer, secrets in the clear.

        To a topic a batch of messages is one message, so ``message_limit`` bounds it.
        """
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
            "compression.type": self.compression,
            "message.max.bytes": message_max,
            # The writer gives up when nothing moves; a message that waits its turn in a moving queue must not expire.
            "message.timeout.ms": 0,
        }


def _holds_secret(name: str, value: object) -> bool:
    """Return whether a librdkafka setting is a secret, or has one in its text, like ``sasl.oauthbearer.config``."""
    return is_sensitive_name(name) or "oauthbearer.config" in name or mask_text(str(value)) != str(value)


def _require_client() -> None:
    try:
        import confluent_kafka  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("Kafka sinks need confluent-kafka", extra="kafka") from error
