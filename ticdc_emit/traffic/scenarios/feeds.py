"""The changefeeds that send scenarios: one per protocol and encoding, with the options that a correct consumer needs.

In: the name of a feed (:data:`FEEDS`). Out: a sink URI and a configuration. All have ``enable-tidb-extension`` if it
exists, because most scenarios look alike without commit_ts and watermarks. Each row is one message, because scenarios
reorder and repeat messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from ticdc_emit.config import ChangefeedConfig, Profile, load_changefeed
from ticdc_emit.config.protocols import (
    FORMS,
    form_of,
    parse_protocol_name,
    protocol_parameters,
    traits_of,
)
from ticdc_emit.errors import ConfigError

__all__ = ["FEEDS", "WITH_CHECKSUMS", "WITH_DDL", "WITH_DEFAULTS", "feed_name", "feed_of", "load_feed"]


_REGISTRY = "http://127.0.0.1:8081"  # never used: scenarios come with their schemas

FEEDS = FORMS
"""The forms of scenarios: a protocol, for Simple with its encoding."""

WITH_DDL = tuple(name for name in FEEDS if traits_of(name).ddl)
"""Feeds that send DDL and watermarks."""

WITH_DEFAULTS = tuple(name for name in FEEDS if traits_of(name).tells_defaults)
"""Feeds that show the value of a new column in old rows."""

WITH_CHECKSUMS = tuple(name for name in FEEDS if traits_of(name).row_checksums)
"""Feeds whose rows can have checksums."""


def load_feed(
    feed: str,
    topic: str,
    partitions: int,
    changefeed: Mapping[str, Any],
    *,
    profile: str | Profile | None,
    time_zone: str,
    schema_registry: str | None,
) -> tuple[str, ChangefeedConfig]:
    """Return the sink URI and configuration of a feed. ``pipeline``: the changefeed file, as a mapping.

    ``profile``: default the first lineage that has the protocol.
    """
    traits = traits_of(feed)
    parameters = {**protocol_parameters(feed), **dict(traits.lossless), "partition-num": str(partitions)}
    if traits.extension:
        parameters["enable-tidb-extension"] = "true"
    if traits.packs_rows:
        parameters["max-batch-size"] = "1"
    uri = f"kafka://127.0.0.1:9092/{topic}?{urlencode(parameters)}"
    registry = (schema_registry or _REGISTRY) if traits.registers_schemas else None
    (lineage, *_) = traits.lineages
    return uri, load_changefeed(
        uri, changefeed, profile=profile or lineage, time_zone=time_zone, schema_registry=registry
    )


def feed_name(protocol: str) -> str:
    """Return the feed for the protocol in an option; :class:`~ticdc_emit.errors.ConfigError` if there is none."""
    return form_of(*parse_protocol_name(protocol))


def feed_of(config: ChangefeedConfig) -> str:
    """Return the feed of a configuration.

    Raises :class:`~ticdc_emit.errors.ConfigError` for a protocol without scenarios.
    """
    form = config.codec.form
    if form not in FEEDS:
        raise ConfigError(
            f"no scenario has the protocol {form}",
            remedy=f"Use one of {', '.join(FEEDS)}",
            option="protocol",
        )
    return form
