"""Spark: row-change DataFrames to Kafka, through ``foreachBatch`` or in one batch.

Needs the extra ``ticdc-emit[spark]``. Nothing here needs ``.rdd`` or ``_jvm``, so Spark Connect works too.
"""

from __future__ import annotations

from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.spark.session import local_session, register
from ticdc_emit.spark.sink import TicdcSink, encode

__all__ = ["RunReport", "TicdcSink", "encode", "local_session", "register"]
