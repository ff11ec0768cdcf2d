"""The options of the encoders: each with its default, its meaning and its checks, in TiCDC's own words.

A new option is a field here and its use in an encoder. Source, also of the order of the checks: pingcap/tiflow
``pkg/sink/codec/common/config.go`` and ``pkg/config/sink.go``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, get_args

from ticdc_emit.config.binding import CODEC_TABLE, KAFKA_TABLE, UriParameters, declare, read_options
from ticdc_emit.config.document import GoSyntaxError, Section, parse_bool, quote, refused, warn_of_option
from ticdc_emit.config.kafka import DEFAULT_MAX_MESSAGE_BYTES
from ticdc_emit.config.protocols import WRITTEN, Availability, Protocol, form_of
from ticdc_emit.config.secrets import Secret
from ticdc_emit.config.storage import MAX_BYTES, read_terminator
from ticdc_emit.config.switches import OptionSwitches
from ticdc_emit.errors import ConfigError

_LARGE_TABLE = f"{KAFKA_TABLE}.large-message-handle"
_LARGE_OPTIONS = ("claim-check", "handle-key-only")
_GLUE_TABLE = "glue-schema-registry-config"
_MOST_DELIMITER_BYTES = 3
DecimalMode = Literal["precise", "string"]
"""How Avro holds DECIMAL: as bytes with a scale, or as text."""
BigintMode = Literal["long", "string"]
"""How Avro holds BIGINT UNSIGNED, and Debezium in JSON: as a long, which wraps round, or as text."""
DebeziumDecimalMode = Literal["double", "string"]
"""How Debezium in JSON shows DECIMAL."""
BinaryMode = Literal["base64", "bytes", "base64-url-safe", "hex"]
"""How Debezium in JSON shows binary data: as text in one of these forms, or (``bytes``) as the type of bytes, in base64
too.
"""


@dataclass(frozen=True)
class LargeMessageHandle:
    """``[sink.kafka-config.large-message-handle]``. An ``option`` that is not known (``is_known``) has no effect."""

    option: str = declare("none", "large-message-handle-option", _LARGE_TABLE, in_uri=False)
    compression: str = declare("none", "large-message-handle-compression", _LARGE_TABLE, in_uri=False)
    claim_check_storage_uri: Secret[str] | None = declare(
        None, "claim-check-storage-uri", _LARGE_TABLE, in_uri=False, kind=Secret
    )
    claim_check_raw_value: bool = declare(False, "claim-check-raw-value", _LARGE_TABLE, in_uri=False)
    is_known: bool = True

    @property
    def disabled(self) -> bool:
        return self.option == "none"

    @property
    def handle_key_only(self) -> bool:
        return self.is_known and self.option == "handle-key-only"

    @property
    def claim_check(self) -> bool:
        return self.is_known and self.option == "claim-check"


@dataclass(frozen=True)
class GlueSchemaRegistry:
    """``[sink.kafka-config.glue-schema-registry-config]``."""

    registry_name: str
    region: str
    access_key: Secret[str] | None = None
    secret_access_key: Secret[str] | None = None
    token: Secret[str] | None = None


_csv = partial(declare, table="sink.csv", in_uri=False, exact=True)
_DEBEZIUM = "sink.debezium"


@dataclass(frozen=True)
class CsvConfig:
    """``[sink.csv]``: how the rows of CSV files are written."""

    delimiter: str = _csv(",", "delimiter")
    quote: str = _csv('"', "quote")
    """One character, or "": then special characters are escaped instead."""
    null: str = _csv(r"\N", "null")
    """What is written for NULL, neither in quotes nor escaped."""
    include_commit_ts: bool = _csv(False, "include-commit-ts")
    output_old_value: bool = _csv(False, "output-old-value")
    """Whether an update becomes two lines: the old row, deleted, and the new one, inserted."""
    output_handle_key: bool = _csv(False, "output-handle-key")
    output_field_header: bool = _csv(False, "output-field-header")
    """Whether each file begins with the names of its fields."""
    binary_encoding_method: Literal["base64", "hex"] = _csv("base64", "binary-encoding-method")


@dataclass(frozen=True)
class CodecConfig:
    """The options of the encoders, in the order in which TiCDC binds them."""

    protocol: Protocol = Protocol.CANAL_JSON
    large_message_handle: LargeMessageHandle = field(default_factory=LargeMessageHandle)
    glue_schema_registry: GlueSchemaRegistry | None = None
    enable_row_checksum: bool = False
    enable_tidb_extension: bool = declare(False, "enable-tidb-extension", CODEC_TABLE)
    max_batch_size: int = declare(16, "max-batch-size", CODEC_TABLE)
    max_message_bytes: int = declare(DEFAULT_MAX_MESSAGE_BYTES, "max-message-bytes", KAFKA_TABLE)
    avro_decimal_handling_mode: DecimalMode = declare("precise", "avro-decimal-handling-mode", CODEC_TABLE)
    avro_bigint_unsigned_handling_mode: BigintMode = declare("long", "avro-bigint-unsigned-handling-mode", CODEC_TABLE)
    avro_include_before_value: bool = declare(False, "avro-include-before-value", CODEC_TABLE)
    """Avro only."""
    output_row_key: bool = declare(False, "output-row-key")
    """Canal-JSON with the TiDB extension only."""
    debezium_include_start_ts: bool = declare(
        False, "debezium-include-start-ts", _DEBEZIUM, file_key="include-start-ts", exact=True
    )
    debezium_decimal_handling_mode: DebeziumDecimalMode = declare(
        "double", "debezium-decimal-handling-mode", _DEBEZIUM, file_key="decimal-handling-mode", exact=True
    )
    debezium_bigint_unsigned_handling_mode: BigintMode = declare(
        "long",
        "debezium-bigint-unsigned-handling-mode",
        _DEBEZIUM,
        file_key="bigint-unsigned-handling-mode",
        exact=True,
    )
    debezium_binary_handling_mode: BinaryMode = declare(
        "base64", "debezium-binary-handling-mode", _DEBEZIUM, file_key="binary-handling-mode", exact=True
    )
    simple_include_start_ts: bool = declare(
        False, "simple-include-start-ts", "sink.simple", file_key="include-start-ts", exact=True
    )
    """Simple in JSON only."""
    avro_enable_watermark: bool = declare(False, "avro-enable-watermark", CODEC_TABLE)
    """Of protocols with registered schemas, with the TiDB extension only."""
    schema_registry: Secret[str] | None = declare(None, "schema-registry", "sink", kind=Secret)
    only_output_updated_columns: bool = declare(False, "only-output-updated-columns", "sink")
    content_compatible: bool = declare(False, "content-compatible", "sink")
    """Canal-JSON only; implies ``only_output_updated_columns``."""
    debezium_disable_schema: bool = declare(False, "debezium-disable-schema", "sink")
    encoding_format: str = declare("json", "encoding-format", CODEC_TABLE)
    """``json`` or ``avro``; anything but ``json`` for the simple protocol only."""
    delete_only_output_handle_key_columns: bool = declare(
        False, "delete-only-output-handle-key-columns", "sink", in_uri=False
    )
    output_old_value: bool = True
    """``[sink.debezium]`` or ``[sink.open] output-old-value``; true for a protocol that has no such option."""
    rows_only: bool = False
    """Neither DDL nor watermarks are sent: the release has none in this protocol, or rows go to files."""
    csv: CsvConfig = CsvConfig()
    terminator: str = ""
    """What follows each row in a file of a storage sink."""

    @property
    def form(self) -> str:
        """One of :data:`~ticdc_emit.config.protocols.FORMS`: the protocol, with its encoding if it has several."""
        return form_of(self.protocol, self.encoding_format)

    @property
    def sends_ddl(self) -> bool:
        """Whether DDL is sent, and not only to TiCDC's tests (``avro-enable-watermark``)."""
        return not self.rows_only and self.protocol.spec.ddl

    @property
    def sends_watermarks(self) -> bool:
        """Whether rows and DDL are followed by watermarks that a consumer can wait for."""
        return not self.rows_only and self.protocol.spec.watermarks.holds(extension=self.enable_tidb_extension)

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


