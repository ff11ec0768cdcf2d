"""The protocol names that TiCDC accepts, which of them this library writes, and the names that its own options take.

In: the text of ``protocol`` in a sink URI or changefeed.  Out: a :class:`Protocol`, or TiCDC's refusal
(``pkg/config/sink_protocol.go`` of pingcap/tiflow).  Options of this library (``--protocol``, ``protocol=``) take
:data:`PROTOCOL_NAMES`, which name the encodings of Simple too.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from ticdc_emit.config.refusal import refused
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import did_you_mean

__all__ = [
    "PROTOCOL_NAMES",
    "Protocol",
    "parse_protocol_name",
    "protocol_document",
    "protocol_not_written",
    "protocol_parameters",
]


class Protocol(str, Enum):
    """A TiCDC message protocol; the value is the name that TiCDC prints."""

    CANAL = "canal"
    AVRO = "avro"
    MAXWELL = "maxwell"
    CANAL_JSON = "canal-json"
    CRAFT = "craft"
    OPEN = "open-protocol"
    CSV = "csv"
    DEBEZIUM = "debezium"
    SIMPLE = "simple"

    def __str__(self) -> str:
        return self.value

    @classmethod
    def parse(cls, text: str) -> Protocol:
        """``text`` in any case, aliases included; :class:`ConfigError` (CDC:ErrSinkUnknownProtocol) otherwise."""
        name = text.lower()
        try:
            return cls(_ALIASES.get(name, name))
        except ValueError:
            raise refused(
                "ErrSinkUnknownProtocol",
                f"unknown '{text}' message protocol for sink",
                option="protocol",
                remedy=_remedy(name),
            ) from None


_ALIASES = {"default": "open-protocol", "flat-avro": "avro"}
_WRITTEN = (Protocol.CANAL_JSON, Protocol.SIMPLE, Protocol.DEBEZIUM, Protocol.AVRO)
_ENCODINGS = {"simple-json": "json", "simple-avro": "avro"}

PROTOCOL_NAMES = ("canal-json", "simple", "simple-json", "simple-avro", "debezium", "avro")
"""What an option of this library takes as a protocol; ``simple`` is ``simple-json`` unless something else sets it."""


def parse_protocol_name(text: str) -> tuple[Protocol, str | None]:
    """Return the protocol that an option names, and the encoding of Simple if it names that too.

    Takes :data:`PROTOCOL_NAMES` and TiCDC's aliases, in any case. Raises
    :class:`~ticdc_emit.errors.ConfigError` for names that are not known, and for protocols that are not written.
    """
    name = text.lower()
    encoding = _ENCODINGS.get(name)
    if encoding is not None:
        return Protocol.SIMPLE, encoding
    try:
        protocol = Protocol(_ALIASES.get(name, name))
    except ValueError:
        raise ConfigError(
            f"unknown protocol {text!r}",
            remedy=f"{did_you_mean(text, PROTOCOL_NAMES)}Use one of: {', '.join(PROTOCOL_NAMES)}",
            option="protocol",
        ) from None
    if protocol not in _WRITTEN:
        raise protocol_not_written(protocol)
    return protocol, None


def protocol_parameters(text: str) -> dict[str, str]:
    """Return the parameters of a sink URI for the protocol that an option names; raises as above."""
    protocol, encoding = parse_protocol_name(text)
    return {"protocol": protocol.value} | ({} if encoding in (None, "json") else {"encoding-format": str(encoding)})


def protocol_document(text: str) -> dict[str, Any]:
    """Return a changefeed file, as a mapping, with the protocol that an option names; raises as above."""
    protocol, encoding = parse_protocol_name(text)
    codec = {} if encoding is None else {"kafka-config": {"codec-config": {"encoding-format": encoding}}}
    return {"sink": {"protocol": protocol.value, **codec}}


def protocol_not_written(protocol: Protocol) -> ConfigError:
    """Return the refusal of a protocol that TiCDC has and this library does not write; the caller raises it."""
    return ConfigError(
        f"the protocol {protocol} is not written by this version",
        remedy=f"Use one of: {', '.join(PROTOCOL_NAMES)}",
        option="protocol",
    )


def _remedy(name: str) -> str:
    """Return how to name a protocol to TiCDC."""
    encoding = _ENCODINGS.get(name)
    if encoding is not None:
        return f"Set protocol=simple and encoding-format={encoding}"
    written = [protocol.value for protocol in _WRITTEN]
    return (
        f"{did_you_mean(name, written)}Set protocol= in the sink URI or [sink] protocol to one of: {', '.join(written)}"
    )
