"""TiCDC's protocols: their names, and what the rest of the library must know about each (:class:`ProtocolSpec`).

A protocol of this library is a package in ``protocols/`` with ``encoder.py`` and ``decoder.py``, and a row here. Only
options and commands of one protocol name it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import parse_qsl

from ticdc_emit.config.document import refused, warn_of_option
from ticdc_emit.config.releases import RELEASES, Release, releases_with
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import did_you_mean

SWITCH = ("false", "true")
"""The values of a parameter that is off by default."""


class Availability(Enum):
    """Whether a protocol has a feature: always, only with ``enable-tidb-extension``, or never."""

    ALWAYS = "always"
    WITH_EXTENSION = "with enable-tidb-extension"
    NEVER = "never"

    def holds(self, *, extension: bool) -> bool:
        """Return whether the feature exists, with or without the extension."""
        return self is Availability.ALWAYS or (self is Availability.WITH_EXTENSION and extension)


class BinaryForm(Enum):
    """How a protocol shows binary data as text: ``LATIN_1``: a character for each byte. ``GO_QUOTED``: BINARY and
    VARBINARY as Go's ``strconv.Quote`` without the quotes; BLOB and TEXT in base64. Avro's bytes count as base64.
    """

    BASE64 = "base64"
    LATIN_1 = "ISO-8859-1"
    GO_QUOTED = "Go's escapes"


@dataclass(frozen=True)
class ProtocolSpec:
    """The properties of a protocol. The defaults are those of one that this library does not write.

    ``package``: in ``protocols/``. ``title``: in TiCDC's refusals. ``encodings``: values of ``encoding-format``, the
    default first. ``extension``: ``enable-tidb-extension`` has an effect. ``registers_schemas``: it has one subject per
    topic, so a topic expression must contain schema and table, and a consumer needs the schemas.

    ``ddl_everywhere``: DDL goes to every partition of its topic, else to the first one. ``watermarks``: when they are
    sent, ``default_ticks``: also between rows if no interval is set. ``bootstraps``: messages with a table's schema are
    sent before its rows. ``tells_defaults``: a consumer can learn the value of existing rows in a new column.

    ``old_values``: updates contain them; ``old_value_table``: the table under ``[sink]`` that can turn them off.
    ``large_messages``: they can be handled; ``raw_claims``: the bare value can be stored. ``handle_key_deletes``,
    ``content_compatible``: the options have an effect. ``force_replicate``: tables without a handle key can be sent.
    ``packs_rows``: one message can hold up to ``max-batch-size`` rows. ``numbers_labels``: ENUM and SET are numbers.

    ``queued``: sinks of messages have it; ``stored``: sinks of files in object storage do. ``parameters``: of the sink
    URI, with few values, the default first. ``lossless``: those that keep the precision of every value.
    """

    package: str | None = None
    title: str = ""
    encodings: tuple[str, ...] = ()
    extension: bool = False
    registers_schemas: bool = False
    ddl: bool = True
    ddl_everywhere: bool = True
    watermarks: Availability = Availability.NEVER
    default_ticks: bool = False
    bootstraps: bool = False
    tells_defaults: bool = True
    row_checksums: bool = False
    old_values: bool = True
    old_value_table: str | None = None
    large_messages: Availability = Availability.NEVER
    raw_claims: bool = True
    handle_key_deletes: bool = False
    content_compatible: bool = False
    force_replicate: bool = True
    packs_rows: bool = False
    numbers_labels: bool = False
    binary: BinaryForm = BinaryForm.BASE64
    queued: bool = True
    stored: bool = False
    parameters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    lossless: tuple[tuple[str, str], ...] = ()

    @property
    def is_written(self) -> bool:
        """Whether this library writes and reads the protocol."""
        return self.package is not None


_EXTENSION = "enable-tidb-extension"
_WATERMARK = "avro-enable-watermark"
_AVRO_MODES = (
    ("avro-decimal-handling-mode", ("precise", "string")),
    ("avro-bigint-unsigned-handling-mode", ("long", "string")),
)
_AVRO_TEXTS = tuple((name, "string") for name, _ in _AVRO_MODES)


class Protocol(str, Enum):
    """A TiCDC message protocol. The value is the name that TiCDC prints; ``spec`` holds its properties."""

    _value_: str
    spec: ProtocolSpec

    def __new__(cls, name: str, spec: ProtocolSpec = ProtocolSpec()) -> Protocol:
        made = str.__new__(cls, name)
        made._value_ = name
        made.spec = spec
        return made

    CANAL = "canal"
    MAXWELL = "maxwell"
    CRAFT = "craft"
    CANAL_JSON = (
        "canal-json",
        ProtocolSpec(
            package="canal_json",
            extension=True,
            ddl_everywhere=False,
            watermarks=Availability.WITH_EXTENSION,
            large_messages=Availability.WITH_EXTENSION,
            handle_key_deletes=True,
            content_compatible=True,
            numbers_labels=True,
            binary=BinaryForm.LATIN_1,
            stored=True,
            parameters=((_EXTENSION, SWITCH), ("content-compatible", SWITCH), ("only-output-updated-columns", SWITCH)),
        ),
    )
    SIMPLE = (
        "simple",
        ProtocolSpec(
            package="simple",
            encodings=("json", "avro"),
            watermarks=Availability.ALWAYS,
            default_ticks=True,
            bootstraps=True,
            row_checksums=True,
            large_messages=Availability.ALWAYS,
            handle_key_deletes=True,
            numbers_labels=True,
        ),
    )
    DEBEZIUM = (
        "debezium",
        ProtocolSpec(
            package="debezium",
            extension=True,
            watermarks=Availability.WITH_EXTENSION,
            old_value_table="debezium",
            parameters=(
                (_EXTENSION, SWITCH),
                ("debezium-disable-schema", SWITCH),
                ("debezium-decimal-handling-mode", ("double", "string")),
                ("debezium-bigint-unsigned-handling-mode", ("long", "string")),
                ("debezium-binary-handling-mode", ("base64", "bytes", "base64-url-safe", "hex")),
            ),
        ),
    )
    DEBEZIUM_AVRO = (
        "debezium-avro",
        ProtocolSpec(
            package="debezium_avro",
            title="Debezium Avro",
            extension=True,
            registers_schemas=True,
            ddl=False,
            tells_defaults=False,
            old_value_table="debezium",
            force_replicate=False,
            parameters=((_EXTENSION, SWITCH), *_AVRO_MODES, (_WATERMARK, SWITCH)),
            lossless=_AVRO_TEXTS,
        ),
    )
    AVRO = (
        "avro",
        ProtocolSpec(
            package="avro",
            title="Avro",
            extension=True,
            registers_schemas=True,
            ddl=False,
            row_checksums=True,
            old_values=False,
            force_replicate=False,
            parameters=((_EXTENSION, SWITCH), *_AVRO_MODES, (_WATERMARK, SWITCH)),
            lossless=_AVRO_TEXTS,
        ),
    )

    CSV = ("csv", ProtocolSpec(package="csv", ddl=False, tells_defaults=False, queued=False, stored=True))
    OPEN = (
        "open-protocol",
        ProtocolSpec(
            package="open_protocol",
            watermarks=Availability.ALWAYS,
            old_value_table="open",
            large_messages=Availability.ALWAYS,
            raw_claims=False,
            handle_key_deletes=True,
            packs_rows=True,
            numbers_labels=True,
            binary=BinaryForm.GO_QUOTED,
            parameters=(("only-output-updated-columns", SWITCH),),
        ),
    )

    def __str__(self) -> str:
        return str(self.value)

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases that have the protocol; all of them, if it is only for files."""
        if not self.spec.queued:
            return tuple(RELEASES)  # a release may not know its name, but storage sinks do
        return tuple(name for name, each in RELEASES.items() if self.value not in each.options.unknown_protocols)

    @classmethod
    def parse(cls, text: str, release: Release | None = None, *, stored: bool = False) -> Protocol:
        """``text`` in any case, aliases included. ``stored``: for a storage sink, which knows all protocols."""
        name = text.lower()
        name = _ALIASES.get(name, name)
        protocol = next((each for each in cls if each.value == name), None)
        unknown = release.options.unknown_protocols if release and not stored else frozenset()
        if protocol is None or name in unknown:
            raise refused(
                "ErrSinkUnknownProtocol",
                f"unknown '{text}' message protocol for sink",
                option="protocol",
                remedy=_remedy(name, STORED if stored else QUEUED, unknown)
                if protocol is None
                else _other_release(protocol),
            )
        return protocol


