"""The options of the encoders: each with its default, its meaning and its checks.

In: the sink URI and the ``[sink]`` table. Out: :class:`CodecConfig`, or TiCDC's refusal in its own words. Options that
one lineage lacks are switches in ``config/lineages.py``.

Source, also of the order of the checks: ``pkg/sink/codec/common/config.go`` and ``pkg/config/sink.go`` of
pingcap/tiflow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeVar, get_args

from ticdc_emit.config.document import GoSyntaxError, Section, parse_bool, refused, warn_of_option
from ticdc_emit.config.kafka import DEFAULT_MAX_MESSAGE_BYTES
from ticdc_emit.config.lineages import OptionSwitches
from ticdc_emit.config.protocols import WRITTEN, Availability, Protocol, form_of
from ticdc_emit.config.secrets import Secret
from ticdc_emit.config.uri import MergedOptions, UriParameters
from ticdc_emit.errors import ConfigError

__all__ = [
    "BigintMode",
    "CodecConfig",
    "DecimalMode",
    "GlueSchemaRegistry",
    "LargeMessageHandle",
    "build_codec",
    "read_glue",
    "read_large_message_handle",
]

DecimalMode = Literal["precise", "string"]
"""How Avro holds DECIMAL: as bytes with a scale, or as text."""
BigintMode = Literal["long", "string"]
"""How Avro holds BIGINT UNSIGNED: as a long, which wraps round, or as text."""
_Mode = TypeVar("_Mode", bound=str)


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
    avro_decimal_handling_mode: DecimalMode = "precise"
    avro_bigint_unsigned_handling_mode: BigintMode = "long"
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
        return self.protocol.spec.watermarks.holds(extension=self.enable_tidb_extension)

    @property
    def has_watermarks(self) -> bool:
        """Whether there are watermarks, including those of TiCDC's tests (``avro-enable-watermark``)."""
        return self.sends_watermarks or self.avro_enable_watermark


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
    spec = protocol.spec
    if spec.large_messages is Availability.NEVER:
        handling = [each.value for each in WRITTEN if each.spec.large_messages is not Availability.NEVER]
        raise _replica_refused(f"{setting}, it's not supported", option, f"Remove it, or use {' or '.join(handling)}")
    if not spec.large_messages.holds(extension=extension):
        raise _replica_refused(
            f"{setting}, but enable-tidb-extension is false", option, "Add enable-tidb-extension=true to the sink URI"
        )
    if handle.claim_check and not storage:
        raise _replica_refused(
            "large message handle is set to claim-check, but the claim-check-storage-uri is empty",
            "claim-check-storage-uri",
            "Set claim-check-storage-uri",
        )
    if handle.claim_check and handle.claim_check_raw_value and not spec.raw_claims:
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


_DEFAULTS = CodecConfig()


