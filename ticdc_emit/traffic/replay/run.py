"""Replay a history: slices of event time, each a batch of one changefeed, sent when they are due.

In: row changes in a public form (from this package's functions or the caller's own), DDL, a sink. Out: the messages
that TiCDC would have sent, with BOOTSTRAP, DDL and watermarks in the right order, at the history's own pace, faster, or
without waiting. The batch id of a slice is fixed, so a replay with ``state_uri`` that was stopped or killed continues
after its last finished slice, and repeated messages have the same bytes.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.load import refuse_unknown
from ticdc_emit.config.secrets import hides_arguments
from ticdc_emit.errors import ConfigError
from ticdc_emit.pipeline.report import RunReport, RunTotal
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.spark.batch import SparkBatch
from ticdc_emit.spark.session import warm_up
from ticdc_emit.spark.sink import ReplayOptions, TicdcSink
from ticdc_emit.traffic.replay.moments import refusing_rows
from ticdc_emit.traffic.replay.pacing import Pace
from ticdc_emit.traffic.replay.record import ReplayRecord, tables_text
from ticdc_emit.traffic.replay.report import ReplayReport, SliceCallback, SliceReport
from ticdc_emit.traffic.replay.slices import Slice, Slices, slice_ms
from ticdc_emit.traffic.replay.sources import read_source
from ticdc_emit.traffic.replay.staging import Staged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Unpack

__all__ = ["replay"]


@hides_arguments
def replay(
    spark: SparkSession,
    sink: TicdcSink | str | ChangefeedConfig,
    source: DataFrame | str | Mapping[str, DataFrame | str],
    schema: str | Catalog | None = None,
    *,
    speed: float | None = None,
    slice: dt.timedelta | float | None = None,
    stop: Callable[[], bool] = lambda: False,
    on_slice: SliceCallback | Iterable[SliceCallback] = (),
    pace: Pace | None = None,
    **options: Unpack[ReplayOptions],
) -> ReplayReport:
    """Send a history, and end the changefeed after its last row.

    ``sink``: a :class:`TicdcSink`; or a sink URI or configuration, with the ``schema`` (DDL text, or a catalog, of the
    tables before the first row) and more ``options`` of :class:`TicdcSink` (``ddl``, ``state_uri``, ``pipeline``
    ...). ``source``: row changes, in one DataFrame, or typed ones by ``schema.name`` of their table; a text is read
    with :func:`read_source`.

    ``speed``: seconds of event time per second of wall time (1440: a day in a minute); ``None``: full speed. ``slice``:
    event time of a batch, as timedelta or seconds; default: two seconds of wall time at ``speed``, without one the
    whole history. A stopped run continues with a slice, and a watermark follows each slice. ``stop``: a function,
    called between slices and while waiting. ``on_slice``: called with each :class:`SliceReport`. ``pace``: your own
    schedule, for instance with another clock.

    With ``state_uri``, another call with the same arguments continues where this one stopped, or has nothing to do. A
    call that was refused before its first message leaves no record there. Raises the family of
    :class:`~ticdc_emit.errors.TicdcEmitError`: :class:`~ticdc_emit.errors.StateError` if the history, its schema or its
    slices have changed since it began, :class:`~ticdc_emit.errors.InvalidValueError` for a row without a valid time.
    """
    refuse_unknown("replay", options, ReplayOptions)
    began = time.monotonic()
    width = slice_ms(slice, speed)
    pace = pace or Pace(speed)
    tables = _read(spark, source)
    emitter = _emitter(sink, schema, tables, options)
    feed = emitter.changefeed
    plan, kept = feed.outline, feed.options.state_uri is not None
    staged = Staged(tables, plan, emitter.table)
    slice_callbacks = (on_slice,) if callable(on_slice) else tuple(on_slice)
    try:
        with refusing_rows():
            slices, shape = _cut(staged, width, kept=kept)
        if kept:
            shape["tables"] = tables_text(plan, feed.ddl)
        next_batch = feed.next_batch_id()
        record = ReplayRecord.find(feed.options.state_uri, shape, next_batch)
        first_batch = record.first_batch
        count = 1 if slices is None else len(slices)
        begin = number = next_batch - first_batch
        if speed is not None and slices is not None and number < count:
            first = slices[number]
            if isinstance(staged.batch(first), SparkBatch):
                warm_up(lambda: feed.rehearse(staged.batch(first)))
        reports: list[RunReport] = []
        lags: list[float] = []
        ready = time.monotonic()
        while number < count:
            part = Slice(0) if slices is None else slices[number]
            with refusing_rows():
                rows = staged.batch(part)  # Spark plans it before it is due
            if not pace.wait(part.offset_ms, stop):
                break
            final, journal = number == count - 1, record if number == begin else None
            with refusing_rows():
                reports.append(feed.run(rows, first_batch + number, final=final, until=part.until, journal=journal))
            lag = pace.lag(part.offset_ms)
            lags += [] if lag is None else [lag]
            at = None if slices is None else slices.begin_ms + part.offset_ms
            for tell in slice_callbacks:
                tell(SliceReport(number, count, at, reports[-1], lag))
            number += 1
        return ReplayReport(
            total=RunTotal.of(reports),
            slices=count,
            first_slice=begin,
            done_slices=number,
            finished=number >= count,
            seconds=time.monotonic() - ready,
            prepare_seconds=ready - began,
            max_lag_seconds=max(lags, default=None),
        )
    finally:
        staged.release()


def _read(
    spark: SparkSession, source: DataFrame | str | Mapping[str, DataFrame | str]
) -> DataFrame | dict[str, DataFrame]:
    def read(one: DataFrame | str) -> DataFrame:
        return read_source(spark, one) if isinstance(one, str) else one

    if not isinstance(source, Mapping):
        return read(source)
    if not source:
        raise ConfigError("a history needs a source", remedy="Give changes by schema.name", option="source")
    return {name: read(one) for name, one in source.items()}


def _emitter(
    sink: TicdcSink | str | ChangefeedConfig, schema: str | Catalog | None, tables: Any, options: ReplayOptions
) -> TicdcSink:
    if isinstance(sink, TicdcSink):
        if schema is not None or options:
            raise ConfigError(
                "a sink has its schema and options already",
                remedy="Give them where the sink is made",
                option=next(iter(options), "schema"),
            )
        return sink
    if schema is None:
        raise ConfigError("the tables are unknown", remedy="Give schema=, their DDL", option="schema")
    if isinstance(tables, Mapping) and len(tables) == 1:
        options = ReplayOptions(table=next(iter(tables))) | options
    return TicdcSink(sink, schema, **options)


def _cut(staged: Staged, width: int | None, *, kept: bool) -> tuple[Slices | None, dict[str, Any]]:
    """Return the slices (``None``: the whole history in one, even if empty), and the history's fingerprint.

    ``kept``: whether a later run may continue, and must recognise the history.
    """
    if width is None and not kept:
        return None, {}
    bounds = staged.keep(width, fingerprint=kept)
    shape = {"slice_ms": width, **bounds._asdict()}
    if width is None or bounds.first_ts is None or bounds.last_ts is None:
        return None, shape
    return Slices(bounds.first_ts, bounds.last_ts, width), shape