def _forms(protocol: Protocol) -> tuple[str, ...]:
    return tuple(f"{protocol.value}-{each}" for each in protocol.spec.encodings) or (protocol.value,)


_ALIASES = {"default": "open-protocol", "flat-avro": "avro"}
_OWN_ALIASES = _ALIASES | {"open": "open-protocol"}
WRITTEN = tuple(protocol for protocol in Protocol if protocol.spec.is_written)
"""The protocols that this library writes and reads."""
QUEUED = tuple(protocol for protocol in WRITTEN if protocol.spec.queued)
"""Those whose messages go to Kafka or another sink of messages."""
STORED = tuple(protocol for protocol in WRITTEN if protocol.spec.stored)
"""Those whose rows are files in object storage."""
_ENCODINGS = {
    f"{protocol.value}-{encoding}": (protocol, encoding) for protocol in WRITTEN for encoding in protocol.spec.encodings
}

FORMS = tuple(name for protocol in QUEUED for name in _forms(protocol))
"""The protocols of messages that are written, Simple with each of its encodings."""

PROTOCOL_NAMES = tuple(dict.fromkeys(name for protocol in QUEUED for name in (protocol.value, *_forms(protocol))))
"""The names of protocols of messages that options of this library accept. ``simple`` means ``simple-json`` unless
another option sets the encoding.
"""


