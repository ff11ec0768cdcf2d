"""Configuration: :func:`load_changefeed` makes a :class:`ChangefeedConfig` of TiCDC's sink URI and changefeed file.

It shows no secret when printed. See ``docs/config.md`` for every option. A name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.config.changefeed import ChangefeedConfig as ChangefeedConfig
    from ticdc_emit.config.changefeed import ColumnSelector as ColumnSelector
    from ticdc_emit.config.changefeed import DispatchRule as DispatchRule
    from ticdc_emit.config.changefeed import Integrity as Integrity
    from ticdc_emit.config.codec import CodecConfig as CodecConfig
    from ticdc_emit.config.codec import GlueSchemaRegistry as GlueSchemaRegistry
    from ticdc_emit.config.codec import LargeMessageHandle as LargeMessageHandle
    from ticdc_emit.config.document import ConfigWarning as ConfigWarning
    from ticdc_emit.config.filters import EventFilter as EventFilter
    from ticdc_emit.config.filters import FilterConfig as FilterConfig
    from ticdc_emit.config.kafka import DEFAULT_MAX_MESSAGE_BYTES as DEFAULT_MAX_MESSAGE_BYTES
    from ticdc_emit.config.kafka import DEFAULT_PARTITION_NUM as DEFAULT_PARTITION_NUM
    from ticdc_emit.config.kafka import GssapiConfig as GssapiConfig
    from ticdc_emit.config.kafka import KafkaConfig as KafkaConfig
    from ticdc_emit.config.kafka import OAuthConfig as OAuthConfig
    from ticdc_emit.config.kafka import SaslConfig as SaslConfig
    from ticdc_emit.config.kafka import TlsConfig as TlsConfig
    from ticdc_emit.config.load import load_changefeed as load_changefeed
    from ticdc_emit.config.protocols import Protocol as Protocol
    from ticdc_emit.config.releases import CLASSIC as CLASSIC
    from ticdc_emit.config.releases import NEXT as NEXT
    from ticdc_emit.config.releases import RELEASES as RELEASES
    from ticdc_emit.config.releases import Release as Release
    from ticdc_emit.config.secrets import Secret as Secret
    from ticdc_emit.config.secrets import mask_text as mask_text
    from ticdc_emit.config.secrets import mask_uri as mask_uri
    from ticdc_emit.config.uri import SinkUri as SinkUri

__getattr__, __dir__ = lazy(__name__)
