"""The protocol of a sink, even if its configuration is refused.

In: its sink URI and changefeed text. Out: a :class:`Protocol`, ``None`` if neither names an existing one, and its
encoding.
"""

from __future__ import annotations

from ticdc_emit.config import Protocol, SinkUri
from ticdc_emit.config.document import Section, read_document
from ticdc_emit.config.uri import UriParameters
from ticdc_emit.conformance.vectors import SinkConfig
from ticdc_emit.errors import ConfigError

__all__ = ["is_written", "sink_protocol"]


def sink_protocol(sink: SinkConfig) -> tuple[Protocol | None, str]:
    """Return the protocol and the encoding that the URI names, else those of the changefeed; ``json`` by default."""
    try:
        in_uri = UriParameters(SinkUri.parse(sink.sink_uri))
        in_file = read_document(sink.changefeed).table("sink") or Section({}, "sink")
        codec = (in_file.table("kafka-config") or Section({}, "")).table("codec-config") or Section({}, "")
        encoding = in_uri.text("encoding-format") or codec.text("encoding-format") or "json"
        return Protocol.parse(in_uri.text("protocol") or in_file.text("protocol") or ""), encoding
    except ConfigError:
        return None, ""


def is_written(sink: SinkConfig) -> bool:
    """Return whether this library writes the sink's protocol."""
    protocol, _ = sink_protocol(sink)
    return protocol is not None and protocol.traits.is_written
