"""The options of delivery: each with its default, its meaning and its checks.

In: the sink URI and ``[sink.kafka-config]``. Out: :class:`KafkaConfig`, or TiCDC's refusal. A new option is a field
here and its use in ``delivery/kafka.py``. Units are in the names.

Source: ``pkg/sink/kafka/options.go`` of pingcap/tiflow.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field

from ticdc_emit.config.document import Section, refused, warn_of_option
from ticdc_emit.config.secrets import Secret
from ticdc_emit.config.uri import MergedOptions, SinkUri, UriParameters
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import did_you_mean

__all__ = [
    "DEFAULT_MAX_MESSAGE_BYTES",
    "DEFAULT_PARTITION_NUM",
    "GssapiConfig",
    "KafkaConfig",
    "OAuthConfig",
    "SaslConfig",
    "TlsConfig",
    "build_embedded",
    "build_kafka",
]


DEFAULT_MAX_MESSAGE_BYTES = 10 * 1024 * 1024
DEFAULT_PARTITION_NUM = 3
"""Partitions of a topic that TiCDC creates if no count is given."""


@dataclass(frozen=True)
class TlsConfig:
    """TLS with the brokers. ``ca``, ``cert`` and ``key`` are file paths: all of them, or none."""

    enable: bool = False
    ca: str | None = None
    cert: str | None = None
    key: Secret[str] | None = None
    insecure_skip_verify: bool = False


@dataclass(frozen=True)
class GssapiConfig:
    """``sasl-gssapi-*``; ``auth_type`` is ``user`` or ``keytab``."""

    auth_type: str | None = None
    keytab_path: str | None = None
    kerberos_config_path: str | None = None
    service_name: str | None = None
    user: str | None = None
    password: Secret[str] | None = None
    realm: str | None = None
    disable_pafxfast: bool = False


@dataclass(frozen=True)
class OAuthConfig:
    """``sasl-oauth-*`` of the changefeed file; ``client_secret`` is already base64-decoded."""

    client_id: str
    client_secret: Secret[str]
    token_url: Secret[str]
    scopes: tuple[str, ...] = ()
    grant_type: str = "client_credentials"
    audience: str | None = None


@dataclass(frozen=True)
class SaslConfig:
    """SASL with the brokers. ``mechanism`` is None for no SASL, else Kafka's own name (``SCRAM-SHA-256`` ...)."""

    mechanism: str | None = None
    user: str | None = None
    password: Secret[str] | None = None
    gssapi: GssapiConfig = field(default_factory=GssapiConfig)
    oauth: OAuthConfig | None = None


@dataclass(frozen=True)
class KafkaConfig:
    """The options of delivery. Embedded sinks use only ``topic``, ``partition_num`` and ``max_message_bytes``."""

    brokers: tuple[str, ...] = ()
    topic: str = ""
    """The default topic, for events without a dispatcher."""
    partition_num: int | None = None
    """None: as many as the topic has, or ``DEFAULT_PARTITION_NUM`` for a new topic."""
    replication_factor: int = 1
    required_acks: int = -1
    """-1 all in-sync replicas, 1 the leader, 0 none."""
    compression: str = "none"
    kafka_version: str | None = None
    kafka_client_id: str = "ticdc-emit"
    auto_create_topic: bool = True
    max_retry: int = 5
    dial_timeout_ms: int = 10_000
    write_timeout_ms: int = 10_000
    read_timeout_ms: int = 10_000
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    tls: TlsConfig = field(default_factory=TlsConfig)
    sasl: SaslConfig = field(default_factory=SaslConfig)


_DEFAULTS = KafkaConfig()
_MOST_PARTITIONS = 1_000_000
"""TiCDC leaves the refusal to Kafka. An embedded sink would make them, and every watermark goes to each."""
_CLIENT_ID = re.compile(r"[A-Za-z0-9._-]+\Z")
_COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER")


def build_embedded(sink_uri: SinkUri, uri: UriParameters, table: Section) -> KafkaConfig:
    """Return what an embedded sink needs: its topic, the partition count and the size limit."""
    uri.text("topic")
    options = MergedOptions(uri, table)
    return KafkaConfig(
        topic=sink_uri.topic,
        partition_num=_partition_num(options) or DEFAULT_PARTITION_NUM,
        max_message_bytes=_max_message_bytes(options),
    )


