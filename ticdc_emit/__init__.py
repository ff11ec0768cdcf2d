"""ticdc_emit: emit the exact bytes that TiCDC would put on Kafka, without a TiDB cluster.

* :class:`Encoder`: row changes in, messages out, without Spark.
* :class:`ticdc_emit.spark.TicdcSink`: a ``foreachBatch`` sink for PySpark (extra ``spark``).
* :class:`Catalog`: table schemas from TiDB's DDL, version by version.
* :func:`load_changefeed`: TiCDC's own configuration, sink URI and changefeed TOML.

Importing this package imports neither pyspark nor confluent_kafka.
"""

from __future__ import annotations

from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.encode.encoder import Encoder
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql

__all__ = ["Catalog", "ChangefeedConfig", "Encoder", "TicdcEmitError", "catalog_from_sql", "load_changefeed"]
__version__ = "0.1.0"