def form_of(protocol: Protocol, encoding: str | None) -> str:
    """Return which of :data:`FORMS` a protocol is, with an encoding if it has several (``None``: the default one)."""
    encodings = protocol.spec.encodings
    return f"{protocol.value}-{encoding or encodings[0]}" if encodings else protocol.value


def parse_protocol_name(text: str) -> tuple[Protocol, str | None]:
    """Return the protocol that an option names in any case, also by TiCDC's aliases, and an encoding of Simple."""
    name = text.lower()
    if name in _ENCODINGS:
        return _ENCODINGS[name]
    try:
        protocol = Protocol(_OWN_ALIASES.get(name, name))
    except ValueError:
        raise ConfigError(
            f"unknown protocol {text!r}",
            remedy=f"{did_you_mean(text, PROTOCOL_NAMES)}Use one of: {', '.join(PROTOCOL_NAMES)}",
            option="protocol",
        ) from None
    if protocol not in WRITTEN:
        raise protocol_not_written(protocol)
    return protocol, None


def spec_of(text: str) -> ProtocolSpec:
    """Return the properties of the protocol that an option names; raises as above."""
    return parse_protocol_name(text)[0].spec


def protocol_parameters(text: str) -> dict[str, str]:
    """Return the parameters of a sink URI for the protocol that an option names; raises as above."""
    protocol, encoding = parse_protocol_name(text)
    default = protocol.spec.encodings[:1]
    return {"protocol": protocol.value} | ({} if encoding in (None, *default) else {"encoding-format": str(encoding)})


def protocol_document(text: str | None, sink_uri: str | None = None) -> dict[str, Any]:
    """Return a changefeed file with the protocol that an option names, unless ``sink_uri`` names one."""
    protocol, encoding = parse_protocol_name(text or Protocol.CANAL_JSON.value)
    codec = {} if encoding is None else {"kafka-config": {"codec-config": {"encoding-format": encoding}}}
    if "protocol" in dict(parse_qsl((sink_uri or "").partition("?")[2])):
        return {"sink": codec}
    if text is None and sink_uri is not None:
        warn_of_option(
            "The sink URI has no protocol, so canal-json is used. Add protocol= to it: TiCDC refuses a URI without one "
            "(its default protocol is open-protocol)"
        )
    return {"sink": {"protocol": protocol.value, **codec}}


def protocol_not_written(protocol: Protocol) -> ConfigError:
    """Return the error for a protocol that TiCDC has but this library does not write; the caller raises it."""
    return ConfigError(
        f"the protocol {protocol} is not written by this version",
        remedy=f"Use one of: {', '.join(PROTOCOL_NAMES)}",
        option="protocol",
    )


def remedy_for_files(protocol: Protocol) -> str:
    """Return the remedy for a protocol of files in the sink URI of another sink."""
    return f"{protocol} is for storage sinks: write file://, s3://, gcs:// or azblob:// in the sink URI"


def _other_release(protocol: Protocol) -> str:
    if protocol not in WRITTEN:
        return f"Use one of: {', '.join(QUEUED)}"
    if not protocol.spec.queued:
        return remedy_for_files(protocol)
    having = releases_with(lambda each: protocol.value not in each.options.unknown_protocols)
    return f"Only some releases have it ({having}): set release={protocol.releases[0]}"


def _remedy(name: str, known: tuple[Protocol, ...], unknown: frozenset[str]) -> str:
    if name in _ENCODINGS:
        protocol, encoding = _ENCODINGS[name]
        return f"Set protocol={protocol} and encoding-format={encoding}"
    written = [each.value for each in known if each.value not in unknown]
    return (
        f"{did_you_mean(name, written)}Set protocol= in the sink URI or [sink] protocol to one of: {', '.join(written)}"
    )
