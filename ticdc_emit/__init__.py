"""ticdc_emit: emit the exact bytes that TiCDC would put on Kafka, without a TiDB cluster.

These names are public. Importing this package imports none of their modules: each name is imported when it is first
used, so you need pyspark, confluent_kafka and hypothesis only for the names that use them.

* Without Spark: :class:`Encoder`, :class:`Catalog`, :func:`catalog_from_sql`, :func:`table_sql`, :func:`schema_sql`,
  :func:`load_changefeed`, :func:`restore_ddl`.
* From Spark: :class:`TicdcSink`, :func:`local_session`, :class:`RunReport`.
* Traffic: :func:`generate`, :func:`generate_stream`, :func:`replay`, :func:`from_snapshots`, :func:`from_validity`,
  :func:`from_operations`, :func:`from_changes`, :func:`read_changes`, :func:`from_versions`, :func:`table_ddl`,
  :func:`send_new_versions`, :class:`History`, :func:`scenario`, :func:`scenarios`, :func:`file_scenario`,
  :func:`file_scenarios`.
* Messages: :class:`Message`, :func:`to_messages`, :func:`messages`; :func:`reader_for`, :class:`ReferenceConsumer`,
  :func:`verify`.
* Tests: :func:`histories` and :func:`changefeeds` (hypothesis), :class:`EmbeddedKafka`, :class:`EmbeddedRegistry`,
  :class:`MemoryTopics`.

All errors are :class:`TicdcEmitError`; the kinds are in :mod:`ticdc_emit.errors`. These packages export more:
``ticdc_emit.config``, ``pipeline``, ``consume``, ``delivery``, ``observe``, ``registry``, ``spark``,
``strategies``, ``testing``, ``traffic.replay``, ``traffic.scenarios``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.config import ChangefeedConfig, load_changefeed
    from ticdc_emit.consume.readers import reader_for
    from ticdc_emit.consume.reference_consumer import ReferenceConsumer
    from ticdc_emit.consume.verify import verify
    from ticdc_emit.delivery import Message, messages, to_messages
    from ticdc_emit.encoder import Encoder
    from ticdc_emit.errors import TicdcEmitError
    from ticdc_emit.pipeline.ddl import restore_ddl
    from ticdc_emit.pipeline.report import RunReport
    from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
    from ticdc_emit.source_schemas import schema_sql, table_sql
    from ticdc_emit.spark import TicdcSink, local_session
    from ticdc_emit.strategies.changefeeds import changefeeds
    from ticdc_emit.strategies.histories import histories
    from ticdc_emit.testing import EmbeddedKafka, EmbeddedRegistry, MemoryTopics
    from ticdc_emit.traffic import History
    from ticdc_emit.traffic.generate import generate, generate_stream
    from ticdc_emit.traffic.replay import (
        from_changes,
        from_operations,
        from_snapshots,
        from_validity,
        from_versions,
        read_changes,
        replay,
        send_new_versions,
        table_ddl,
    )
    from ticdc_emit.traffic.scenarios import file_scenario, file_scenarios, scenario, scenarios

__all__ = [
    "Catalog",
    "ChangefeedConfig",
    "EmbeddedKafka",
    "EmbeddedRegistry",
    "Encoder",
    "History",
    "MemoryTopics",
    "Message",
    "ReferenceConsumer",
    "RunReport",
    "TicdcEmitError",
    "TicdcSink",
    "catalog_from_sql",
    "changefeeds",
    "file_scenario",
    "file_scenarios",
    "from_changes",
    "from_operations",
    "from_snapshots",
    "from_validity",
    "from_versions",
    "generate",
    "generate_stream",
    "histories",
    "load_changefeed",
    "local_session",
    "messages",
    "read_changes",
    "reader_for",
    "replay",
    "restore_ddl",
    "scenario",
    "scenarios",
    "schema_sql",
    "send_new_versions",
    "table_ddl",
    "table_sql",
    "to_messages",
    "verify",
]
__version__ = "0.1.0"

_HOMES = {
    "Catalog": "schema.catalog",
    "ChangefeedConfig": "config",
    "EmbeddedKafka": "testing",
    "EmbeddedRegistry": "testing",
    "Encoder": "encoder",
    "History": "traffic",
    "MemoryTopics": "testing",
    "Message": "delivery",
    "ReferenceConsumer": "consume",
    "RunReport": "pipeline.report",
    "TicdcEmitError": "errors",
    "TicdcSink": "spark",
    "catalog_from_sql": "schema.catalog",
    "changefeeds": "strategies",
    "file_scenario": "traffic.scenarios",
    "file_scenarios": "traffic.scenarios",
    "from_changes": "traffic.replay",
    "from_operations": "traffic.replay",
    "from_snapshots": "traffic.replay",
    "from_validity": "traffic.replay",
    "from_versions": "traffic.replay",
    "generate": "traffic.generate",
    "generate_stream": "traffic.generate",
    "histories": "strategies",
    "load_changefeed": "config",
    "local_session": "spark",
    "messages": "delivery",
    "read_changes": "traffic.replay",
    "reader_for": "consume",
    "replay": "traffic.replay",
    "restore_ddl": "pipeline.ddl",
    "scenario": "traffic.scenarios",
    "scenarios": "traffic.scenarios",
    "schema_sql": "source_schemas",
    "send_new_versions": "traffic.replay",
    "table_ddl": "traffic.replay",
    "table_sql": "source_schemas",
    "to_messages": "delivery",
    "verify": "consume",
}

__getattr__, __dir__ = lazy(__name__, _HOMES)
