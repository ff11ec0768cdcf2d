"""The protocols: one folder per wire format, its encoder and its decoder side by side."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, cast

from ticdc_emit.config import ChangefeedConfig, LargeMessageHandle
from ticdc_emit.config.protocols import protocol_not_written

if TYPE_CHECKING:
    from ticdc_emit.changes.codec import Codec

__all__ = ["codec_for"]


def codec_for(changefeed: ChangefeedConfig) -> Codec:
    """Return the codec of the changefeed's protocol; :class:`ConfigError` for one that this library does not write."""
    protocol = changefeed.codec.protocol
    package = protocol.spec.package
    if package is None:
        raise protocol_not_written(protocol)
    # Encoders travel to workers as pickles, so their options hold no address, which may contain a password.
    own = LargeMessageHandle()
    options = replace(changefeed.codec, schema_registry=None, glue_schema_registry=None, large_message_handle=own)
    changefeed = replace(changefeed, codec=options)
    return cast("Codec", import_module(f"ticdc_emit.protocols.{package}.encoder").make_codec(changefeed))
