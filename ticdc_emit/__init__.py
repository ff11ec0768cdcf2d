"""ticdc_emit: emit the exact bytes that TiCDC would put on Kafka, without a TiDB cluster.

What is public is here and in five modules: ``ticdc_emit.config``, ``errors``, ``spark``, ``strategies`` and
``testing``. All other modules are internal and change without notice. Each name is imported when it is first used, so
you need pyspark, confluent_kafka and hypothesis only for those that use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.config import ChangefeedConfig as ChangefeedConfig
    from ticdc_emit.config import load_changefeed as load_changefeed
    from ticdc_emit.consume.invariants import Finding as Finding
    from ticdc_emit.consume.readers import reader_for as reader_for
    from ticdc_emit.consume.reference_consumer import ReferenceConsumer as ReferenceConsumer
    from ticdc_emit.consume.storage_folder import FolderReader as FolderReader
    from ticdc_emit.consume.tail import Tail as Tail
    from ticdc_emit.consume.verify import Verifier as Verifier
    from ticdc_emit.consume.verify import verify as verify
    from ticdc_emit.delivery.base import DeliveryReport as DeliveryReport
    from ticdc_emit.delivery.base import Message as Message
    from ticdc_emit.delivery.base import Sink as Sink
    from ticdc_emit.delivery.base import to_messages as to_messages
    from ticdc_emit.delivery.claims import ClaimStore as ClaimStore
    from ticdc_emit.delivery.files import FileSink as FileSink
    from ticdc_emit.delivery.files import read_files as read_files
    from ticdc_emit.delivery.kafka import KafkaSink as KafkaSink
    from ticdc_emit.delivery.memory import MemorySink as MemorySink
    from ticdc_emit.delivery.memory import messages as messages
    from ticdc_emit.delivery.sinks import sink_for as sink_for
    from ticdc_emit.encoder import Encoder as Encoder
    from ticdc_emit.errors import TicdcEmitError as TicdcEmitError
    from ticdc_emit.observe.reports import ChangefeedMetrics as ChangefeedMetrics
    from ticdc_emit.observe.reports import log_report as log_report
    from ticdc_emit.observe.reports import report_line as report_line
    from ticdc_emit.pipeline.direct import ArrowBatch as ArrowBatch
    from ticdc_emit.pipeline.options import RunOptions as RunOptions
    from ticdc_emit.pipeline.plan.ddl import restore_ddl as restore_ddl
    from ticdc_emit.pipeline.report import RunReport as RunReport
    from ticdc_emit.pipeline.run import Changefeed as Changefeed
    from ticdc_emit.profile import model_text as model_text
    from ticdc_emit.profile import profile_of as profile_of
    from ticdc_emit.protocols.avro.decoder import AvroReader as AvroReader
    from ticdc_emit.protocols.avro.decoder import verify_checksum as verify_checksum
    from ticdc_emit.protocols.canal_json.decoder import CanalJsonReader as CanalJsonReader
    from ticdc_emit.protocols.debezium.decoder import DebeziumReader as DebeziumReader
    from ticdc_emit.protocols.debezium_avro.decoder import DebeziumAvroReader as DebeziumAvroReader
    from ticdc_emit.protocols.decoder import read_claim as read_claim
    from ticdc_emit.protocols.events import BootstrapEvent as BootstrapEvent
    from ticdc_emit.protocols.events import ChecksumMismatchError as ChecksumMismatchError
    from ticdc_emit.protocols.events import DdlEvent as DdlEvent
    from ticdc_emit.protocols.events import DecodeError as DecodeError
    from ticdc_emit.protocols.events import RowEvent as RowEvent
    from ticdc_emit.protocols.events import WatermarkEvent as WatermarkEvent
    from ticdc_emit.protocols.open_protocol.decoder import OpenProtocolReader as OpenProtocolReader
    from ticdc_emit.protocols.registered_avro import RegistrySchemas as RegistrySchemas
    from ticdc_emit.protocols.simple.decoder import SimpleReader as SimpleReader
    from ticdc_emit.registry.base import MemoryRegistry as MemoryRegistry
    from ticdc_emit.registry.base import SchemaRegistry as SchemaRegistry
    from ticdc_emit.registry.base import registry_for as registry_for
    from ticdc_emit.registry.confluent import ConfluentRegistry as ConfluentRegistry
    from ticdc_emit.registry.glue import GlueRegistry as GlueRegistry
    from ticdc_emit.registry.headers import RegisteredSchema as RegisteredSchema
    from ticdc_emit.registry.http import RegistryTls as RegistryTls
    from ticdc_emit.schema.catalog import Catalog as Catalog
    from ticdc_emit.schema.catalog import catalog_from_sql as catalog_from_sql
    from ticdc_emit.schema.frames.any_frame import AssumedSchemaWarning as AssumedSchemaWarning
    from ticdc_emit.schema.frames.any_frame import table_of as table_of
    from ticdc_emit.schema.frames.any_frame import table_sql as table_sql
    from ticdc_emit.schema.frames.source_table import SourceColumn as SourceColumn
    from ticdc_emit.schema.frames.source_table import SourceTable as SourceTable
    from ticdc_emit.schema.model import TableInfo as TableInfo
    from ticdc_emit.schema.scripts import SourceSchema as SourceSchema
    from ticdc_emit.schema.scripts import schema_sql as schema_sql
    from ticdc_emit.schema.scripts import source_schema as source_schema
    from ticdc_emit.spark import TicdcSink as TicdcSink
    from ticdc_emit.spark import local_session as local_session
    from ticdc_emit.spark.change_feed import from_changes as from_changes
    from ticdc_emit.storage.folder import MemoryFolder as MemoryFolder
    from ticdc_emit.strategies.changefeeds import changefeeds as changefeeds
    from ticdc_emit.strategies.histories import histories as histories
    from ticdc_emit.testing import EmbeddedKafka as EmbeddedKafka
    from ticdc_emit.testing import EmbeddedRegistry as EmbeddedRegistry
    from ticdc_emit.testing import MemoryTopics as MemoryTopics
    from ticdc_emit.traffic.generate import generate as generate
    from ticdc_emit.traffic.generate import generate_arrow as generate_arrow
    from ticdc_emit.traffic.generate import generate_stream as generate_stream
    from ticdc_emit.traffic.history import History as History
    from ticdc_emit.traffic.replay.column_history import table_ddl as table_ddl
    from ticdc_emit.traffic.replay.ddl_history import backfilled as backfilled
    from ticdc_emit.traffic.replay.ddl_history import read_ddl as read_ddl
    from ticdc_emit.traffic.replay.ddl_history import versions_of as versions_of
    from ticdc_emit.traffic.replay.history_forms import HistoryWarning as HistoryWarning
    from ticdc_emit.traffic.replay.history_forms import from_operations as from_operations
    from ticdc_emit.traffic.replay.history_forms import from_snapshots as from_snapshots
    from ticdc_emit.traffic.replay.history_forms import from_validity as from_validity
    from ticdc_emit.traffic.replay.history_forms import snapshot_diff as snapshot_diff
    from ticdc_emit.traffic.replay.history_forms import snapshot_inserts as snapshot_inserts
    from ticdc_emit.traffic.replay.new_versions import send_new_versions as send_new_versions
    from ticdc_emit.traffic.replay.run import replay as replay
    from ticdc_emit.traffic.replay.sources import read_source as read_source
    from ticdc_emit.traffic.replay.table_versions import read_changes as read_changes
    from ticdc_emit.traffic.sample_schemas import sample_names as sample_names
    from ticdc_emit.traffic.sample_schemas import sample_schema as sample_schema
    from ticdc_emit.traffic.scenarios.files import file_scenario as file_scenario
    from ticdc_emit.traffic.scenarios.files import file_scenarios as file_scenarios
    from ticdc_emit.traffic.scenarios.library import scenario as scenario
    from ticdc_emit.traffic.scenarios.library import scenarios as scenarios

__version__ = "0.1.0"

__getattr__, __dir__ = lazy(__name__)
