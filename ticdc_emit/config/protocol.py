"""The protocol names that TiCDC accepts, those that this library writes, and the names that its own options accept.

In: the text of ``protocol`` in a sink URI or changefeed.  Out: a :class:`Protocol`, or TiCDC's refusal
(``pkg/config/sink_protocol.go`` of pingcap/tiflow).  Options of this library (``--protocol``, ``protocol=``) take
:data:`PROTOCOL_NAMES`, which name the encodings of Simple too.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from ticdc_emit.config.refusal import refused
from ticdc_emit.config.traits import SWITCH, BinaryForm, Given, Traits
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import did_you_mean

__all__ = [
    "FORMS",
    "PROTOCOL_NAMES",
    "WRITTEN",
    "Protocol",
    "form_of",
    "parse_protocol_name",
    "protocol_document",
    "protocol_not_written",
    "protocol_parameters",
    "traits_of",
]


_UNWRITTEN = Traits()
_CLASSIC_ONLY = Traits(lineages=("classic",))
_EXTENSION = "enable-tidb-extension"
_WATERMARK = "avro-enable-watermark"
_AVRO_MODES = (
    ("avro-decimal-handling-mode", ("precise", "string")),
    ("avro-bigint-unsigned-handling-mode", ("long", "string")),
)
_AVRO_TEXTS = tuple((name, "string") for name, _ in _AVRO_MODES)


class Protocol(str, Enum):
    """A TiCDC message protocol. The value is the name that TiCDC prints; ``traits`` are its properties."""

    _value_: str
    traits: Traits

    def __new__(cls, name: str, traits: Traits = _UNWRITTEN) -> Protocol:
        made = str.__new__(cls, name)
        made._value_ = name
        made.traits = traits
        return made

    CANAL = ("canal", _CLASSIC_ONLY)
    MAXWELL = ("maxwell", _CLASSIC_ONLY)
    CRAFT = ("craft", _CLASSIC_ONLY)
    CSV = ("csv", _CLASSIC_ONLY)
    CANAL_JSON = (
        "canal-json",
        Traits(
            package="canal_json",
            extension=True,
            ddl_everywhere=False,
            watermarks=Given.WITH_EXTENSION,
            large_messages=Given.WITH_EXTENSION,
            handle_key_deletes=True,
            content_compatible=True,
            numbers_labels=True,
            binary=BinaryForm.LATIN_1,
            parameters=(
                (_EXTENSION, SWITCH),
                ("content-compatible", SWITCH),
                ("only-output-updated-columns", SWITCH),
            ),
        ),
    )
    SIMPLE = (
        "simple",
        Traits(
            package="simple",
            encodings=("json", "avro"),
            watermarks=Given.ALWAYS,
            default_ticks=True,
            bootstraps=True,
            row_checksums=True,
            large_messages=Given.ALWAYS,
            handle_key_deletes=True,
            numbers_labels=True,
        ),
    )
    DEBEZIUM = (
        "debezium",
        Traits(
            package="debezium",
            extension=True,
            watermarks=Given.WITH_EXTENSION,
            old_value_table="debezium",
            parameters=((_EXTENSION, SWITCH), ("debezium-disable-schema", SWITCH)),
        ),
    )
    DEBEZIUM_AVRO = (
        "debezium-avro",
        Traits(
            package="debezium_avro",
            lineages=("next",),
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
        Traits(
            package="avro",
            title="Avro",
            extension=True,
            registers_schemas=True,
            ddl=False,
            row_checksums=True,
            old_values=False,
            force_replicate=False,
            parameters=(
                (_EXTENSION, SWITCH),
                *_AVRO_MODES,
                (_WATERMARK, SWITCH),
            ),
            lossless=_AVRO_TEXTS,
        ),
    )

    OPEN = (
        "open-protocol",
        Traits(
            package="open_protocol",
            watermarks=Given.ALWAYS,
            old_value_table="open",
            large_messages=Given.ALWAYS,
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

    @classmethod
    def parse(cls, text: str, lineage: str | None = None) -> Protocol:
        """``text`` in any case, aliases included; :class:`ConfigError` (CDC:ErrSinkUnknownProtocol) otherwise.

        ``lineage``: the lineage that must have it; by default, any.
        """
        name = text.lower()
        name = _ALIASES.get(name, name)
        protocol = next((each for each in cls if each.value == name), None)
        if protocol is None or (lineage is not None and lineage not in protocol.traits.lineages):
            raise refused(
                "ErrSinkUnknownProtocol",
                f"unknown '{text}' message protocol for sink",
                option="protocol",
                remedy=_remedy(name, lineage) if protocol is None else _other_lineage(protocol),
            )
        return protocol


def _forms(protocol: Protocol) -> tuple[str, ...]:
    return tuple(f"{protocol.value}-{each}" for each in protocol.traits.encodings) or (protocol.value,)


_ALIASES = {"default": "open-protocol", "flat-avro": "avro"}
_OWN_ALIASES = _ALIASES | {"open": "open-protocol"}
WRITTEN = tuple(protocol for protocol in Protocol if protocol.traits.is_written)
"""The protocols that this library writes and reads."""
_ENCODINGS = {
    f"{protocol.value}-{encoding}": (protocol, encoding)
    for protocol in WRITTEN
    for encoding in protocol.traits.encodings
}

FORMS = tuple(name for protocol in WRITTEN for name in _forms(protocol))
"""The protocols that are written, Simple with each of its encodings."""

PROTOCOL_NAMES = tuple(dict.fromkeys(name for protocol in WRITTEN for name in (protocol.value, *_forms(protocol))))
"""The protocol names that options of this library accept. ``simple`` means ``simple-json`` unless another option sets
the encoding.
"""


def form_of(protocol: Protocol, encoding: str | None) -> str:
    """Return which of :data:`FORMS` a protocol is, with an encoding if it has several (``None``: the default one)."""
    encodings = protocol.traits.encodings
    return f"{protocol.value}-{encoding or encodings[0]}" if encodings else protocol.value


def parse_protocol_name(text: str) -> tuple[Protocol, str | None]:
    """Return the protocol that an option names, and the encoding of Simple if it names that too.

    Takes :data:`PROTOCOL_NAMES`, TiCDC's aliases and ``open``, in any case. Raises
    :class:`~ticdc_emit.errors.ConfigError` for unknown names, and for protocols that this library does not write.
    """
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


def traits_of(text: str) -> Traits:
    """Return the traits of the protocol that an option names; raises as above."""
    return parse_protocol_name(text)[0].traits


def protocol_parameters(text: str) -> dict[str, str]:
    """Return the parameters of a sink URI for the protocol that an option names; raises as above."""
    protocol, encoding = parse_protocol_name(text)
    default = protocol.traits.encodings[:1]
    return {"protocol": protocol.value} | ({} if encoding in (None, *default) else {"encoding-format": str(encoding)})


def protocol_document(text: str) -> dict[str, Any]:
    """Return a changefeed file, as a mapping, with the protocol that an option names; raises as above."""
    protocol, encoding = parse_protocol_name(text)
    codec = {} if encoding is None else {"kafka-config": {"codec-config": {"encoding-format": encoding}}}
    return {"sink": {"protocol": protocol.value, **codec}}


def protocol_not_written(protocol: Protocol) -> ConfigError:
    """Return the error for a protocol that TiCDC has but this library does not write; the caller raises it."""
    return ConfigError(
        f"the protocol {protocol} is not written by this version",
        remedy=f"Use one of: {', '.join(PROTOCOL_NAMES)}",
        option="protocol",
    )


def _offered(lineage: str | None) -> list[str]:
    return [each.value for each in WRITTEN if lineage is None or lineage in each.traits.lineages]


def _other_lineage(protocol: Protocol) -> str:
    """Return the remedy for a protocol that the lineage lacks."""
    if protocol not in WRITTEN:
        return f"Use one of: {', '.join(_offered(None))}"
    return f"Only the profile {protocol.traits.lineages[0]} has it: set profile={protocol.traits.lineages[0]}"


def _remedy(name: str, lineage: str | None) -> str:
    """Return the remedy for an unknown protocol name."""
    if name in _ENCODINGS:
        protocol, encoding = _ENCODINGS[name]
        return f"Set protocol={protocol} and encoding-format={encoding}"
    written = _offered(lineage)
    return (
        f"{did_you_mean(name, written)}Set protocol= in the sink URI or [sink] protocol to one of: {', '.join(written)}"
    )
