"""Delivery: batches of messages in, acknowledged messages out, per-partition order kept.

Only ``delivery.kafka*`` talk to confluent_kafka, and only inside their functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.delivery.base import MESSAGE_SCHEMA as MESSAGE_SCHEMA
    from ticdc_emit.delivery.base import DeliveryReport as DeliveryReport
    from ticdc_emit.delivery.base import Message as Message
    from ticdc_emit.delivery.base import MessageWriter as MessageWriter
    from ticdc_emit.delivery.base import PartitionCount as PartitionCount
    from ticdc_emit.delivery.base import Sink as Sink
    from ticdc_emit.delivery.base import to_messages as to_messages
    from ticdc_emit.delivery.claims import ClaimStore as ClaimStore
    from ticdc_emit.delivery.files import FileSink as FileSink
    from ticdc_emit.delivery.files import read_files as read_files
    from ticdc_emit.delivery.kafka import KafkaSink as KafkaSink
    from ticdc_emit.delivery.memory import MemorySink as MemorySink
    from ticdc_emit.delivery.memory import messages as messages
    from ticdc_emit.delivery.sinks import sink_for as sink_for
    from ticdc_emit.delivery.stdout import StdoutSink as StdoutSink

__getattr__, __dir__ = lazy(__name__)
