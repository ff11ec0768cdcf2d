"""ticdc_emit: emit the exact bytes that TiCDC would put on Kafka, without a TiDB cluster.

What is public is here and in five modules: ``ticdc_emit.config``, ``errors``, ``spark``, ``strategies`` and
``testing``. All other modules are internal and change without notice. Each name is imported when it is first used, so
you need pyspark, confluent_kafka and hypothesis only for those that use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.config import ChangefeedConfig, load_changefeed
    from ticdc_emit.consume import (
        AvroReader,
        BootstrapEvent,
        CanalJsonReader,
        ChecksumMismatchError,
        DdlEvent,
        DebeziumAvroReader,
        DebeziumReader,
        DecodeError,
        Finding,
        FolderReader,
        OpenProtocolReader,
        ReferenceConsumer,
        RegistrySchemas,
        RowEvent,
        SimpleReader,
        Tail,
        Verifier,
        WatermarkEvent,
        read_claim,
        reader_for,
        verify,
        verify_checksum,
    )
    from ticdc_emit.delivery import (
        ClaimStore,
        DeliveryReport,
        FileSink,
        KafkaSink,
        MemorySink,
        Message,
        Sink,
        messages,
        read_files,
        sink_for,
        to_messages,
    )
    from ticdc_emit.encoder import Encoder
    from ticdc_emit.errors import TicdcEmitError
    from ticdc_emit.observe import ChangefeedMetrics, log_report, report_line
    from ticdc_emit.pipeline import ArrowBatch, Changefeed, RunOptions, RunReport
    from ticdc_emit.pipeline.plan.ddl import restore_ddl
    from ticdc_emit.profile import model_text, profile_of
    from ticdc_emit.registry import (
        ConfluentRegistry,
        GlueRegistry,
        MemoryRegistry,
        RegisteredSchema,
        RegistryTls,
        SchemaRegistry,
        registry_for,
    )
    from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
    from ticdc_emit.schema.frames import AssumedSchemaWarning, SourceColumn, SourceTable, table_of, table_sql
    from ticdc_emit.schema.model import TableInfo
    from ticdc_emit.schema.scripts import SourceSchema, schema_sql, source_schema
    from ticdc_emit.spark import TicdcSink, local_session
    from ticdc_emit.storage import MemoryFolder
    from ticdc_emit.strategies.changefeeds import changefeeds
    from ticdc_emit.strategies.histories import histories
    from ticdc_emit.testing import EmbeddedKafka, EmbeddedRegistry, MemoryTopics
    from ticdc_emit.traffic import History, sample_names, sample_schema
    from ticdc_emit.traffic.generate import generate, generate_arrow, generate_stream
    from ticdc_emit.traffic.replay import (
        HistoryWarning,
        backfilled,
        from_changes,
        from_operations,
        from_snapshots,
        from_validity,
        read_changes,
        read_ddl,
        read_source,
        replay,
        send_new_versions,
        snapshot_diff,
        snapshot_inserts,
        table_ddl,
        versions_of,
    )
    from ticdc_emit.traffic.scenarios import file_scenario, file_scenarios, scenario, scenarios

__all__ = [
    "ArrowBatch",
    "AssumedSchemaWarning",
    "AvroReader",
    "BootstrapEvent",
    "CanalJsonReader",
    "Catalog",
    "Changefeed",
    "ChangefeedConfig",
    "ChangefeedMetrics",
    "ChecksumMismatchError",
    "ClaimStore",
    "ConfluentRegistry",
    "DdlEvent",
    "DebeziumAvroReader",
    "DebeziumReader",
    "DecodeError",
    "DeliveryReport",
    "EmbeddedKafka",
    "EmbeddedRegistry",
    "Encoder",
    "FileSink",
    "Finding",
    "FolderReader",
    "GlueRegistry",
    "History",
    "HistoryWarning",
    "KafkaSink",
    "MemoryFolder",
    "MemoryRegistry",
    "MemorySink",
    "MemoryTopics",
    "Message",
    "OpenProtocolReader",
    "ReferenceConsumer",
    "RegisteredSchema",
    "RegistrySchemas",
    "RegistryTls",
    "RowEvent",
    "RunOptions",
    "RunReport",
    "SchemaRegistry",
    "SimpleReader",
    "Sink",
    "SourceColumn",
    "SourceSchema",
    "SourceTable",
    "TableInfo",
    "Tail",
    "TicdcEmitError",
    "TicdcSink",
    "Verifier",
    "WatermarkEvent",
    "backfilled",
    "catalog_from_sql",
    "changefeeds",
    "file_scenario",
    "file_scenarios",
    "from_changes",
    "from_operations",
    "from_snapshots",
    "from_validity",
    "generate",
    "generate_arrow",
    "generate_stream",
    "histories",
    "load_changefeed",
    "local_session",
    "log_report",
    "messages",
    "model_text",
    "profile_of",
    "read_changes",
    "read_claim",
    "read_ddl",
    "read_files",
    "read_source",
    "reader_for",
    "registry_for",
    "replay",
    "report_line",
    "restore_ddl",
    "sample_names",
    "sample_schema",
    "scenario",
    "scenarios",
    "schema_sql",
    "send_new_versions",
    "sink_for",
    "snapshot_diff",
    "snapshot_inserts",
    "source_schema",
    "table_ddl",
    "table_of",
    "table_sql",
    "to_messages",
    "verify",
    "verify_checksum",
    "versions_of",
]
__version__ = "0.1.0"

__getattr__, __dir__ = lazy(__name__)
