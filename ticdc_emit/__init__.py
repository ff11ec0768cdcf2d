"""ticdc_emit: emit the exact bytes that TiCDC would put on Kafka, without a TiDB cluster.

Each name is imported when it is first used, so you need pyspark, confluent_kafka and hypothesis only for those that use
them.

* Without Spark: :class:`Encoder`, :class:`Catalog`, :func:`catalog_from_sql`, :func:`table_sql`, :func:`table_of`,
  :func:`schema_sql`, :func:`load_changefeed`, :func:`restore_ddl`, :class:`KafkaSink`, :class:`MemoryRegistry`.
* From Spark: :class:`TicdcSink`, :func:`local_session`, :class:`RunReport`.
* Traffic: :func:`generate`, :func:`generate_arrow`, :func:`generate_stream`, :func:`replay` and what makes changes for
  it (``snapshot_...``, ``from_...``, ``read_...``, :func:`table_ddl`, :func:`versions_of`, :func:`backfilled`),
  :func:`send_new_versions`, :class:`History`, :func:`scenario`, :func:`scenarios`, :func:`file_scenario`,
  :func:`file_scenarios`.
* Messages: :class:`Message`, :func:`to_messages`, :func:`messages`; :func:`reader_for`, :class:`ReferenceConsumer`,
  :func:`verify`.
* Tests: :func:`histories`, :func:`changefeeds`, :class:`EmbeddedKafka`, :class:`EmbeddedRegistry`,
  :class:`MemoryTopics`.

All errors are :class:`TicdcEmitError`; the kinds are in :mod:`ticdc_emit.errors`. More: ``ticdc_emit.config``,
``pipeline``, ``consume``, ``delivery``, ``observe``, ``registry``, ``spark``, ``strategies``, ``testing``,
``traffic.replay``, ``traffic.scenarios``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.config import ChangefeedConfig, load_changefeed
    from ticdc_emit.consume.readers import reader_for
    from ticdc_emit.consume.reference_consumer import ReferenceConsumer
    from ticdc_emit.consume.verify import verify
    from ticdc_emit.delivery import KafkaSink, Message, messages, to_messages
    from ticdc_emit.encoder import Encoder
    from ticdc_emit.errors import TicdcEmitError
    from ticdc_emit.pipeline.plan.ddl import restore_ddl
    from ticdc_emit.pipeline.report import RunReport
    from ticdc_emit.registry import MemoryRegistry
    from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
    from ticdc_emit.schema.frames import table_of, table_sql
    from ticdc_emit.schema.scripts import schema_sql
    from ticdc_emit.spark import TicdcSink, local_session
    from ticdc_emit.strategies.changefeeds import changefeeds
    from ticdc_emit.strategies.histories import histories
    from ticdc_emit.testing import EmbeddedKafka, EmbeddedRegistry, MemoryTopics
    from ticdc_emit.traffic import History
    from ticdc_emit.traffic.generate import generate, generate_arrow, generate_stream
    from ticdc_emit.traffic.replay import (
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
    "Catalog",
    "ChangefeedConfig",
    "EmbeddedKafka",
    "EmbeddedRegistry",
    "Encoder",
    "History",
    "KafkaSink",
    "MemoryRegistry",
    "MemoryTopics",
    "Message",
    "ReferenceConsumer",
    "RunReport",
    "TicdcEmitError",
    "TicdcSink",
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
    "messages",
    "read_changes",
    "read_ddl",
    "read_source",
    "reader_for",
    "replay",
    "restore_ddl",
    "scenario",
    "scenarios",
    "schema_sql",
    "send_new_versions",
    "snapshot_diff",
    "snapshot_inserts",
    "table_ddl",
    "table_of",
    "table_sql",
    "to_messages",
    "verify",
    "versions_of",
]
__version__ = "0.1.0"

__getattr__, __dir__ = lazy(__name__)
