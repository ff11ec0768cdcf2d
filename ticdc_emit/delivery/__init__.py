"""Delivery: batches of messages in, acknowledged messages out, per-partition order kept.

Only ``delivery.kafka*`` talk to confluent_kafka, and only inside their functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.delivery.base import (
        MESSAGE_SCHEMA,
        DeliveryReport,
        Message,
        MessageWriter,
        PartitionCount,
        Sink,
        to_messages,
    )
    from ticdc_emit.delivery.claims import ClaimStore
    from ticdc_emit.delivery.files import FileSink, read_files
    from ticdc_emit.delivery.kafka import KafkaSink
    from ticdc_emit.delivery.memory import MemorySink, messages
    from ticdc_emit.delivery.sinks import sink_for
    from ticdc_emit.delivery.stdout import StdoutSink

__all__ = [
    "MESSAGE_SCHEMA",
    "ClaimStore",
    "DeliveryReport",
    "FileSink",
    "KafkaSink",
    "MemorySink",
    "Message",
    "MessageWriter",
    "PartitionCount",
    "Sink",
    "StdoutSink",
    "messages",
    "read_files",
    "sink_for",
    "to_messages",
]

__getattr__, __dir__ = lazy(__name__)
