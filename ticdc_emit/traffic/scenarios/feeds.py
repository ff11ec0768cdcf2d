"""The changefeeds that send scenarios: one per protocol and encoding, with what lets a consumer be correct.

In: the name of a feed (:data:`FEEDS`). Out: a sink URI and a configuration. All have ``enable-tidb-extension`` where
there is one: without commit_ts and watermarks most scenarios cannot be told from one another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.config.protocol import Protocol, parse_protocol_name, protocol_parameters
from ticdc_emit.errors import ConfigError

__all__ = ["FEEDS", "WITH_CHECKSUMS", "WITH_DDL", "feed_name", "feed_of", "load_feed"]

_EXTENSION = {"enable-tidb-extension": "true"}
_PARAMETERS: dict[str, dict[str, str]] = {
    "canal-json": {"protocol": "canal-json", **_EXTENSION},
    "simple-json": protocol_parameters("simple-json"),
    "simple-avro": protocol_parameters("simple-avro"),
    "debezium": {"protocol": "debezium", **_EXTENSION},
    "avro": {
        "protocol": "avro",
        **_EXTENSION,
        "avro-decimal-handling-mode": "string",
        "avro-bigint-unsigned-handling-mode": "string",
    },
}
_REGISTRY = "http://127.0.0.1:8081"  # never asked: scenarios come with their schemas

FEEDS = tuple(_PARAMETERS)
"""What scenarios are sent as: a protocol, of Simple with its encoding."""

WITH_DDL = tuple(name for name in FEEDS if name != "avro")
"""Feeds that send DDL and watermarks."""

WITH_CHECKSUMS = ("simple-json", "simple-avro", "avro")
"""Feeds whose rows can have checksums."""


def load_feed(
    feed: str, topic: str, partitions: int, changefeed: Mapping[str, Any], time_zone: str, schema_registry: str | None
) -> tuple[str, ChangefeedConfig]:
    """Return the sink URI and configuration of a feed. ``changefeed``: the changefeed file, as a mapping."""
    parameters = {**_PARAMETERS[feed], "partition-num": str(partitions)}
    uri = f"kafka://127.0.0.1:9092/{topic}?{urlencode(parameters)}"
    registry = (schema_registry or _REGISTRY) if feed == "avro" else None
    return uri, load_changefeed(uri, changefeed, time_zone=time_zone, schema_registry=registry)


def feed_name(protocol: str) -> str:
    """Return the feed of a protocol that an option names; :class:`~ticdc_emit.errors.ConfigError` if there is none."""
    name, encoding = parse_protocol_name(protocol)
    return f"simple-{encoding or 'json'}" if name is Protocol.SIMPLE else name.value


def feed_of(config: ChangefeedConfig) -> str:
    """Return the feed that a configuration's messages are of.

    Raises :class:`~ticdc_emit.errors.ConfigError` for a protocol without scenarios.
    """
    protocol = config.codec.protocol
    if protocol is Protocol.SIMPLE:
        return f"simple-{config.codec.encoding_format}"
    if protocol.value not in FEEDS:
        raise ConfigError(
            f"there are no scenarios of the protocol {protocol.value}",
            remedy=f"Use one of {', '.join(FEEDS)}",
            option="protocol",
        )
    return str(protocol.value)