def build_kafka(sink_uri: SinkUri, uri: UriParameters, table: Section) -> KafkaConfig:
    """Bind, merge and validate."""
    options = MergedOptions(uri, table)
    partition_num = _partition_num(options)
    max_retry = uri.integer("max-retry")
    client_id = options.text("kafka-client-id") or _DEFAULTS.kafka_client_id
    if not _CLIENT_ID.match(client_id):
        raise refused(
            "ErrKafkaInvalidClientID",
            f"invalid kafka client ID '{client_id}'",
            option="kafka-client-id",
            remedy="Use letters, digits, '.', '_' and '-'",
        )
    return KafkaConfig(
        brokers=sink_uri.hosts,
        topic=sink_uri.topic,
        partition_num=partition_num,
        replication_factor=options.integer_or("replication-factor", _DEFAULTS.replication_factor, 16),
        kafka_version=options.text("kafka-version"),
        max_message_bytes=_max_message_bytes(options),
        max_retry=_DEFAULTS.max_retry if max_retry is None or max_retry < 0 else max_retry,
        compression=_compression(options.text("compression")),
        kafka_client_id=client_id,
        auto_create_topic=options.boolean("auto-create-topic") is not False,
        dial_timeout_ms=options.duration_ms("dial-timeout", _DEFAULTS.dial_timeout_ms),
        write_timeout_ms=options.duration_ms("write-timeout", _DEFAULTS.write_timeout_ms),
        read_timeout_ms=options.duration_ms("read-timeout", _DEFAULTS.read_timeout_ms),
        required_acks=_required_acks(options),
        sasl=_sasl(options, table),
        tls=_tls(options, sink_uri),
    )


def _partition_num(options: MergedOptions) -> int | None:
    number = options.integer("partition-num", 32)
    if number is not None and number <= 0:
        raise refused(
            "ErrKafkaInvalidPartitionNum",
            f"invalid partition num {number}",
            option="partition-num",
            remedy="Give 1 or more",
        )
    if number is not None and number > _MOST_PARTITIONS:
        raise ConfigError(
            f"partition-num is {number}; a Kafka cluster does not hold that many partitions",
            remedy=f"Give {_MOST_PARTITIONS} or less.",
            option="partition-num",
        )
    return number


def _max_message_bytes(options: MergedOptions) -> int:
    return options.integer_or("max-message-bytes", DEFAULT_MAX_MESSAGE_BYTES)


def _compression(text: str | None) -> str:
    name = (_DEFAULTS.compression if text is None else text).strip().lower()
    if name in _COMPRESSIONS:
        return name
    hint = did_you_mean(name, _COMPRESSIONS) or f"Use one of: {', '.join(_COMPRESSIONS)}"
    warn_of_option(f"The compression {text!r} is unknown: messages are not compressed, as in TiCDC. {hint.strip()}")
    return "none"


def _required_acks(options: MergedOptions) -> int:
    acks = options.integer_or("required-acks", _DEFAULTS.required_acks)
    if acks not in (-1, 0, 1):
        raise refused(
            "ErrKafkaInvalidRequiredAcks",
            f"invalid required acks {acks}, "
            "only support these values: 0(NoResponse),1(WaitForLocal) and -1(WaitForAll)",
            option="required-acks",
            remedy="Give -1, 0 or 1",
        )
    return acks


def _tls(options: MergedOptions, sink_uri: SinkUri) -> TlsConfig:
    files = [options.text(name) for name in ("ca", "cert", "key")]
    enable = options.boolean("enable-tls")
    skip_verify = bool(options.boolean("insecure-skip-verify"))
    if any(files) and not all(files):
        raise _kafka_refused(
            "kafka config invalid: ca, cert and key files should all be supplied", "ca", "Give all three"
        )
    if all(files) and enable is False:
        raise _kafka_refused(
            "kafka config invalid: credential files are supplied, but 'enable-tls' is set to false",
            "enable-tls",
            "Remove it, or remove ca, cert and key",
        )
    enabled = all(files) if enable is None else enable
    if sink_uri.scheme == "kafka+ssl" and not enabled:
        warn_of_option("kafka+ssl:// does not switch TLS on by itself; add enable-tls=true to the sink URI")
    ca, cert, key = files
    return TlsConfig(enabled, ca, cert, Secret(key) if key else None, enabled and skip_verify)