def build_codec(
    uri: UriParameters,
    sink: Section,
    *,
    protocol: Protocol,
    large_message_handle: LargeMessageHandle,
    glue: GlueSchemaRegistry | None,
    force_replicate: bool,
    row_checksum: bool,
    default_registry: str | None,
    own_registry: bool = False,
    switches: OptionSwitches = OptionSwitches(),
) -> CodecConfig:
    """Bind, merge and validate.  ``default_registry`` is used if neither input names a registry; with ``own_registry``
    none is needed.
    """
    spec = protocol.spec
    kafka = sink.table("kafka-config") or Section({}, "")
    from_sink = MergedOptions(uri, sink)
    from_kafka = MergedOptions(uri, kafka)
    from_codec = MergedOptions(uri, kafka.table("codec-config") or Section({}, ""))

    # In the order in which TiCDC binds them, so that the same one of two bad texts is refused.
    extension = bool(from_codec.boolean("enable-tidb-extension"))
    max_batch_size = from_codec.integer_or("max-batch-size", _DEFAULTS.max_batch_size)
    max_message_bytes = from_kafka.integer_or("max-message-bytes", _DEFAULTS.max_message_bytes)
    decimal = from_codec.text("avro-decimal-handling-mode") or _DEFAULTS.avro_decimal_handling_mode
    bigint = from_codec.text("avro-bigint-unsigned-handling-mode") or _DEFAULTS.avro_bigint_unsigned_handling_mode
    # Options of one lineage are read only there, so that the other one warns that it ignores them.
    before_value = switches.avro_include_before_value and bool(from_codec.boolean("avro-include-before-value"))
    row_key = switches.output_row_key and bool(uri.boolean("output-row-key"))
    start_ts = switches.debezium_include_start_ts and _read_start_ts(uri, sink)
    watermark = bool(from_codec.boolean("avro-enable-watermark"))
    registry = from_sink.text("schema-registry")
    only_updated = bool(from_sink.boolean("only-output-updated-columns"))
    compatible = bool(from_sink.boolean("content-compatible")) and spec.content_compatible
    disable_schema = bool(from_sink.boolean("debezium-disable-schema"))
    encoding = from_codec.text("encoding-format") or _DEFAULTS.encoding_format
    delete_handle_key = bool(sink.boolean("delete-only-output-handle-key-columns"))
    # The file's content-compatible implies updated columns for every protocol, the URI's for Canal-JSON alone.
    only_updated = only_updated or compatible or bool(sink.boolean("content-compatible"))

    names_registry = registry is not None or glue is not None
    if not names_registry:
        registry = default_registry
    _refuse_force_replicate(force_replicate, protocol, large_message_handle, delete_handle_key, switches)
    if spec.encodings and encoding not in spec.encodings:
        raise _codec_refused(
            f"unsupported encoding format type: {encoding} for the {protocol} protocol",
            "encoding-format",
            f"Use {' or '.join(spec.encodings)}",
        )
    config = CodecConfig(
        protocol=protocol,
        enable_tidb_extension=extension,
        max_message_bytes=max_message_bytes,
        max_batch_size=max_batch_size,
        delete_only_output_handle_key_columns=delete_handle_key,
        only_output_updated_columns=only_updated,
        content_compatible=compatible,
        large_message_handle=large_message_handle,
        encoding_format=encoding if spec.encodings else _DEFAULTS.encoding_format,
        # TiCDC looks at these texts only for Avro: _validate_avro
        avro_decimal_handling_mode=_one_of(get_args(DecimalMode), decimal),
        avro_bigint_unsigned_handling_mode=_one_of(get_args(BigintMode), bigint),
        avro_enable_watermark=watermark and extension and spec.registers_schemas,
        avro_include_before_value=before_value and protocol is Protocol.AVRO,
        output_row_key=row_key,
        debezium_include_start_ts=start_ts,
        schema_registry=Secret(registry) if registry else None,
        glue_schema_registry=glue,
        debezium_disable_schema=disable_schema,
        output_old_value=_read_output_old_value(sink, protocol),
        enable_row_checksum=row_checksum,
    )
    _validate_debezium(config, switches, names_registry=names_registry)
    _validate(config, decimal, bigint, own_registry=own_registry)
    return config


def _one_of(modes: tuple[_Mode, ...], text: str) -> _Mode:
    """Return the mode of that name, else the first one."""
    return next((mode for mode in modes if mode == text), modes[0])


def _read_output_old_value(sink: Section, protocol: Protocol) -> bool:
    """Return the option of the protocol's own table. The other tables are read too, because TiCDC knows their
    option.
    """
    given = {}
    for name in {each.spec.old_value_table for each in Protocol} - {None}:
        table = sink.table(str(name))
        given[name] = table.boolean("output-old-value") if table else None
    return given.get(protocol.spec.old_value_table) is not False


def _read_start_ts(uri: UriParameters, sink: Section) -> bool:
    """The only option for which a false in the URI counts too."""
    in_uri = uri.boolean("debezium-include-start-ts")
    table = sink.table("debezium")
    in_file = table.boolean("include-start-ts") if table else None
    return bool(in_file if in_uri is None else in_uri)