def read_glue(root: Section) -> GlueSchemaRegistry | None:
    """``[sink.kafka-config.glue-schema-registry-config]``, None where it is absent."""
    table = root.at(KAFKA_TABLE).table(_GLUE_TABLE)
    if table is None:
        return None
    if root.at("sink").text("schema-registry") is not None:
        raise refused("ErrInvalidReplicaConfig", _TWO_REGISTRIES, option="schema-registry", remedy="Remove one of them")
    name, region = table.text("registry-name") or "", table.text("region") or ""
    access, secret, token = table.text("access-key"), table.text("secret-access-key"), table.text("token")
    pair = "access-key is set, but access-key-secret is empty, they must be set together"
    for fails, option, cause in (
        (not name, "registry-name", "registry-name is empty, is must be set"),
        (not region, "region", "region is empty, is must be set"),
        (access and not secret, "secret-access-key", pair),
    ):
        if fails:
            raise refused("ErrInvalidGlueSchemaRegistryConfig", cause, option=option, remedy=f"Set {option}")
    return GlueSchemaRegistry(name, region, *(Secret(text) if text else None for text in (access, secret, token)))


_MESSAGE_COMPRESSIONS = frozenset({"none", "snappy", "lz4"})


def read_large_message_handle(
    uri: UriParameters, root: Section, protocol: Protocol, switches: OptionSwitches
) -> LargeMessageHandle:
    """Read ``[sink.kafka-config.large-message-handle]``; as in TiCDC, the TiDB extension counts only in the URI."""
    if root.at(KAFKA_TABLE).table("large-message-handle") is None:
        return LargeMessageHandle()
    handle = LargeMessageHandle(**read_options(LargeMessageHandle, None, root))
    extension = _uri_extension(uri)
    if handle.compression not in _MESSAGE_COMPRESSIONS:
        raise _replica_refused(
            f"large message handle compression is not supported, got {handle.compression}",
            "large-message-handle-compression",
            "Use none, snappy or lz4",
        )
    if handle.disabled:
        return handle
    key = "large-message-handle-option"
    if handle.option not in _LARGE_OPTIONS:
        handle = replace(handle, is_known=False)
    if not handle.is_known and switches.other_large_message_options == "refused":
        raise _replica_refused(
            f"unknown large-message-handle-option {handle.option}", key, "Use none, claim-check or handle-key-only"
        )
    setting = f"large message handle is set to {handle.option}, protocol is {protocol}"
    spec = protocol.spec
    if spec.large_messages is Availability.NEVER:
        handling = [each.value for each in WRITTEN if each.spec.large_messages is not Availability.NEVER]
        raise _replica_refused(f"{setting}, it's not supported", key, f"Remove it, or use {' or '.join(handling)}")
    if not spec.large_messages.holds(extension=extension):
        raise _replica_refused(
            f"{setting}, but enable-tidb-extension is false", key, "Add enable-tidb-extension=true to the sink URI"
        )
    if handle.claim_check and not handle.claim_check_storage_uri:
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


