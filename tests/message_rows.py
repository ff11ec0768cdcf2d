"""Messages as rows for tests of sinks: a batch of them, and what sends one."""

from __future__ import annotations

import pyarrow as pa

from ticdc_emit.delivery import MESSAGE_SCHEMA, DeliveryReport, Sink

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
