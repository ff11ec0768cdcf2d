"""The configuration of a changefeed as frozen records: what PLAN, ENCODE and DELIVER read.

Only :func:`ticdc_emit.config.load_changefeed` builds them, validated. Every record is hashable and pickles.  Field
names are TiCDC's option names in snake_case, units are in the name or the comment.  Sources: ``pkg/config/sink.go``,
``pkg/sink/codec/common/config.go`` and ``pkg/sink/kafka/options.go`` of pingcap/tiflow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as Choice

from ticdc_emit.config.lineages import CLASSIC, Profile
from ticdc_emit.config.protocols import Protocol, form_of
from ticdc_emit.config.secrets import Secret
from ticdc_emit.config.uri import SinkUri

__all__ = [
    "DEFAULT_MAX_MESSAGE_BYTES",
    "DEFAULT_PARTITION_NUM",
    "DISPATCHER_NAMES",
    "ChangefeedConfig",
    "CodecConfig",
    "ColumnSelector",
    "DispatchRule",
    "GlueSchemaRegistry",
    "GssapiConfig",
    "Integrity",
    "KafkaConfig",
    "LargeMessageHandle",
    "OAuthConfig",
    "SaslConfig",
    "TlsConfig",
]

DEFAULT_MAX_MESSAGE_BYTES = 10 * 1024 * 1024
DEFAULT_PARTITION_NUM = 3
"""Partitions of a topic that TiCDC creates if no count is given."""

DISPATCHER_NAMES = ("default", "table", "ts", "index-value", "rowid", "columns")
"""The values of a dispatcher's ``partition``, in any case. TiCDC treats any other value as ``table``."""


@dataclass(frozen=True)
class LargeMessageHandle:
    """``[sink.kafka-config.large-message-handle]``.

    An ``option`` that TiCDC does not know is kept: TiCDC then handles large messages in neither way.
    """

    option: str = "none"
    compression: str = "none"
    claim_check_storage_uri: Secret[str] | None = None
    claim_check_raw_value: bool = False

    @property
    def disabled(self) -> bool:
        return self.option == "none"

    @property
    def handle_key_only(self) -> bool:
        return self.option == "handle-key-only"

    @property
    def claim_check(self) -> bool:
        return self.option == "claim-check"


@dataclass(frozen=True)
class GlueSchemaRegistry:
    """``[sink.kafka-config.glue-schema-registry-config]``."""

    registry_name: str
    region: str
    access_key: Secret[str] | None = None
    secret_access_key: Secret[str] | None = None
    token: Secret[str] | None = None


@dataclass(frozen=True)
class CodecConfig:
    """The options of the encoders."""

    protocol: Protocol = Protocol.CANAL_JSON
    enable_tidb_extension: bool = False
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    max_batch_size: int = 16
    delete_only_output_handle_key_columns: bool = False
    only_output_updated_columns: bool = False
    content_compatible: bool = False
    """Canal-JSON only; implies ``only_output_updated_columns``."""
    large_message_handle: LargeMessageHandle = field(default_factory=LargeMessageHandle)
    encoding_format: str = "json"
    """``json`` or ``avro``; anything but ``json`` for the simple protocol only."""
    avro_decimal_handling_mode: str = "precise"
    avro_bigint_unsigned_handling_mode: str = "long"
    avro_enable_watermark: bool = False
    avro_include_before_value: bool = False
    output_row_key: bool = False
    """Canal-JSON with the TiDB extension only."""
    debezium_include_start_ts: bool = False
    schema_registry: Secret[str] | None = None
    glue_schema_registry: GlueSchemaRegistry | None = None
    debezium_disable_schema: bool = False
    output_old_value: bool = True
    """``[sink.debezium]`` or ``[sink.open] output-old-value``; true for a protocol that has no such option."""
    enable_row_checksum: bool = False

    @property
    def form(self) -> str:
        """One of :data:`~ticdc_emit.config.protocols.FORMS`: the protocol, with its encoding if it has several."""
        return form_of(self.protocol, self.encoding_format)

    @property
    def sends_watermarks(self) -> bool:
        """Whether rows and DDL are followed by watermarks that a consumer can wait for."""
        return self.protocol.traits.watermarks.holds(extension=self.enable_tidb_extension)

    @property
    def has_watermarks(self) -> bool:
        """Whether there are watermarks, including those of TiCDC's tests (``avro-enable-watermark``)."""
        return self.sends_watermarks or self.avro_enable_watermark


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


@dataclass(frozen=True)
class DispatchRule:
    """One ``[[sink.dispatchers]]`` entry; ``partition`` holds a deprecated ``dispatcher`` too.  Texts as given."""

    matcher: tuple[str, ...]
    topic: str = ""
    partition: str = ""
    columns: tuple[str, ...] = ()
    index: str = ""


@dataclass(frozen=True)
class ColumnSelector:
    """One ``[[sink.column-selectors]]`` entry."""

    matcher: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class EventFilter:
    """One ``[[filter.event-filters]]`` entry. Texts as given; an empty expression means no expression."""

    matcher: tuple[str, ...] = ()
    ignore_event: tuple[str, ...] = ()
    ignore_sql: tuple[str, ...] = ()
    ignore_insert_value_expr: str = ""
    ignore_update_old_value_expr: str = ""
    ignore_update_new_value_expr: str = ""
    ignore_delete_value_expr: str = ""
    ignore_update_only_columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class FilterConfig:
    """``[filter]``: which tables, DDL and rows are replicated. Without rules, all tables are replicated."""

    rules: tuple[str, ...] = ()
    ignore_txn_start_ts: tuple[int, ...] = ()
    event_filters: tuple[EventFilter, ...] = ()


@dataclass(frozen=True)
class Integrity:
    """``[integrity]``: row checksums when ``integrity_check_level`` is ``correctness``."""

    integrity_check_level: str = "none"
    corruption_handle_level: str = "warn"

    @property
    def enabled(self) -> bool:
        return self.integrity_check_level == "correctness"


@dataclass(frozen=True)
class ChangefeedConfig:
    """All options of a sink URI and a changefeed file."""

    sink_uri: SinkUri
    codec: CodecConfig
    kafka: KafkaConfig
    dispatchers: tuple[DispatchRule, ...] = ()
    column_selectors: tuple[ColumnSelector, ...] = ()
    case_sensitive: bool = False
    force_replicate: bool = False
    filter: FilterConfig = field(default_factory=FilterConfig)
    ddl_text: Choice["restored", "as-given"] = "restored"
    """DDL as TiCDC prints it, or the caller's text."""
    sql_mode: str = ""
    """The session's SQL mode, under which DDL is read."""
    bdr_mode: bool = False
    """Whether the cluster replicates in both directions, so that only the primary's DDL is sent."""
    bdr_role: Choice["", "primary", "secondary"] = ""
    """The role that ADMIN SET BDR ROLE gave the cluster."""
    integrity: Integrity = field(default_factory=Integrity)
    output_raw_change_event: bool = False
    send_bootstrap_interval_in_sec: int = 120
    send_bootstrap_in_msg_count: int = 10_000
    send_bootstrap_to_all_partition: bool = True
    send_all_bootstrap_at_start: bool = False
    bootstrap_enabled: bool = False
    """Protocol given as exactly ``simple`` (TiCDC compares the text) and both bootstrap limits above zero."""
    time_zone: str = "UTC"
    """IANA name of the zone in which TIMESTAMP values are written."""
    cluster_id: str = "default"
    profile: Profile = CLASSIC
