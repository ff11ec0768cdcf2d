"""From a schema and settings to changes: on Spark, as a stream on Spark, or in this process.

In: SQL text (or a file, or a sample's name) and :class:`Settings`. Out: a :class:`Traffic`, a :class:`TrafficStream` or
an :class:`ArrowTraffic`. Each raises the errors of :func:`~ticdc_emit.traffic.generate.plan.plan_traffic` before the
first row.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ticdc_emit.traffic.generate.arrow.changes import arrow_changes
from ticdc_emit.traffic.generate.frame import changes_of_stream, changes_of_tables
from ticdc_emit.traffic.generate.plan import TrafficPlan, plan_traffic
from ticdc_emit.traffic.generate.results import ArrowTraffic, Traffic, TrafficStream
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.sample_schemas import schema_text
from ticdc_emit.tso import compose

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["stream_on_spark", "traffic_here", "traffic_on_spark"]

_STREAM_TASKS = 2


def traffic_on_spark(
    spark: SparkSession, schema: str | Path, settings: Settings, partitions: int | None = None
) -> Traffic:
    """Return the changes as a DataFrame for each table, of ``partitions`` Spark partitions."""
    plan = plan_traffic(schema_text(schema), settings)
    changes = changes_of_tables(spark, plan, plan.rows or 0, partitions)
    zone = settings.time_zone
    return Traffic(changes, plan.ddl, plan.schema, _only(plan), time_zone=zone, _plan=plan, _spark=spark)


def stream_on_spark(
    spark: SparkSession,
    schema: str | Path,
    settings: Settings,
    *,
    live: bool = False,
    rows_per_batch: int = 50_000,
) -> TrafficStream:
    """Return the changes as a streaming DataFrame, ``rows_per_batch`` in each micro-batch.

    ``live``: a change comes when the wall clock reaches its commit time, from now on if the settings have no start.
    """
    if live and settings.start is None:
        settings = replace(settings, start=compose(time.time_ns() // 1_000_000))
    plan = plan_traffic(schema_text(schema), settings)
    if live:
        from ticdc_emit.traffic.generate.live import live_numbers

        numbers = live_numbers(spark, plan.clock, plan.rows, rows_per_batch)
    else:
        source = spark.readStream.format("rate-micro-batch").option("numPartitions", _STREAM_TASKS)
        numbers = source.option("rowsPerBatch", rows_per_batch).load()
    changes, zone = changes_of_stream(numbers, plan), settings.time_zone
    return TrafficStream(changes, plan.ddl, plan.schema, _only(plan), time_zone=zone, _plan=plan, _spark=spark)


def traffic_here(schema: str | Path, settings: Settings) -> ArrowTraffic | None:
    """Return the changes as Arrow record batches, made in this process; ``None`` if only Spark can compute them."""
    plan = plan_traffic(schema_text(schema), settings)
    changes = arrow_changes(plan)
    if changes is None:
        return None
    return ArrowTraffic(changes, plan.ddl, plan.schema, _only(plan), time_zone=settings.time_zone)


def _only(plan: TrafficPlan) -> str | None:
    return plan.tables[0].info.full_name if plan.typed else None
