"""The target of a command that can run without any server, and reading the messages back from it.

In: the sink URI of the command line, if any. Out: otherwise an embedded Kafka and schema registry; the configuration;
the newest messages. Such commands send at most one watermark message per hundred rows. A running TiCDC sends about one
per second to every partition, however few rows there are, so most messages that the commands show would be watermarks.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ticdc_emit.config import DEFAULT_PARTITION_NUM, ChangefeedConfig, Protocol, load_changefeed
from ticdc_emit.config.document import read_document
from ticdc_emit.delivery.base import Message, Place
from ticdc_emit.errors import ConfigError

if TYPE_CHECKING:
    from ticdc_emit.testing import EmbeddedKafka

__all__ = ["changefeed_at", "messages_at", "messages_of_run", "place", "sparse_interval"]


_READ_BACK = 2_000  # messages per partition


def place(
    stack: ExitStack, sink_uri: str | None, topic: str, changefeed: str | os.PathLike[str] | dict[str, Any]
) -> tuple[EmbeddedKafka | None, str]:
    """Return the sink URI. If none was given, start an embedded Kafka and return that too.

    ``changefeed``: the changefeed file. With the embedded Kafka, a protocol with TiDB extension fields writes them.
    """
    if sink_uri is not None:
        return None, sink_uri
    from ticdc_emit.testing import EmbeddedKafka

    kafka = stack.enter_context(EmbeddedKafka())
    sink = read_document(changefeed).table("sink")
    protocol = Protocol.parse((sink.text("protocol") if sink else None) or "")
    extension = "?enable-tidb-extension=true" if protocol.spec.extension else ""
    return kafka, f"kafka://{kafka.bootstrap}/{topic}{extension}"


def changefeed_at(
    stack: ExitStack,
    uri: str,
    changefeed: str | os.PathLike[str] | dict[str, Any],
    schema_registry: str | None,
    time_zone: str = "UTC",
    profile: str | None = None,
) -> ChangefeedConfig:
    """Load the configuration; if it lacks a schema registry, start an embedded one."""
    options: dict[str, Any] = {"time_zone": time_zone, "profile": profile}
    try:
        return load_changefeed(uri, changefeed, schema_registry=schema_registry, **options)
    except ConfigError as error:
        if error.context.get("option") != "schema-registry" or schema_registry is not None:
            raise
    from ticdc_emit.testing import EmbeddedRegistry

    url = stack.enter_context(EmbeddedRegistry()).url
    return load_changefeed(uri, changefeed, schema_registry=url, **options)


def messages_of_run(
    config: ChangefeedConfig, topics: Iterable[str], kafka: EmbeddedKafka | None = None
) -> list[Message]:
    """Return the newest messages of each partition of the topics that a run sent to."""
    if config.sink_uri.embedded:
        newest: dict[Place, deque[Message]] = {}
        for message in messages_at(config, None):
            newest.setdefault(message[:2], deque(maxlen=_READ_BACK)).append(message)
        return [message for place in newest.values() for message in place if message.topic in set(topics)]
    if kafka is not None:
        return [message for topic in topics for message in kafka.read(topic, newest=_READ_BACK)]
    from ticdc_emit.delivery.kafka import KafkaSink
    from ticdc_emit.delivery.kafka_reader import read_topic

    settings = KafkaSink.of(config.kafka).connection_settings()
    return [message for topic in topics for message in read_topic(settings, topic, newest=_READ_BACK)]


def messages_at(config: ChangefeedConfig, kafka: EmbeddedKafka | None) -> list[Message]:
    """Return the newest messages of each partition of the default topic."""
    topic = config.kafka.topic
    if kafka is not None:
        return kafka.read(topic, newest=_READ_BACK)
    if config.sink_uri.scheme == "memory":
        from ticdc_emit.delivery.memory import messages

        return messages(config.sink_uri.path)
    if config.sink_uri.scheme == "file":
        from ticdc_emit.delivery.files import read_files

        return list(read_files(config.sink_uri.path))
    from ticdc_emit.delivery.kafka import KafkaSink
    from ticdc_emit.delivery.kafka_reader import read_topic

    return read_topic(KafkaSink.of(config.kafka).connection_settings(), topic, newest=_READ_BACK)


_ROWS_PER_MESSAGE = 100


def sparse_interval(config: ChangefeedConfig, rows: int, seconds: float) -> float:
    """Return the interval, in whole seconds of commit time, for ``rows`` changes that take ``seconds`` of it.

    Returns 0, one watermark at the end, if there are too few rows for a watermark on each partition.
    """
    partitions = config.kafka.partition_num or DEFAULT_PARTITION_NUM
    ticks = rows // (_ROWS_PER_MESSAGE * partitions)
    return float(max(1, math.ceil(seconds / ticks))) if ticks else 0.0