def _sasl(options: MergedOptions, table: Section) -> SaslConfig:
    mechanism = options.text("sasl-mechanism")
    if mechanism is not None:
        known = next((name for name in _MECHANISMS if name == mechanism.upper()), None)
        if known is None:
            raise _kafka_refused(
                f"kafka config invalid: unknown {mechanism} SASL mechanism",
                "sasl-mechanism",
                f"Use one of: {', '.join(_MECHANISMS)}",
            )
        mechanism = known
    return SaslConfig(
        mechanism=mechanism,
        user=options.text("sasl-user"),
        password=options.secret("sasl-password"),
        gssapi=_gssapi(options),
        oauth=_oauth(table, mechanism),
    )


def _gssapi(options: MergedOptions) -> GssapiConfig:
    auth_type = options.text("sasl-gssapi-auth-type")
    if auth_type is not None and auth_type.lower() not in ("user", "keytab"):
        raise _kafka_refused(
            f"kafka config invalid: unknown {auth_type} auth type", "sasl-gssapi-auth-type", "Use user or keytab"
        )
    return GssapiConfig(
        auth_type=auth_type.lower() if auth_type else None,
        keytab_path=options.text("sasl-gssapi-keytab-path"),
        kerberos_config_path=options.text("sasl-gssapi-kerberos-config-path"),
        service_name=options.text("sasl-gssapi-service-name"),
        user=options.text("sasl-gssapi-user"),
        password=options.secret("sasl-gssapi-password"),
        realm=options.text("sasl-gssapi-realm"),
        disable_pafxfast=bool(options.boolean("sasl-gssapi-disable-pafxfast")),
    )


def _oauth(table: Section, mechanism: str | None) -> OAuthConfig | None:
    client_id = _present(table, "sasl-oauth-client-id", "OAuth2 client ID cannot be empty")
    encoded = _present(table, "sasl-oauth-client-secret", "OAuth2 client secret cannot be empty")
    client_secret = _decode_client_secret(encoded) if encoded is not None else None
    token_url = _present(table, "sasl-oauth-token-url", "OAuth2 token URL cannot be empty")
    scopes = table.texts("sasl-oauth-scopes") or ()
    grant_type = table.text("sasl-oauth-grant-type")
    audience = table.text("sasl-oauth-audience")
    if not (client_id or client_secret or token_url):
        return None
    if mechanism != "OAUTHBEARER":
        raise _kafka_refused(
            f"OAuth2 is only supported with SASL mechanism type OAUTHBEARER, but got {mechanism or ''}",
            "sasl-mechanism",
            "Set sasl-mechanism=OAUTHBEARER",
        )
    if not client_id:
        raise _kafka_refused("kafka config invalid: OAuth2 client id is empty", "sasl-oauth-client-id", "Set it")
    if not client_secret:
        raise _kafka_refused(
            "kafka config invalid: OAuth2 client secret is empty", "sasl-oauth-client-secret", "Set it"
        )
    if not token_url:
        raise _kafka_refused("kafka config invalid: OAuth2 token url is empty", "sasl-oauth-token-url", "Set it")
    grant_type = OAuthConfig.grant_type if grant_type is None else grant_type
    return OAuthConfig(client_id, Secret(client_secret), Secret(token_url), scopes, grant_type, audience)


def _present(table: Section, name: str, cause: str) -> str | None:
    text = table.text(name)
    if text == "":
        raise _kafka_refused(cause, name, "Set it, or remove it")
    return text


def _decode_client_secret(encoded: str) -> str:
    try:
        # Go's decoder skips line breaks and nothing else.
        plain = base64.b64decode(encoded.replace("\r", "").replace("\n", ""), validate=True)
        return plain.decode("utf-8")
    except (binascii.Error, ValueError):
        raise _kafka_refused(
            "OAuth2 client secret is not base64 encoded", "sasl-oauth-client-secret", "Encode it in base64"
        ) from None


def _kafka_refused(cause: str, option: str, remedy: str) -> ConfigError:
    return refused("ErrKafkaInvalidConfig", cause, option=option, remedy=remedy)
