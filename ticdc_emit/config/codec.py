"""Make a validated :class:`CodecConfig` from URI parameters and the ``[sink]`` table.

The rules and the order of the checks come from ``pkg/sink/codec/common/config.go`` of pingcap/tiflow.  Every refusal
has TiCDC's own text.
"""

from __future__ import annotations

from ticdc_emit.config.document import Section, refused, warn_of_option
from ticdc_emit.config.lineages import OptionSwitches
from ticdc_emit.config.options import CodecConfig, GlueSchemaRegistry, LargeMessageHandle
from ticdc_emit.config.protocols import Protocol
from ticdc_emit.config.secrets import Secret
from ticdc_emit.config.uri import MergedOptions, UriParameters
from ticdc_emit.errors import ConfigError

__all__ = ["build_codec"]


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
    traits = protocol.traits
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
    compatible = bool(from_sink.boolean("content-compatible")) and traits.content_compatible
    disable_schema = bool(from_sink.boolean("debezium-disable-schema"))
    encoding = from_codec.text("encoding-format") or _DEFAULTS.encoding_format
    delete_handle_key = bool(sink.boolean("delete-only-output-handle-key-columns"))
    # The file's content-compatible implies updated columns for every protocol, the URI's for Canal-JSON alone.
    only_updated = only_updated or compatible or bool(sink.boolean("content-compatible"))

    names_registry = registry is not None or glue is not None
    if not names_registry:
        registry = default_registry
    _refuse_force_replicate(force_replicate, protocol, large_message_handle, delete_handle_key, switches)
    if traits.encodings and encoding not in traits.encodings:
        raise _codec_refused(
            f"unsupported encoding format type: {encoding} for the {protocol} protocol",
            "encoding-format",
            f"Use {' or '.join(traits.encodings)}",
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
        encoding_format=encoding if traits.encodings else _DEFAULTS.encoding_format,
        avro_decimal_handling_mode=decimal,
        avro_bigint_unsigned_handling_mode=bigint,
        avro_enable_watermark=watermark and extension and traits.registers_schemas,
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
    _validate(config, own_registry=own_registry)
    return config


def _read_output_old_value(sink: Section, protocol: Protocol) -> bool:
    """Return the option of the protocol's own table. The other tables are read too, because TiCDC knows their
    option.
    """
    given = {}
    for name in {each.traits.old_value_table for each in Protocol} - {None}:
        table = sink.table(str(name))
        given[name] = table.boolean("output-old-value") if table else None
    return given.get(protocol.traits.old_value_table) is not False


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
    if not protocol.traits.force_replicate:
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


def _validate(config: CodecConfig, *, own_registry: bool) -> None:
    if config.enable_tidb_extension and not config.protocol.traits.extension:
        warn_of_option(f"enable-tidb-extension has no effect with the {config.protocol.value} protocol")
    if config.protocol.traits.registers_schemas:
        _validate_avro(config, own_registry=own_registry)
    if config.max_message_bytes <= 0:
        raise _codec_refused(
            f"Codec invalid config: invalid max-message-bytes {config.max_message_bytes}", "max-message-bytes"
        )
    if config.max_batch_size <= 0:
        raise _codec_refused(f"Codec invalid config: invalid max-batch-size {config.max_batch_size}", "max-batch-size")


def _validate_avro(config: CodecConfig, *, own_registry: bool) -> None:
    title = config.protocol.traits.title
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
    if config.avro_decimal_handling_mode not in ("precise", "string"):
        raise _codec_refused(
            'avro-decimal-handling-mode value could only be "string" or "precise"', "avro-decimal-handling-mode"
        )
    if config.avro_bigint_unsigned_handling_mode not in ("long", "string"):
        raise _codec_refused(
            'avro-bigint-unsigned-handling-mode value could only be "long" or "string"',
            "avro-bigint-unsigned-handling-mode",
        )
    strings = config.avro_decimal_handling_mode == config.avro_bigint_unsigned_handling_mode == "string"
    if not config.protocol.traits.row_checksums:
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
