"""The options of delivery: each with its default, its meaning and its checks. Units are in the names.

A new option is a field here and its use in ``delivery/kafka.py``. Source: pingcap/tiflow ``pkg/sink/kafka/options.go``.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import Any

from ticdc_emit.config.binding import KAFKA_TABLE, UriParameters, declare, read_options
from ticdc_emit.config.document import GoSyntaxError, Section, parse_duration_ms, quote, refused, warn_of_option
from ticdc_emit.config.secrets import Secret
from ticdc_emit.config.switches import OptionSwitches
from ticdc_emit.config.uri import SinkUri
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import did_you_mean, hold_names

DEFAULT_MAX_MESSAGE_BYTES = 10 * 1024 * 1024
DEFAULT_PARTITION_NUM = 3
"""Partitions of a topic that TiCDC creates if no count is given."""
_MOST_PARTITIONS = 1_000_000
"""TiCDC leaves the refusal to Kafka. An embedded sink would make them, and every watermark goes to each."""
_VERSION = re.compile(r"0(?:\.[0-9]+){3}|[1-9][0-9]*(?:\.[0-9]+){2}")
_CLIENT_ID = re.compile(r"[A-Za-z0-9._-]+\Z")
_COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER")


def _kafka_refused(cause: str, option: str, remedy: str) -> ConfigError:
    return refused("ErrKafkaInvalidConfig", cause, option=option, remedy=remedy)


def _own_refused(own: str, cause: str, option: str, remedy: str, switches: OptionSwitches) -> ConfigError:
    """Return the refusal of an option that has a code of its own in some releases."""
    code = own if switches.bad_delivery == "own-codes" else "ErrKafkaInvalidConfig"
    return refused(code, cause, option=option, remedy=remedy)


def _wrapped_refused(cause: str, option: str, remedy: str, switches: OptionSwitches) -> ConfigError:
    """Return the refusal of an option whose cause some releases wrap into a text of the code."""
    wrapped = f"kafka config invalid: {cause}" if switches.bad_delivery == "own-codes" else cause
    return _kafka_refused(wrapped, option, remedy)


def _check_partition_num(number: int, switches: OptionSwitches) -> int:
    if number <= 0:
        cause = f"invalid partition num {number}"
        raise _own_refused("ErrKafkaInvalidPartitionNum", cause, "partition-num", "Give 1 or more", switches)
    if number > _MOST_PARTITIONS:
        raise ConfigError(
            f"partition-num is {number}; a Kafka cluster does not hold that many partitions",
            remedy=f"Give {_MOST_PARTITIONS} or less.",
            option="partition-num",
        )
    return number


def _check_replication_factor(number: int, switches: OptionSwitches) -> int:
    if number <= 0 and switches.zero_delivery == "refused":
        raise _kafka_refused(f"invalid replication-factor {number}", "replication-factor", "Give 1 or more")
    return number


def _check_version(text: str, switches: OptionSwitches) -> str:
    if not _VERSION.fullmatch(text):
        what = "invalid kafka version" if switches.bad_delivery == "own-codes" else "kafka config invalid"
        cause, remedy = f"{what}: invalid version `{text}`", "Give a version such as 2.4.0"
        raise _own_refused("ErrKafkaInvalidVersion", cause, "kafka-version", remedy, switches)
    return text


def _check_client_id(text: str, switches: OptionSwitches) -> str:
    if not _CLIENT_ID.match(text):
        quoted = f"'{text}'" if switches.bad_delivery == "own-codes" else quote(text)
        cause = f"invalid kafka client ID {quoted}"
        remedy = "Use letters, digits, '.', '_' and '-'"
        raise _own_refused("ErrKafkaInvalidClientID", cause, "kafka-client-id", remedy, switches)
    return text


def _parse_compression(text: str, switches: OptionSwitches) -> str:
    name = text.strip().lower()
    if name in _COMPRESSIONS:
        return name
    hint = did_you_mean(name, _COMPRESSIONS) or f"Use one of: {', '.join(_COMPRESSIONS)}"
    warn_of_option(f"The compression {text!r} is unknown: messages are not compressed, as in TiCDC. {hint.strip()}")
    return "none"


def _check_acks(acks: int, switches: OptionSwitches) -> int:
    if acks not in (-1, 0, 1):
        comma = "," if switches.bad_delivery == "own-codes" else ", "
        cause = (
            f"invalid required acks {acks}, "
            f"only support these values: 0(NoResponse){comma}1(WaitForLocal) and -1(WaitForAll)"
        )
        raise _own_refused("ErrKafkaInvalidRequiredAcks", cause, "required-acks", "Give -1, 0 or 1", switches)
    return acks


def _declare_timeout(key: str) -> int:
    def parse(text: str, switches: OptionSwitches) -> int:
        remedy = "Write a duration such as 10s"
        try:
            duration = parse_duration_ms(text)
        except GoSyntaxError as error:
            if switches.bad_delivery == "own-codes":  # here, without any
                raise ConfigError(str(error), option=key, remedy=remedy) from None
            raise _kafka_refused(f"kafka config invalid: {error}", key, remedy) from None
        positive = not text.startswith("-") and any(digit in text for digit in "123456789")
        if not positive and switches.zero_delivery == "refused":
            raise _kafka_refused(f"{key} must be greater than zero", key, remedy)
        return duration

    return declare(10_000, key, KAFKA_TABLE, kind=str, parse=parse)


def _parse_mechanism(text: str, switches: OptionSwitches) -> str:
    if text.upper() not in _MECHANISMS:
        cause, remedy = _unknown(text, "SASL mechanism", switches), f"Use one of: {', '.join(_MECHANISMS)}"
        raise _wrapped_refused(cause, "sasl-mechanism", remedy, switches)
    return text.upper()


def _parse_auth_type(text: str, switches: OptionSwitches) -> str:
    if text.lower() not in ("user", "keytab"):
        cause = _unknown(text, "auth type", switches)
        raise _wrapped_refused(cause, "sasl-gssapi-auth-type", "Use user or keytab", switches)
    return text.lower()


def _unknown(text: str, what: str, switches: OptionSwitches) -> str:
    return f"unknown {text} {what}" if switches.bad_delivery == "own-codes" else f"unknown {what}: {text}"


@dataclass(frozen=True)
class TlsConfig:
    """TLS with the brokers. ``ca``, ``cert`` and ``key`` are file paths: all of them, or none."""

    enable: bool = declare(False, "enable-tls", KAFKA_TABLE, reader="kafka")
    ca: str | None = declare(None, "ca", KAFKA_TABLE, kind=str)
    cert: str | None = declare(None, "cert", KAFKA_TABLE, kind=str)
    key: Secret[str] | None = declare(None, "key", KAFKA_TABLE, kind=Secret)
    insecure_skip_verify: bool = declare(False, "insecure-skip-verify", KAFKA_TABLE, reader="kafka")


@dataclass(frozen=True)
class GssapiConfig:
    """``sasl-gssapi-*``; ``auth_type`` is ``user`` or ``keytab``."""

    auth_type: str | None = declare(None, "sasl-gssapi-auth-type", KAFKA_TABLE, kind=str, parse=_parse_auth_type)
    keytab_path: str | None = declare(None, "sasl-gssapi-keytab-path", KAFKA_TABLE, kind=str)
    kerberos_config_path: str | None = declare(None, "sasl-gssapi-kerberos-config-path", KAFKA_TABLE, kind=str)
    service_name: str | None = declare(None, "sasl-gssapi-service-name", KAFKA_TABLE, kind=str)
    user: str | None = declare(None, "sasl-gssapi-user", KAFKA_TABLE, kind=str)
    password: Secret[str] | None = declare(None, "sasl-gssapi-password", KAFKA_TABLE, kind=Secret)
    realm: str | None = declare(None, "sasl-gssapi-realm", KAFKA_TABLE, kind=str)
    disable_pafxfast: bool = declare(False, "sasl-gssapi-disable-pafxfast", KAFKA_TABLE, reader="kafka")


@dataclass(frozen=True)
class OAuthConfig:
    """``sasl-oauth-*`` of the changefeed file; ``client_secret`` is already base64-decoded."""

    client_id: str
    client_secret: Secret[str]
    token_url: Secret[str]
    scopes: tuple[str, ...] = ()
    grant_type: str = "client_credentials"
    audience: str | None = None

    def __post_init__(self) -> None:
        hold_names(self, "scopes")


@dataclass(frozen=True)
class SaslConfig:
    """SASL with the brokers. ``mechanism`` is None for no SASL, else Kafka's own name (``SCRAM-SHA-256`` ...)."""

    mechanism: str | None = declare(None, "sasl-mechanism", KAFKA_TABLE, kind=str, parse=_parse_mechanism)
    user: str | None = declare(None, "sasl-user", KAFKA_TABLE, kind=str)
    password: Secret[str] | None = declare(None, "sasl-password", KAFKA_TABLE, kind=Secret)
    gssapi: GssapiConfig = field(default_factory=GssapiConfig)
    oauth: OAuthConfig | None = None


