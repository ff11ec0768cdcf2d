"""What reads messages. Nothing here imports what encoders stand on, so an error of one is not repeated in the other."""

from __future__ import annotations

from ticdc_emit.consume.invariants import Finding
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.consume.storage_folder import FolderReader
from ticdc_emit.consume.tail import Tail, TailLine
from ticdc_emit.consume.verify import Verifier, verify
from ticdc_emit.protocols.avro.decoder import AvroReader, verify_checksum
from ticdc_emit.protocols.canal_json.decoder import CanalJsonReader
from ticdc_emit.protocols.debezium.decoder import DebeziumReader
from ticdc_emit.protocols.debezium_avro.decoder import DebeziumAvroReader
from ticdc_emit.protocols.debezium_common.records import DebeziumField
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
from ticdc_emit.protocols.open_protocol.decoder import OpenColumn, OpenProtocolReader
from ticdc_emit.protocols.registered_avro import RegistrySchemas, SchemaSource
from ticdc_emit.protocols.simple.decoder import SimpleReader
from ticdc_emit.protocols.simple.values import SimpleChecksum, SimpleTimestamp

__all__ = [
    "AvroReader",
    "BootstrapEvent",
    "CanalJsonReader",
    "ChecksumMismatchError",
    "ClaimedMessage",
    "DdlEvent",
    "DebeziumAvroReader",
    "DebeziumField",
    "DebeziumReader",
    "DecodeError",
    "Event",
    "EventReader",
    "Finding",
    "FolderReader",
    "OpenColumn",
    "OpenProtocolReader",
    "ReferenceConsumer",
    "RegistrySchemas",
    "RowEvent",
    "SchemaSource",
    "SimpleChecksum",
    "SimpleReader",
    "SimpleTimestamp",
    "Tail",
    "TailLine",
    "Verifier",
    "WatermarkEvent",
    "decompress",
    "read_claim",
    "reader_for",
    "verify",
    "verify_checksum",
]