def build_codec(
    uri: UriParameters,
    root: Section,
    *,
    protocol: Protocol,
    large_message_handle: LargeMessageHandle,
    glue: GlueSchemaRegistry | None,
    force_replicate: bool,
    row_checksum: bool,
    default_registry: str | None,
    own_registry: bool,
    stored: bool,
    switches: OptionSwitches,
) -> CodecConfig:
    """Read and validate. ``default_registry``: if neither input names one; with ``own_registry`` none is needed."""
    spec, given = protocol.spec, read_options(CodecConfig, uri, root)
    if not spec.registers_schemas:  # without Avro, TiCDC does not look at the modes
        for mode in ("avro_decimal_handling_mode", "avro_bigint_unsigned_handling_mode"):
            given.pop(mode, None)
    names_registry = "schema_registry" in given or glue is not None
    config = CodecConfig(
        **{
            "protocol": protocol,
            "large_message_handle": large_message_handle,
            "glue_schema_registry": glue,
            "enable_row_checksum": row_checksum,
            "schema_registry": None if names_registry or not default_registry else Secret(default_registry),
            "rows_only": protocol.value in switches.rows_only,
            **given,
        }
    )
    compatible = config.content_compatible and spec.content_compatible
    # The file's content-compatible implies updated columns for every protocol, the URI's for Canal-JSON alone.
    updated = config.only_output_updated_columns or compatible or bool(root.at("sink").boolean("content-compatible"))
    if force_replicate:
        _refuse_force_replicate(config, switches)
    if spec.encodings and config.encoding_format not in spec.encodings:
        raise _codec_refused(
            f"unsupported encoding format type: {config.encoding_format} for the {protocol} protocol",
            "encoding-format",
            f"Use {' or '.join(spec.encodings)}",
        )
    watermark = config.avro_enable_watermark and config.enable_tidb_extension and spec.registers_schemas
    config = replace(
        config,
        avro_include_before_value=config.avro_include_before_value and protocol is Protocol.AVRO,
        avro_enable_watermark=watermark,
        only_output_updated_columns=updated,
        content_compatible=compatible,
        encoding_format=config.encoding_format if spec.encodings else CodecConfig.encoding_format,
        output_old_value=_read_output_old_value(root, protocol),
    )
    _validate_debezium(config, switches, names_registry=names_registry)
    _validate_simple(config)
    _validate(config, switches, own_registry=own_registry)
    return _of_files(config, root) if stored else config