@dataclass(frozen=True)
class KafkaConfig:
    """The options of delivery, in the order in which TiCDC checks them.

    Embedded sinks use only ``topic``, ``partition_num`` and ``max_message_bytes``.
    """

    brokers: tuple[str, ...] = ()
    topic: str = ""
    """The default topic, for events without a dispatcher."""
    partition_num: int | None = declare(
        None, "partition-num", KAFKA_TABLE, kind=int, bits=32, reader="kafka", parse=_check_partition_num
    )
    """None: as many as the topic has, or ``DEFAULT_PARTITION_NUM`` for a new topic."""
    replication_factor: int = declare(
        1, "replication-factor", KAFKA_TABLE, bits=16, reader="kafka", parse=_check_replication_factor
    )
    max_message_bytes: int = declare(DEFAULT_MAX_MESSAGE_BYTES, "max-message-bytes", KAFKA_TABLE)
    """An option of the encoders too, and refused as such."""
    max_retry: int = declare(5, "max-retry", reader="kafka", parse=lambda retries, _: 5 if retries < 0 else retries)
    compression: str = declare("none", "compression", KAFKA_TABLE, parse=_parse_compression)
    kafka_client_id: str = declare("ticdc-emit", "kafka-client-id", KAFKA_TABLE, parse=_check_client_id)
    auto_create_topic: bool = declare(True, "auto-create-topic", KAFKA_TABLE, reader="kafka")
    dial_timeout_ms: int = _declare_timeout("dial-timeout")
    write_timeout_ms: int = _declare_timeout("write-timeout")
    read_timeout_ms: int = _declare_timeout("read-timeout")
    required_acks: int = declare(-1, "required-acks", KAFKA_TABLE, reader="kafka", parse=_check_acks)
    """-1 all in-sync replicas, 1 the leader, 0 none."""
    kafka_version: str | None = declare(None, "kafka-version", KAFKA_TABLE, kind=str, parse=_check_version)
    tls: TlsConfig = field(default_factory=TlsConfig)
    sasl: SaslConfig = field(default_factory=SaslConfig)

    def __post_init__(self) -> None:
        hold_names(self, "brokers")


