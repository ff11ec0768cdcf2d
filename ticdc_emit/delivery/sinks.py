"""Which sink a changefeed's URI means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ticdc_emit.config import DEFAULT_PARTITION_NUM, ChangefeedConfig
from ticdc_emit.delivery.contract import Sink
from ticdc_emit.delivery.files import FileSink
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.delivery.memory_sink import MemorySink

__all__ = ["sink_for"]


def sink_for(changefeed: ChangefeedConfig, librdkafka: Mapping[str, Any] | None = None) -> Sink:
    """Return the sink of ``kafka://``, ``file://`` or ``memory://``; ``librdkafka`` holds further client settings."""
    uri, limit = changefeed.sink_uri, changefeed.codec.max_message_bytes
    partitions = changefeed.kafka.partition_num or DEFAULT_PARTITION_NUM
    if uri.scheme == "file":
        return FileSink(uri.path, max_message_bytes=limit, new_partitions=partitions)
    if uri.scheme == "memory":
        return MemorySink(uri.path, max_message_bytes=limit, new_partitions=partitions)
    sink = KafkaSink.of(changefeed.kafka, librdkafka)
    return replace(sink, limited_by_topics=changefeed.profile.delivery.message_limit == "topic")
