"""Readers of the messages, for round trips and for consumers. They share no code with the encoders.

Nothing here imports ``protocols``, ``columnar`` or ``pipeline``, so an error in one is not repeated in the other.
"""

from ticdc_emit.decode.avro.checksum import verify_checksum
from ticdc_emit.decode.avro.reader import AvroReader, AvroRow
from ticdc_emit.decode.canal_json.reader import CanalDdl, CanalJsonReader, CanalMessage, CanalRow, CanalWatermark
from ticdc_emit.decode.claim_check import ClaimedMessage, read_claim
from ticdc_emit.decode.compression import decompress
from ticdc_emit.decode.connect.records import (
    DebeziumColumn,
    DebeziumDdl,
    DebeziumField,
    DebeziumMessage,
    DebeziumRow,
    DebeziumSource,
    DebeziumTable,
    DebeziumTableChange,
    DebeziumWatermark,
)
from ticdc_emit.decode.consumer import ReferenceConsumer
from ticdc_emit.decode.debezium.reader import DebeziumReader
from ticdc_emit.decode.debezium_avro.reader import DebeziumAvroReader
from ticdc_emit.decode.errors import ChecksumMismatchError, DecodeError
from ticdc_emit.decode.events import BootstrapEvent, DdlEvent, Event, RowEvent, WatermarkEvent
from ticdc_emit.decode.invariants import Finding, Verifier, verify
from ticdc_emit.decode.open_protocol.reader import OpenProtocolReader
from ticdc_emit.decode.open_protocol.records import OpenColumn, OpenDdl, OpenMessage, OpenRow, OpenWatermark
from ticdc_emit.decode.plots import plot_messages, plot_timeline
from ticdc_emit.decode.readers import EventReader, reader_for
from ticdc_emit.decode.schemas import RegistrySchemas, SchemaSource
from ticdc_emit.decode.simple.reader import SimpleReader
from ticdc_emit.decode.simple.records import (
    SimpleBootstrap,
    SimpleChecksum,
    SimpleColumn,
    SimpleDdl,
    SimpleIndex,
    SimpleMessage,
    SimpleRow,
    SimpleTableSchema,
    SimpleTimestamp,
    SimpleWatermark,
)
from ticdc_emit.decode.simple.values import row_values
from ticdc_emit.decode.tail import Tail, TailLine

__all__ = [
    "AvroReader",
    "AvroRow",
    "BootstrapEvent",
    "CanalDdl",
    "CanalJsonReader",
    "CanalMessage",
    "CanalRow",
    "CanalWatermark",
    "ChecksumMismatchError",
    "ClaimedMessage",
    "DdlEvent",
    "DebeziumAvroReader",
    "DebeziumColumn",
    "DebeziumDdl",
    "DebeziumField",
    "DebeziumMessage",
    "DebeziumReader",
    "DebeziumRow",
    "DebeziumSource",
    "DebeziumTable",
    "DebeziumTableChange",
    "DebeziumWatermark",
    "DecodeError",
    "Event",
    "EventReader",
    "Finding",
    "OpenColumn",
    "OpenDdl",
    "OpenMessage",
    "OpenProtocolReader",
    "OpenRow",
    "OpenWatermark",
    "ReferenceConsumer",
    "RegistrySchemas",
    "RowEvent",
    "SchemaSource",
    "SimpleBootstrap",
    "SimpleChecksum",
    "SimpleColumn",
    "SimpleDdl",
    "SimpleIndex",
    "SimpleMessage",
    "SimpleReader",
    "SimpleRow",
    "SimpleTableSchema",
    "SimpleTimestamp",
    "SimpleWatermark",
    "Tail",
    "TailLine",
    "Verifier",
    "WatermarkEvent",
    "decompress",
    "plot_messages",
    "plot_timeline",
    "read_claim",
    "reader_for",
    "row_values",
    "verify",
    "verify_checksum",
]
