"""Which sink a changefeed writes to: the only module that knows all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.kafka import DEFAULT_PARTITION_NUM
from ticdc_emit.config.uri import FRAMINGS
from ticdc_emit.delivery.base import Sink
from ticdc_emit.delivery.files import FileSink
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.delivery.memory import MemorySink
from ticdc_emit.delivery.stdout import StdoutSink
from ticdc_emit.delivery.storage_files import StorageSink


def sink_for(config: ChangefeedConfig, librdkafka: Mapping[str, Any] | None = None) -> Sink:
    """Return the sink of ``kafka://``, ``jsonl://``, ``memory://``, ``stdout://``, or of a storage (``s3://`` ...)."""
    uri, limit = config.sink_uri, config.codec.max_message_bytes
    if uri.stored:
        return StorageSink.of(config)
    partitions = config.kafka.partition_num or DEFAULT_PARTITION_NUM
    if uri.scheme == "jsonl":
        return FileSink(uri.path, max_message_bytes=limit, new_partitions=partitions)
    if uri.scheme == "memory":
        return MemorySink(uri.path, max_message_bytes=limit, new_partitions=partitions)
    if uri.scheme == "stdout":
        return StdoutSink(uri.get("framing") or FRAMINGS[0], max_message_bytes=limit, new_partitions=partitions)
    sink = KafkaSink.of(config.kafka, librdkafka)
    return replace(sink, limited_by_topics=config.release.delivery.message_limit == "topic")