def _of_files(config: CodecConfig, root: Section) -> CodecConfig:
    config = replace(config, rows_only=True, max_message_bytes=MAX_BYTES, terminator=read_terminator(root))
    if config.protocol is not Protocol.CSV:
        return config
    csv = CsvConfig(**read_options(CsvConfig, None, root))
    _check_csv(csv)
    return replace(config, csv=csv, output_old_value=csv.output_old_value)


def _check_csv(csv: CsvConfig) -> None:
    delimiter, quote_mark = csv.delimiter.encode(), csv.quote.encode()
    long = (
        "delimiter contains more than three characters, note that escape sequences can only be used in double "
        "quotes in toml configuration items."
    )
    common = "quote and delimiter has common characters which is not allowed"
    few, hex_only = "Give one to three bytes", "binary-encoding-method can only be hex or base64"
    for fails, option, cause, remedy in (
        (
            len(quote_mark) > 1,
            "quote",
            "quote contains more than one character",
            "Give one character of ASCII, or none",
        ),
        (quote_mark in (b"\r", b"\n"), "quote", "quote cannot be line break character", "Give another character"),
        (not delimiter, "delimiter", "delimiter cannot be empty", few),
        (len(delimiter) > _MOST_DELIMITER_BYTES, "delimiter", long, few),
        (
            {*"\r\n"} & {*csv.delimiter},
            "delimiter",
            "delimiter contains line break characters",
            "Give other characters",
        ),
        (csv.quote and csv.quote in csv.delimiter, "quote", common, "Give a quote that is not in the delimiter"),
        (csv.binary_encoding_method not in ("hex", "base64"), "binary-encoding-method", hex_only, "Give hex or base64"),
    ):
        if fails:
            text = f"sink config invalid: csv config {cause}"
            raise refused("ErrSinkInvalidConfig", text, option=option, remedy=remedy)


