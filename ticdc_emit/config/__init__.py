"""Configuration: :func:`load_changefeed` makes a :class:`ChangefeedConfig` of TiCDC's sink URI and changefeed file.

It shows no secret when printed. See ``docs/config.md`` for every option. A name is imported when it is first used.
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

__getattr__, __dir__ = lazy(__name__)
