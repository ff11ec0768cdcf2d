"""Configuration. In: TiCDC's sink URI and changefeed file. Out: frozen, validated records.

:func:`load_changefeed` is the entry point and returns a :class:`ChangefeedConfig`, which shows no secret when printed.
See ``docs/config.md`` for every option. A name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.config.changefeed import ChangefeedConfig, ColumnSelector, DispatchRule, Integrity
    from ticdc_emit.config.codec import CodecConfig, GlueSchemaRegistry, LargeMessageHandle
    from ticdc_emit.config.document import ConfigWarning
    from ticdc_emit.config.filters import EventFilter, FilterConfig
    from ticdc_emit.config.kafka import (
        DEFAULT_MAX_MESSAGE_BYTES,
        DEFAULT_PARTITION_NUM,
        GssapiConfig,
        KafkaConfig,
        OAuthConfig,
        SaslConfig,
        TlsConfig,
    )
    from ticdc_emit.config.load import load_changefeed
    from ticdc_emit.config.protocols import Protocol
    from ticdc_emit.config.releases import CLASSIC, NEXT, RELEASES, Release
    from ticdc_emit.config.secrets import Secret, mask_text, mask_uri
    from ticdc_emit.config.uri import SinkUri

__all__ = [
    "CLASSIC",
    "DEFAULT_MAX_MESSAGE_BYTES",
    "DEFAULT_PARTITION_NUM",
    "NEXT",
    "RELEASES",
    "ChangefeedConfig",
    "CodecConfig",
    "ColumnSelector",
    "ConfigWarning",
    "DispatchRule",
    "EventFilter",
    "FilterConfig",
    "GlueSchemaRegistry",
    "GssapiConfig",
    "Integrity",
    "KafkaConfig",
    "LargeMessageHandle",
    "OAuthConfig",
    "Protocol",
    "Release",
    "SaslConfig",
    "Secret",
    "SinkUri",
    "TlsConfig",
    "load_changefeed",
    "mask_text",
    "mask_uri",
]

_HOMES = {
    **dict.fromkeys(("ChangefeedConfig", "ColumnSelector", "DispatchRule", "Integrity"), "changefeed"),
    **dict.fromkeys(("CodecConfig", "GlueSchemaRegistry", "LargeMessageHandle"), "codec"),
    **dict.fromkeys(("EventFilter", "FilterConfig"), "filters"),
    **dict.fromkeys(("DEFAULT_MAX_MESSAGE_BYTES", "DEFAULT_PARTITION_NUM", "KafkaConfig", "TlsConfig"), "kafka"),
    **dict.fromkeys(("GssapiConfig", "OAuthConfig", "SaslConfig"), "kafka"),
    **dict.fromkeys(("CLASSIC", "NEXT", "RELEASES", "Release"), "releases"),
    **dict.fromkeys(("Secret", "mask_text", "mask_uri"), "secrets"),
    "ConfigWarning": "document",
    "Protocol": "protocols",
    "SinkUri": "uri",
    "load_changefeed": "load",
}

__getattr__, __dir__ = lazy(__name__, _HOMES)
