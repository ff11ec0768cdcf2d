"""Which protocol a variant means, even where its configuration is refused.

In: a variant's sink URI and changefeed text. Out: a :class:`Protocol`, ``None`` where neither names one that exists.
"""

from __future__ import annotations

from ticdc_emit.config import Protocol, SinkUri
from ticdc_emit.config.document import Section, read_document
from ticdc_emit.config.merge import UriParameters
from ticdc_emit.conformance.vectors import Variant
from ticdc_emit.errors import ConfigError

__all__ = ["variant_protocol"]


def variant_protocol(variant: Variant) -> Protocol | None:
    """Return the protocol that the URI names, else the one of ``[sink] protocol``."""
    try:
        named = UriParameters(SinkUri.parse(variant.sink_uri)).text("protocol")
        if not named:
            named = (read_document(variant.changefeed).table("sink") or Section({}, "sink")).text("protocol")
        return Protocol.parse(named or "")
    except ConfigError:
        return None
