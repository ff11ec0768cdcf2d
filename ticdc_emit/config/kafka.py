"""``[sink.kafka-config.glue-schema-registry-config]``: the AWS Glue registry, used instead of ``schema-registry``.

Rules: ``GlueSchemaRegistryConfig.Validate`` and ``SinkConfig.validateAndAdjust`` in ``pkg/config/sink.go`` of
pingcap/tiflow.
"""

from __future__ import annotations

import base64
import binascii
import re

from ticdc_emit.config.document import GoSyntaxError, Section, parse_bool, refused, warn_of_option
from ticdc_emit.config.lineages import OptionSwitches
from ticdc_emit.config.options import (
    DEFAULT_MAX_MESSAGE_BYTES,
    DEFAULT_PARTITION_NUM,
    GlueSchemaRegistry,
    GssapiConfig,
    KafkaConfig,
    LargeMessageHandle,
    OAuthConfig,
    SaslConfig,
    TlsConfig,
)
from ticdc_emit.config.protocols import WRITTEN, Availability, Protocol
from ticdc_emit.config.secrets import Secret
from ticdc_emit.config.uri import MergedOptions, SinkUri, UriParameters
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import did_you_mean

__all__ = ["build_embedded", "build_kafka", "read_glue", "read_large_message_handle"]


# TiCDC's text, without the spaces that a reader would expect.
_TWO_REGISTRIES = (
    "invalid replica config, schema-registry and glue-schema-registry-configcannot be set at the same time,"
    "schema-registry is used by confluent schema registry, "
    "glue-schema-registry-config is used by aws glue schema registry"
)


def read_glue(sink: Section, kafka: Section | None) -> GlueSchemaRegistry | None:
    """``[sink.kafka-config.glue-schema-registry-config]``, None where it is absent."""
    table = kafka.table("glue-schema-registry-config") if kafka else None
    if table is None:
        return None
    if sink.text("schema-registry") is not None:
        raise refused("ErrInvalidReplicaConfig", _TWO_REGISTRIES, option="schema-registry", remedy="Remove one of them")
    name, region = table.text("registry-name") or "", table.text("region") or ""
    access, secret, token = table.text("access-key"), table.text("secret-access-key"), table.text("token")
    cause, option = "", ""
    if not name:
        cause, option = "registry-name is empty, is must be set", "registry-name"
    elif not region:
        cause, option = "region is empty, is must be set", "region"
    elif access and not secret:
        cause = "access-key is set, but access-key-secret is empty, they must be set together"
        option = "secret-access-key"
    if cause:
        raise refused("ErrInvalidGlueSchemaRegistryConfig", cause, option=option, remedy=f"Set {option}")
    return GlueSchemaRegistry(name, region, *(Secret(text) if text else None for text in (access, secret, token)))


_MESSAGE_COMPRESSIONS = frozenset({"none", "snappy", "lz4"})


def read_large_message_handle(
    uri: UriParameters, kafka: Section | None, protocol: Protocol, switches: OptionSwitches
) -> LargeMessageHandle:
    """``[sink.kafka-config.large-message-handle]``, refused where TiCDC refuses it.

    As in the reference, the TiDB extension counts here only if the URI switches it on.
    """
    table = kafka.table("large-message-handle") if kafka else None
    if table is None:
        return LargeMessageHandle()
    storage = table.text("claim-check-storage-uri")
    handle = LargeMessageHandle(
        option=table.text("large-message-handle-option") or "none",
        compression=table.text("large-message-handle-compression") or "none",
        claim_check_storage_uri=Secret(storage) if storage else None,
        claim_check_raw_value=bool(table.boolean("claim-check-raw-value")),
    )
    extension = _uri_extension(uri)
    if handle.compression not in _MESSAGE_COMPRESSIONS:
        raise _replica_refused(
            f"large message handle compression is not supported, got {handle.compression}",
            "large-message-handle-compression",
            "Use none, snappy or lz4",
        )
    if handle.disabled:
        return handle
    option = "large-message-handle-option"
    if switches.large_message_options == "known" and not (handle.claim_check or handle.handle_key_only):
        raise _replica_refused(
            f"unknown large-message-handle-option {handle.option}", option, "Use none, claim-check or handle-key-only"
        )
    setting = f"large message handle is set to {handle.option}, protocol is {protocol}"
    traits = protocol.traits
    if traits.large_messages is Availability.NEVER:
        handling = [each.value for each in WRITTEN if each.traits.large_messages is not Availability.NEVER]
        raise _replica_refused(f"{setting}, it's not supported", option, f"Remove it, or use {' or '.join(handling)}")
    if not traits.large_messages.holds(extension=extension):
        raise _replica_refused(
            f"{setting}, but enable-tidb-extension is false", option, "Add enable-tidb-extension=true to the sink URI"
        )
    if handle.claim_check and not storage:
        raise _replica_refused(
            "large message handle is set to claim-check, but the claim-check-storage-uri is empty",
            "claim-check-storage-uri",
            "Set claim-check-storage-uri",
        )
    if handle.claim_check and handle.claim_check_raw_value and not traits.raw_claims:
        raise _replica_refused(
            f"large message handle is set to claim-check, raw value is not supported for the "
            f"{protocol.value.removesuffix('-protocol')} protocol",
            "claim-check-raw-value",
        )
    return handle


def _uri_extension(uri: UriParameters) -> bool:
    text = uri.text("enable-tidb-extension")
    if not text:
        return False
    try:
        return parse_bool(text)
    except GoSyntaxError as error:
        # the only refusal for which TiCDC gives no error code
        raise ConfigError(str(error), remedy="Give true or false", option="enable-tidb-extension") from None


def _replica_refused(cause: str, option: str, remedy: str = "") -> ConfigError:
    return refused("ErrInvalidReplicaConfig", cause, option=option, remedy=remedy)


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
