"""Traffic from table schemas alone: a seeded, endless life of inserts, updates and deletes.

In: SQL text (or a file, or a sample's name) and settings. Out: row changes in a public form, and the DDL between them:
a :class:`Traffic` or a :class:`TrafficStream`, made by Spark's workers, or an :class:`ArrowTraffic`, made in this
process.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticdc_emit.traffic.generate.arrow.changes import arrow_changes
from ticdc_emit.traffic.generate.control import Columns
from ticdc_emit.traffic.generate.frame import changes_of_stream, changes_of_tables
from ticdc_emit.traffic.generate.layout import Lives
from ticdc_emit.traffic.generate.plan import DEFAULT_RATE, Settings, TrafficPlan, plan_traffic
from ticdc_emit.traffic.generate.results import ArrowTraffic, Traffic, TrafficStream
from ticdc_emit.traffic.sample_schemas import schema_text
from ticdc_emit.tso import compose

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ArrowTraffic", "Traffic", "TrafficStream", "generate", "generate_arrow", "generate_stream"]

_STREAM_TASKS = 2


def generate(
    spark: SparkSession,
    schema: str | Path,
    *,
    rows: int,
    seed: int = 0,
    tables: Iterable[str] | None = None,
    start: int | dt.datetime | None = None,
    rate: float | None = None,
    transaction_size: float = 1.0,
    updates: float = 3.0,
    deletes: float = 0.5,
    skew: float = 1.0,
    ddl_rate: float = 0.0,
    time_zone: str = "UTC",
    columns: Columns | None = None,
    partitions: int | None = None,
) -> Traffic:
    """Return ``rows`` row changes of the tables in ``schema``: SQL text, a file, or a sample's name (``bank``).

    The same ``seed`` and settings give the same changes, for any number of ``partitions`` (Spark partitions per table);
    fewer ``rows`` give the first of them. ``tables``: only these (``schema.name``). ``start``: the first commit, a TSO
    or an aware datetime, default 2024. ``rate``: changes per second of commit time, default 1,000; ``ddl_rate``: schema
    changes per second of commit time, none if one takes longer than all changes. ``transaction_size``: changes with one
    commit_ts, on average. ``updates``: updates of a row, on average, spread over rows with the Zipf exponent ``skew``
    (0: evenly). ``deletes``: share of rows that are deleted in the end. ``time_zone``: the changefeed's, for TIMESTAMP
    in canonical text. ``columns``: ranges, labels, weights, distributions, patterns and shares of NULL by column, a
    TOML file or a mapping (docs/traffic.md).

    Before the first row, raises the family of :class:`~ticdc_emit.errors.SchemaError` if the schema cannot be
    generated, and :class:`~ticdc_emit.errors.ConfigError` for wrong ``columns``.
    """
    plan = _plan(
        schema,
        rows,
        seed=seed,
        tables=tables,
        start=start,
        rate=rate,
        transaction_size=transaction_size,
        updates=updates,
        deletes=deletes,
        skew=skew,
        ddl_rate=ddl_rate,
        time_zone=time_zone,
        columns=columns,
    )
    changes = changes_of_tables(spark, plan, rows, partitions)
    return Traffic(changes, plan.ddl, plan.schema, _only(plan), time_zone=time_zone, _plan=plan, _spark=spark)


def generate_stream(
    spark: SparkSession,
    schema: str | Path,
    *,
    rows: int | None = None,
    live: bool = False,
    rows_per_batch: int = 50_000,
    seed: int = 0,
    tables: Iterable[str] | None = None,
    start: int | dt.datetime | None = None,
    rate: float | None = None,
    transaction_size: float = 1.0,
    updates: float = 3.0,
    deletes: float = 0.5,
    skew: float = 1.0,
    ddl_rate: float = 0.0,
    time_zone: str = "UTC",
    columns: Columns | None = None,
) -> TrafficStream:
    """Return the changes of :func:`generate` as a streaming DataFrame. Each change follows from its offset alone.

    It runs as fast as possible, with ``rows_per_batch`` in each micro-batch. ``live``: a change comes when the wall
    clock reaches its commit time, at ``rate`` from ``start`` on (default: now). Changes that were due before the query
    runs come first, ``rows_per_batch`` at a time. A restart must give the same ``start``. ``rows``: the number of
    changes; ``None``: no end (DDL needs an end). The query continues with empty batches until it is stopped.
    """
    if live and start is None:
        start = compose(time.time_ns() // 1_000_000)
    plan = _plan(
        schema,
        rows,
        seed=seed,
        tables=tables,
        start=start,
        rate=rate,
        transaction_size=transaction_size,
        updates=updates,
        deletes=deletes,
        skew=skew,
        ddl_rate=ddl_rate,
        time_zone=time_zone,
        columns=columns,
    )
    if live:
        from ticdc_emit.traffic.generate.live import live_numbers

        numbers = live_numbers(spark, plan.clock, rows, rows_per_batch)
    else:
        source = spark.readStream.format("rate-micro-batch").option("numPartitions", _STREAM_TASKS)
        numbers = source.option("rowsPerBatch", rows_per_batch).load()
    changes = changes_of_stream(numbers, plan)
    return TrafficStream(changes, plan.ddl, plan.schema, _only(plan), time_zone=time_zone, _plan=plan, _spark=spark)


def generate_arrow(schema: str | Path, *, rows: int, **settings: Any) -> ArrowTraffic | None:
    """Return the changes of :func:`generate` as Arrow record batches, without Spark.

    ``settings``: its other arguments, except ``partitions``. Returns ``None`` if only Spark can compute the changes:
    those of tables with stored generated columns, and columns with the distribution ``zipf``. Raises the errors of
    :func:`generate`.
    """
    plan = _plan(schema, rows, **settings)
    changes = arrow_changes(plan)
    if changes is None:
        return None
    return ArrowTraffic(changes, plan.ddl, plan.schema, _only(plan), time_zone=settings.get("time_zone", "UTC"))


def _plan(
    schema: str | Path,
    rows: int | None,
    *,
    seed: int = 0,
    tables: Iterable[str] | None = None,
    start: int | dt.datetime | None = None,
    rate: float | None = None,
    transaction_size: float = 1.0,
    updates: float = 3.0,
    deletes: float = 0.5,
    skew: float = 1.0,
    ddl_rate: float = 0.0,
    time_zone: str = "UTC",
    columns: Columns | None = None,
) -> TrafficPlan:
    given = {} if start is None else {"start": start}
    settings = Settings(
        rows=rows,
        seed=seed,
        tables=tuple(tables or ()),
        rate=DEFAULT_RATE if rate is None else rate,
        ddl_rate=ddl_rate,
        lives=Lives(updates, deletes, skew, transaction_size),
        time_zone=time_zone,
        columns=columns,
        **given,
    )
    return plan_traffic(schema_text(schema), settings)


def _only(plan: TrafficPlan) -> str | None:
    return plan.tables[0].info.full_name if plan.typed else None
