"""Messages as rows for tests of sinks: a batch of them, what sends one, and whether a topic has any."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa

from ticdc_emit.delivery.base import MESSAGE_SCHEMA, DeliveryReport, Sink
from ticdc_emit.delivery.kafka_reader import read_topic
from ticdc_emit.errors import DeliveryError

Row = tuple[str, int, "bytes | None", "bytes | None"]
"""Topic, partition, key and value."""


def message_batch(*rows: Row) -> pa.RecordBatch:
    columns = [*(zip(*rows, strict=True) if rows else ([] for _ in Row.__args__)), range(len(rows))]
    arrays = [pa.array(values, member.type) for values, member in zip(columns, MESSAGE_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=MESSAGE_SCHEMA)


def send(sink: Sink, *rows: Row) -> DeliveryReport:
    """Send rows to topics that exist, and return what was acknowledged."""
    with sink.open() as writer:
        writer.write(message_batch(*rows))
        return writer.flush()


def has_messages(brokers: str, topic: str) -> bool:
    """Return whether a topic has a message; neither the broker nor the topic is there at once."""
    with suppress(DeliveryError):
        return bool(read_topic({"bootstrap.servers": brokers}, topic, newest=1, timeout_s=2))
    return False