def _validate_debezium(config: CodecConfig, switches: OptionSwitches, *, names_registry: bool) -> None:
    debezium = config.protocol is Protocol.DEBEZIUM
    if debezium and names_registry and switches.debezium_registry == "refused":
        raise _codec_refused(
            'Debezium protocol does not support schema registry; use protocol "debezium-avro"', "schema-registry"
        )
    if config.debezium_include_start_ts and not debezium:
        raise _codec_refused(
            'debezium-include-start-ts only takes effect with protocol "debezium"', "debezium-include-start-ts"
        )


def _refuse_force_replicate(
    force_replicate: bool,
    protocol: Protocol,
    handle: LargeMessageHandle,
    delete_handle_key: bool,
    switches: OptionSwitches,
) -> None:
    if not force_replicate:
        return
    if not protocol.spec.force_replicate:
        cause = f"force-replicate must be disabled, when using {switches.forced_protocols} protocol"
    elif not handle.disabled and switches.forced_large_messages == "refused":
        cause = (
            "force-replicate must be disabled, when the large message handle is enabled, "
            f'large message handle: "{handle.option}"'
        )
    elif delete_handle_key:
        cause = 'force-replicate must be disabled when configuration "delete-only-output-handle-key-columns" is true.'
    else:
        return
    raise _codec_refused(cause, "force-replicate")


def _validate(config: CodecConfig, decimal_mode: str, bigint_mode: str, *, own_registry: bool) -> None:
    if config.enable_tidb_extension and not config.protocol.spec.extension:
        warn_of_option(f"enable-tidb-extension has no effect with the {config.protocol.value} protocol")
    if config.protocol.spec.registers_schemas:
        _validate_avro(config, decimal_mode, bigint_mode, own_registry=own_registry)
    if config.max_message_bytes <= 0:
        raise _codec_refused(
            f"Codec invalid config: invalid max-message-bytes {config.max_message_bytes}", "max-message-bytes"
        )
    if config.max_batch_size <= 0:
        raise _codec_refused(f"Codec invalid config: invalid max-batch-size {config.max_batch_size}", "max-batch-size")


def _validate_avro(config: CodecConfig, decimal_mode: str, bigint_mode: str, *, own_registry: bool) -> None:
    title = config.protocol.spec.title
    if config.schema_registry and config.glue_schema_registry:
        raise _codec_refused(
            f'{title} protocol requires only one of "schema-registry" or "glue-schema-registry" '
            "to specify the schema registry",
            "schema-registry",
        )
    if not (config.schema_registry or config.glue_schema_registry or own_registry):
        raise _codec_refused(
            f'{title} protocol requires parameter "schema-registry" or "glue-schema-registry" '
            "to specify the schema registry",
            "schema-registry",
            "Add schema-registry=http://host:port to the sink URI, or give registry= in Python",
        )
    if decimal_mode not in get_args(DecimalMode):
        raise _codec_refused(
            'avro-decimal-handling-mode value could only be "string" or "precise"', "avro-decimal-handling-mode"
        )
    if bigint_mode not in get_args(BigintMode):
        raise _codec_refused(
            'avro-bigint-unsigned-handling-mode value could only be "long" or "string"',
            "avro-bigint-unsigned-handling-mode",
        )
    strings = decimal_mode == bigint_mode == "string"
    if not config.protocol.spec.row_checksums:
        return
    if config.enable_row_checksum and not (config.enable_tidb_extension and strings):
        # The line break and the tabs are in TiCDC's text.
        raise _codec_refused(
            'Avro protocol with row level checksum,\n\t\t\t\t\tshould set "enable-tidb-extension" to "true", '
            'and set "avro-decimal-handling-mode" to "string" and "avro-bigint-unsigned-handling-mode" to "string"',
            "integrity-check-level",
        )


def _codec_refused(cause: str, option: str, remedy: str = "") -> ConfigError:
    return refused("ErrCodecInvalidConfig", cause, option=option, remedy=remedy)
