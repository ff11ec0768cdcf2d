"""Which protocol a sink means, even where its configuration is refused.

In: its sink URI and changefeed text. Out: a :class:`Protocol`, ``None`` where neither names one that exists.
"""

from __future__ import annotations

from ticdc_emit.config import Protocol, SinkUri
from ticdc_emit.config.document import Section, read_document
from ticdc_emit.config.merge import UriParameters
from ticdc_emit.conformance.vectors import SinkConfig
from ticdc_emit.errors import ConfigError

__all__ = ["sink_protocol"]


def sink_protocol(sink: SinkConfig) -> Protocol | None:
    """Return the protocol that the URI names, else the one of ``[sink] protocol``."""
    try:
        named = UriParameters(SinkUri.parse(sink.sink_uri)).text("protocol")
        if not named:
            named = (read_document(sink.changefeed).table("sink") or Section({}, "sink")).text("protocol")
        return Protocol.parse(named or "")
    except ConfigError:
        return None
