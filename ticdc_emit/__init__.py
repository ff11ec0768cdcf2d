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
    from ticdc_emit.consume import AvroReader as AvroReader
    from ticdc_emit.consume import BootstrapEvent as BootstrapEvent
    from ticdc_emit.consume import CanalJsonReader as CanalJsonReader
    from ticdc_emit.consume import ChecksumMismatchError as ChecksumMismatchError
    from ticdc_emit.consume import DdlEvent as DdlEvent
    from ticdc_emit.consume import DebeziumAvroReader as DebeziumAvroReader
    from ticdc_emit.consume import DebeziumReader as DebeziumReader
    from ticdc_emit.consume import DecodeError as DecodeError
    from ticdc_emit.consume import Finding as Finding
    from ticdc_emit.consume import FolderReader as FolderReader
    from ticdc_emit.consume import OpenProtocolReader as OpenProtocolReader
    from ticdc_emit.consume import ReferenceConsumer as ReferenceConsumer
    from ticdc_emit.consume import RegistrySchemas as RegistrySchemas
    from ticdc_emit.consume import RowEvent as RowEvent
    from ticdc_emit.consume import SimpleReader as SimpleReader
    from ticdc_emit.consume import Tail as Tail
    from ticdc_emit.consume import Verifier as Verifier
    from ticdc_emit.consume import WatermarkEvent as WatermarkEvent
    from ticdc_emit.consume import read_claim as read_claim
    from ticdc_emit.consume import reader_for as reader_for
    from ticdc_emit.consume import verify as verify
    from ticdc_emit.consume import verify_checksum as verify_checksum
    from ticdc_emit.delivery import ClaimStore as ClaimStore
    from ticdc_emit.delivery import DeliveryReport as DeliveryReport
    from ticdc_emit.delivery import FileSink as FileSink
    from ticdc_emit.delivery import KafkaSink as KafkaSink
    from ticdc_emit.delivery import MemorySink as MemorySink
    from ticdc_emit.delivery import Message as Message
    from ticdc_emit.delivery import Sink as Sink
    from ticdc_emit.delivery import messages as messages
    from ticdc_emit.delivery import read_files as read_files
    from ticdc_emit.delivery import sink_for as sink_for
    from ticdc_emit.delivery import to_messages as to_messages
    from ticdc_emit.encoder import Encoder as Encoder
    from ticdc_emit.errors import TicdcEmitError as TicdcEmitError
    from ticdc_emit.observe import ChangefeedMetrics as ChangefeedMetrics
    from ticdc_emit.observe import log_report as log_report
    from ticdc_emit.observe import report_line as report_line
    from ticdc_emit.pipeline import ArrowBatch as ArrowBatch
    from ticdc_emit.pipeline import Changefeed as Changefeed
    from ticdc_emit.pipeline import RunOptions as RunOptions
    from ticdc_emit.pipeline import RunReport as RunReport
    from ticdc_emit.pipeline.plan.ddl import restore_ddl as restore_ddl
    from ticdc_emit.profile import model_text as model_text
    from ticdc_emit.profile import profile_of as profile_of
    from ticdc_emit.registry import ConfluentRegistry as ConfluentRegistry
    from ticdc_emit.registry import GlueRegistry as GlueRegistry
    from ticdc_emit.registry import MemoryRegistry as MemoryRegistry
    from ticdc_emit.registry import RegisteredSchema as RegisteredSchema
    from ticdc_emit.registry import RegistryTls as RegistryTls
    from ticdc_emit.registry import SchemaRegistry as SchemaRegistry
    from ticdc_emit.registry import registry_for as registry_for
    from ticdc_emit.schema.catalog import Catalog as Catalog
    from ticdc_emit.schema.catalog import catalog_from_sql as catalog_from_sql
    from ticdc_emit.schema.frames import AssumedSchemaWarning as AssumedSchemaWarning
    from ticdc_emit.schema.frames import SourceColumn as SourceColumn
    from ticdc_emit.schema.frames import SourceTable as SourceTable
    from ticdc_emit.schema.frames import table_of as table_of
    from ticdc_emit.schema.frames import table_sql as table_sql
    from ticdc_emit.schema.model import TableInfo as TableInfo
    from ticdc_emit.schema.scripts import SourceSchema as SourceSchema
    from ticdc_emit.schema.scripts import schema_sql as schema_sql
    from ticdc_emit.schema.scripts import source_schema as source_schema
    from ticdc_emit.spark import TicdcSink as TicdcSink
    from ticdc_emit.spark import local_session as local_session
    from ticdc_emit.storage import MemoryFolder as MemoryFolder
    from ticdc_emit.strategies.changefeeds import changefeeds as changefeeds
    from ticdc_emit.strategies.histories import histories as histories
    from ticdc_emit.testing import EmbeddedKafka as EmbeddedKafka
    from ticdc_emit.testing import EmbeddedRegistry as EmbeddedRegistry
    from ticdc_emit.testing import MemoryTopics as MemoryTopics
    from ticdc_emit.traffic import History as History
    from ticdc_emit.traffic import sample_names as sample_names
    from ticdc_emit.traffic import sample_schema as sample_schema
    from ticdc_emit.traffic.generate import generate as generate
    from ticdc_emit.traffic.generate import generate_arrow as generate_arrow
    from ticdc_emit.traffic.generate import generate_stream as generate_stream
    from ticdc_emit.traffic.replay import HistoryWarning as HistoryWarning
    from ticdc_emit.traffic.replay import backfilled as backfilled
    from ticdc_emit.traffic.replay import from_changes as from_changes
    from ticdc_emit.traffic.replay import from_operations as from_operations
    from ticdc_emit.traffic.replay import from_snapshots as from_snapshots
    from ticdc_emit.traffic.replay import from_validity as from_validity
    from ticdc_emit.traffic.replay import read_changes as read_changes
    from ticdc_emit.traffic.replay import read_ddl as read_ddl
    from ticdc_emit.traffic.replay import read_source as read_source
    from ticdc_emit.traffic.replay import replay as replay
    from ticdc_emit.traffic.replay import send_new_versions as send_new_versions
    from ticdc_emit.traffic.replay import snapshot_diff as snapshot_diff
    from ticdc_emit.traffic.replay import snapshot_inserts as snapshot_inserts
    from ticdc_emit.traffic.replay import table_ddl as table_ddl
    from ticdc_emit.traffic.replay import versions_of as versions_of
    from ticdc_emit.traffic.scenarios import file_scenario as file_scenario
    from ticdc_emit.traffic.scenarios import file_scenarios as file_scenarios
    from ticdc_emit.traffic.scenarios import scenario as scenario
    from ticdc_emit.traffic.scenarios import scenarios as scenarios

__version__ = "0.1.0"

__getattr__, __dir__ = lazy(__name__)
