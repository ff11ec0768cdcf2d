"""Spark: row-change DataFrames to Kafka, through ``foreachBatch`` or in one batch.

Needs the extra ``ticdc-emit[spark]``. Nothing here needs ``.rdd`` or ``_jvm``, so Spark Connect works too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.spark.session import local_session, register
from ticdc_emit.spark.sink import TicdcSink, encode

if TYPE_CHECKING:  # it imports pyspark, as nothing else here does
    from ticdc_emit.spark.listener import ProgressListener, log_progress

__all__ = ["ProgressListener", "RunReport", "TicdcSink", "encode", "local_session", "log_progress", "register"]

__getattr__, __dir__ = lazy(__name__)
