"""What reads messages: the formats' readers, a reference consumer, what a stream of messages must obey.

Nothing here imports an encoder or what encoders stand on, so an error of one is not repeated in the other.
"""

from __future__ import annotations

from ticdc_emit.consume.invariants import Finding
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.consume.storage_folder import FolderReader
from ticdc_emit.consume.tail import Tail, TailLine
from ticdc_emit.consume.verify import Verifier, verify
from ticdc_emit.protocols.avro.decoder import AvroReader, AvroRow, verify_checksum
from ticdc_emit.protocols.canal_json.decoder import CanalDdl, CanalJsonReader, CanalMessage, CanalRow, CanalWatermark
from ticdc_emit.protocols.debezium.decoder import DebeziumReader
from ticdc_emit.protocols.debezium_avro.decoder import DebeziumAvroReader
from ticdc_emit.protocols.debezium_common.records import (
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
from ticdc_emit.protocols.decoder import ClaimedMessage, EventReader, decompress, read_claim
from ticdc_emit.protocols.events import (
    BootstrapEvent,
    ChecksumMismatchError,
    DdlEvent,
    DecodeError,
    Event,
    RowEvent,
    WatermarkEvent,
)
from ticdc_emit.protocols.open_protocol.decoder import (
    OpenColumn,
    OpenDdl,
    OpenMessage,
    OpenProtocolReader,
    OpenRow,
    OpenWatermark,
)
from ticdc_emit.protocols.registered_avro import RegistrySchemas, SchemaSource
from ticdc_emit.protocols.simple.decoder import (
    SimpleBootstrap,
    SimpleDdl,
    SimpleMessage,
    SimpleReader,
    SimpleRow,
    SimpleWatermark,
)
from ticdc_emit.protocols.simple.schema import SimpleColumn, SimpleIndex, SimpleTableSchema
from ticdc_emit.protocols.simple.values import SimpleChecksum, SimpleTimestamp, row_values

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
    "FolderReader",
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
    "read_claim",
    "reader_for",
    "row_values",
    "verify",
    "verify_checksum",
]