def _read_output_old_value(root: Section, protocol: Protocol) -> bool:
    tables = {each.spec.old_value_table for each in Protocol} - {None}  # TiCDC knows the option of the others, too
    given = {name: root.at(f"sink.{name}").boolean("output-old-value") for name in tables}
    return given.get(protocol.spec.old_value_table) is not False


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
    modes = (
        ("decimal", config.debezium_decimal_handling_mode, get_args(DebeziumDecimalMode)),
        ("bigint-unsigned", config.debezium_bigint_unsigned_handling_mode, get_args(BigintMode)),
        ("binary", config.debezium_binary_handling_mode, get_args(BinaryMode)),
    )
    for kind, mode, known in modes:
        option, cause = f"debezium-{kind}-handling-mode", None
        if not debezium and mode not in ("", known[0]):
            effect = "debezium numeric handling modes only take effect"
            cause = f'{f"{option} only takes effect" if kind == "binary" else effect} with protocol "debezium"'
        elif debezium and mode not in known and kind == "binary":
            cause = f'invalid {option} {quote(mode)}: expected "bytes", "base64", "base64-url-safe", or "hex"'
        elif debezium and mode not in known:
            cause = f'{option} must be "{known[0]}" or "{known[1]}"'
        if cause:
            raise _codec_refused(cause, option)


def _validate_simple(config: CodecConfig) -> None:
    if not config.simple_include_start_ts:
        return
    option = "simple-include-start-ts"
    if config.protocol is not Protocol.SIMPLE:
        raise _codec_refused(f'{option} only takes effect with protocol "simple"', option)
    if config.encoding_format == "avro":
        raise _codec_refused(f'{option} is not supported with encoding-format "avro"', option)


def _refuse_force_replicate(config: CodecConfig, switches: OptionSwitches) -> None:
    handle = config.large_message_handle
    if not config.protocol.spec.force_replicate:
        cause = f"force-replicate must be disabled, when using {switches.forced_protocols} protocol"
    elif not handle.disabled and switches.forced_large_messages == "refused":
        cause = (
            "force-replicate must be disabled, when the large message handle is enabled, "
            f'large message handle: "{handle.option}"'
        )
    elif config.delete_only_output_handle_key_columns:
        cause = 'force-replicate must be disabled when configuration "delete-only-output-handle-key-columns" is true.'
    else:
        return
    raise _codec_refused(cause, "force-replicate")


def _validate(config: CodecConfig, switches: OptionSwitches, *, own_registry: bool) -> None:
    # where only rows are sent, they have nothing of the extension
    if config.enable_tidb_extension and (config.rows_only or not config.protocol.spec.extension):
        warn_of_option(f"enable-tidb-extension has no effect with the {config.protocol.value} protocol")
    if config.protocol.spec.registers_schemas:
        _validate_avro(config, own_registry=own_registry)
    size = "Codec invalid config: " if switches.bad_size == "named" else ""
    if config.max_message_bytes <= 0:
        raise _codec_refused(f"{size}invalid max-message-bytes {config.max_message_bytes}", "max-message-bytes")
    if config.max_batch_size <= 0:
        raise _codec_refused(f"{size}invalid max-batch-size {config.max_batch_size}", "max-batch-size")


def _validate_avro(config: CodecConfig, *, own_registry: bool) -> None:
    title = config.protocol.spec.title
    if config.schema_registry and config.glue_schema_registry:
        raise _codec_refused(
            f'{title} protocol requires only one of "schema-registry" or "glue-schema-registry" '
            "to specify the schema registry",
            "schema-registry",
        )
    if not (config.schema_registry or config.glue_schema_registry or own_registry):
        raise _codec_refused(
            f'{title} protocol requires parameter "schema-registry" or "glue-schema-registry" to specify the schema '
            "registry",
            "schema-registry",
            "Add schema-registry=http://host:port to the sink URI, or give registry= in Python",
        )
    for option, mode, known in (
        ("avro-decimal-handling-mode", config.avro_decimal_handling_mode, ("string", "precise")),
        ("avro-bigint-unsigned-handling-mode", config.avro_bigint_unsigned_handling_mode, ("long", "string")),
    ):
        if mode not in known:
            raise _codec_refused(f'{option} value could only be "{known[0]}" or "{known[1]}"', option)
    strings = config.avro_decimal_handling_mode == config.avro_bigint_unsigned_handling_mode == "string"
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
