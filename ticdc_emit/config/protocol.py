"""The protocol names that TiCDC accepts, and which of them exist as what.

In: the text of ``protocol`` in a sink URI or changefeed.  Out: a :class:`Protocol`, or TiCDC's refusal
(``pkg/config/sink_protocol.go`` of pingcap/tiflow).
"""

from __future__ import annotations

from enum import Enum

from ticdc_emit.config.refusal import refused

__all__ = ["Protocol"]


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
                remedy="Set protocol= in the sink URI or [sink] protocol to one of: "
                + ", ".join(protocol.value for protocol in cls),
            ) from None


_ALIASES = {"default": "open-protocol", "flat-avro": "avro"}