def build_embedded(sink_uri: SinkUri, uri: UriParameters, root: Section) -> KafkaConfig:
    """Return what an embedded sink needs: its topic, the partition count and the size limit."""
    uri.text("topic")
    if sink_uri.scheme == "stdout":
        uri.text("framing")
    given: dict[str, Any] = {"partition_num": DEFAULT_PARTITION_NUM}
    given |= read_options(KafkaConfig, uri, root, only=("partition_num", "max_message_bytes"))
    return KafkaConfig(topic=sink_uri.topic, **given)


def build_stored(sink_uri: SinkUri) -> KafkaConfig:
    """Return what the pipeline needs of a storage sink, which has no topics: one topic with one partition."""
    return KafkaConfig(topic=sink_uri.topic, partition_num=1)


def build_kafka(sink_uri: SinkUri, uri: UriParameters, root: Section) -> KafkaConfig:
    given = read_options(KafkaConfig, uri, root)
    sasl, tls = _build_sasl(uri, root), _build_tls(sink_uri, uri, root)
    return KafkaConfig(brokers=sink_uri.hosts, topic=sink_uri.topic, sasl=sasl, tls=tls, **given)


def _build_tls(sink_uri: SinkUri, uri: UriParameters, root: Section) -> TlsConfig:
    given = read_options(TlsConfig, uri, root)
    files, enable = [name in given for name in ("ca", "cert", "key")], given.get("enable")
    if any(files) and not all(files):
        cause = "ca, cert and key files should all be supplied"
        raise _wrapped_refused(cause, "ca", "Give all three", uri.switches)
    if all(files) and enable is False:
        cause = "credential files are supplied, but 'enable-tls' is set to false"
        raise _wrapped_refused(cause, "enable-tls", "Remove it, or remove ca, cert and key", uri.switches)
    enabled = all(files) if enable is None else bool(enable)
    if sink_uri.scheme == "kafka+ssl" and not enabled:
        warn_of_option("kafka+ssl:// does not switch TLS on by itself; add enable-tls=true to the sink URI")
    skip_verify = enabled and given.get("insecure_skip_verify", False)
    return TlsConfig(**given | {"enable": enabled, "insecure_skip_verify": skip_verify})


def _build_sasl(uri: UriParameters, root: Section) -> SaslConfig:
    given = read_options(SaslConfig, uri, root)
    gssapi = GssapiConfig(**read_options(GssapiConfig, uri, root))
    oauth = _read_oauth(root.at(KAFKA_TABLE), given.get("mechanism"), uri.switches)
    return SaslConfig(gssapi=gssapi, oauth=oauth, **given)


def _read_oauth(table: Section, mechanism: str | None, switches: OptionSwitches) -> OAuthConfig | None:
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
        raise _wrapped_refused("OAuth2 client id is empty", "sasl-oauth-client-id", "Set it", switches)
    if not client_secret:
        raise _wrapped_refused("OAuth2 client secret is empty", "sasl-oauth-client-secret", "Set it", switches)
    if not token_url:
        raise _wrapped_refused("OAuth2 token url is empty", "sasl-oauth-token-url", "Set it", switches)
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
