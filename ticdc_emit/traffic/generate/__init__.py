"""Traffic from table schemas alone: a seeded, endless life of inserts, updates and deletes, and the DDL between them.
Spark's workers make :class:`Traffic` and :class:`TrafficStream`, this process :class:`ArrowTraffic`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ticdc_emit.traffic.generate.results import (
    ArrowTraffic,
    Traffic,
    TrafficStream,
    stream_on_spark,
    traffic_here,
    traffic_on_spark,
)
from ticdc_emit.traffic.generate.settings import Settings, TrafficOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from typing_extensions import Unpack

__all__ = ["ArrowTraffic", "Traffic", "TrafficStream", "generate", "generate_arrow", "generate_stream"]


def generate(
    spark: SparkSession,
    schema: str | Path,
    *,
    rows: int,
    partitions: int | None = None,
    **settings: Unpack[TrafficOptions],
) -> Traffic:
    """Return ``rows`` row changes of the tables in ``schema``: SQL text, a file, or a sample's name (``bank``).

    The same ``seed`` and settings give the same changes, for any number of ``partitions`` (Spark partitions per table);
    a run with fewer ``rows`` is a prefix of it. ``tables``: only these (``schema.name``). ``start``: first commit, TSO
    or aware datetime, default 2024. ``rate``: changes per second of commit time, default 1,000. ``time_zone``: the
    changefeed's, for TIMESTAMP. ``model``: how tables, columns, load and trouble are, a TOML file or its text, or a
    mapping (docs/traffic.md). Before the first row, raises the family of :class:`~ticdc_emit.errors.SchemaError`, and
    :class:`~ticdc_emit.errors.ConfigError` for a wrong ``model``.
    """
    return traffic_on_spark(spark, schema, Settings.of("generate", rows, settings), partitions)


def generate_stream(
    spark: SparkSession,
    schema: str | Path,
    *,
    rows: int | None = None,
    rows_per_batch: int = 50_000,
    **settings: Unpack[TrafficOptions],
) -> TrafficStream:
    """Return the changes of :func:`generate` as a streaming DataFrame. Each is computed from its offset alone.

    It runs as fast as possible, or at the pace of the query's trigger, with ``rows_per_batch`` in each micro-batch. A
    restart must give the same ``start``. ``rows``: ``None`` for no end (DDL needs an end). The query continues with
    empty batches until it is stopped.
    """
    own = Settings.of("generate_stream", rows, settings)
    return stream_on_spark(spark, schema, own, rows_per_batch=rows_per_batch)


def generate_arrow(schema: str | Path, *, rows: int, **settings: Unpack[TrafficOptions]) -> ArrowTraffic:
    """Return the changes of :func:`generate` as Arrow record batches, made in this process without Spark."""
    return traffic_here(schema, Settings.of("generate_arrow", rows, settings))
