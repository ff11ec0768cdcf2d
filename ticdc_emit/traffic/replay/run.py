"""A replay: a history sent at its own pace or a multiple of it, and its report: what was sent, and whether in time."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.load import refuse_unknown
from ticdc_emit.config.secrets import hides_arguments
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import counted
from ticdc_emit.observe.reports import report_line
from ticdc_emit.pipeline.report import RunReport, RunTotal, callbacks_of, shown_watermark
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.frames.spark_types import name_parts
from ticdc_emit.spark.batch import SparkBatch
from ticdc_emit.spark.change_feed import feed_form, feeds_as_changes
from ticdc_emit.spark.row_changes import refusing_rows
from ticdc_emit.spark.session import warm_up
from ticdc_emit.spark.sink import ReplayOptions, TicdcSink
from ticdc_emit.traffic.replay.cached_history import CachedHistory
from ticdc_emit.traffic.replay.column_history import schema_history
from ticdc_emit.traffic.replay.record import ReplayRecord, tables_hash
from ticdc_emit.traffic.replay.slices import Pace, Slice, Slices, slice_ms
from ticdc_emit.traffic.replay.sources import format_of, read_source
from ticdc_emit.traffic.replay.table_versions import VersionedTable, feed_of_versions, is_path, versioned_table
from ticdc_emit.tso import compose

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Unpack


@dataclass(frozen=True)
class SliceReport:
    """One delivered slice, from 0. ``begin_ms``: its event time; ``lag_seconds``: how long ago it was due, if known."""

    number: int
    slices: int
    begin_ms: int | None
    batch: RunReport
    lag_seconds: float | None

    def __str__(self) -> str:
        """One line: ``slice 3 of 30 from 2026-01-01 02:24:00.000Z: 33,120 rows, ..., 0.4 s behind schedule``."""
        begin = "" if self.begin_ms is None else f" from {shown_watermark(compose(self.begin_ms))}"
        facts = report_line(self.batch).partition(": ")[2]
        late = "" if self.lag_seconds is None else f", {self.lag_seconds:.1f} s behind schedule"
        return f"slice {self.number + 1:,} of {self.slices:,}{begin}: {facts}{late}"


SliceCallback: TypeAlias = Callable[[SliceReport], object]
"""A function that is called with each slice as soon as it is delivered."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ReplayReport:
    """One run of a replay, from its start to its end or stop. ``total``: what this run sent. ``first_slice``: where it
    began; ``done_slices``: also of earlier runs. ``finished``: whether the whole history was sent. ``seconds``: wall
    time of sending, pauses included; ``prepare_seconds``: the time before. ``max_lag_seconds``: the greatest delay of a
    slice, ``None`` without a speed. By default all was sent as one slice.
    """

    total: RunTotal
    slices: int = 1
    first_slice: int = 0
    done_slices: int = 1
    finished: bool = True
    seconds: float
    prepare_seconds: float
    max_lag_seconds: float | None = None

    @property
    def nothing_to_do(self) -> bool:
        """Whether earlier runs with the same ``state_uri`` delivered everything, and this one nothing."""
        return self.first_slice >= self.slices

    @property
    def outcome(self) -> str:
        """How far the replay came, in words: ``30 of 30 slices in 61.2 s, at most 0.4 s behind schedule``."""
        if self.nothing_to_do:
            return f"nothing to do: an earlier run delivered everything ({self._slices()})"
        lag = "" if self.max_lag_seconds is None else f", at most {self.max_lag_seconds:.1f} s behind schedule"
        return f"{'' if self.finished else 'stopped: '}{self._slices()} in {self.seconds:.1f} s{lag}"

    def __str__(self) -> str:
        """Lines for people: one for each topic-partition, the totals, and how far the replay came."""
        return self.outcome if self.nothing_to_do else f"{self.total}\n{self.outcome}"

    def __repr__(self) -> str:
        return f"<ReplayReport {self._slices()}: {report_line(self.total)}>"

    def _slices(self) -> str:
        return f"{self.done_slices:,} of {counted(self.slices, 'slice')}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings, for JSON."""
        return {
            "nothing_to_do": self.nothing_to_do,
            "slices": self.slices,
            "first_slice": self.first_slice,
            "done_slices": self.done_slices,
            "finished": self.finished,
            "replay_seconds": round(self.seconds, 3),
            "prepare_seconds": round(self.prepare_seconds, 3),
            "max_lag_seconds": None if self.max_lag_seconds is None else round(self.max_lag_seconds, 3),
            **self.total.to_dict(),
        }


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
    **options: Unpack[ReplayOptions],
) -> ReplayReport:
    """Send a history, and end the changefeed after its last row.

    ``sink``: a :class:`TicdcSink`; or a sink URI or configuration, with the ``schema`` (DDL text, or a catalog, of the
    tables before the first row; by default made from the columns of the changes, with ``keys``, or from the schema
    history of Delta and Iceberg tables given by their names, with their DDL) and more ``options`` of :class:`TicdcSink`
    (``ddl``, ``state_uri``, ``changefeed`` ...). ``source``: row changes, in one DataFrame, or typed ones by
    ``schema.name``; a text is read with :func:`read_source`, or, if it names a Delta or Iceberg table, with
    ``read_changes``. A change feed is recognised by its columns, and paired by the handle key (:func:`from_changes`).

    ``speed``: seconds of event time per second of wall time (1440: a day in a minute); ``None``: full speed. ``slice``:
    event time of a batch, as timedelta or seconds; default: two seconds of wall time at ``speed``, without one the
    whole history. A stopped run continues with a slice, and a watermark follows each slice. ``stop``: called between
    slices and while waiting. ``on_slice``: called with each :class:`SliceReport`.

    With ``state_uri``, another call with the same arguments continues where this one stopped. A call that was refused
    before its first message leaves no record there. Raises the family of :class:`~ticdc_emit.errors.TicdcEmitError`:
    :class:`~ticdc_emit.errors.StateError` if the history, its schema or its slices have changed since it began,
    :class:`~ticdc_emit.errors.InvalidValueError` for a row without a valid time.
    """
    refuse_unknown("replay", options, ReplayOptions)
    slice_callbacks = callbacks_of("on_slice", on_slice)
    began = time.monotonic()
    pace = Pace(speed)
    width = slice_ms(slice, speed)
    by_table, lake_tables = _read(spark, source)
    is_told = schema is not None or "ddl" in options or isinstance(sink, TicdcSink)
    known = {} if is_told else _names_of(lake_tables, options)
    if known and len(known) == len(by_table):
        schema, ddl = schema_history(spark, known, options.get("keys", ()))
        options = ReplayOptions(**{name: value for name, value in options.items() if name != "keys"} | {"ddl": ddl})  # type: ignore[typeddict-item]
    tables: Any = by_table if isinstance(source, Mapping) else by_table[None]
    emitter = _emitter(sink, schema, tables, options)
    only = next(iter(by_table)) or emitter.table if len(by_table) == 1 else None
    feed = emitter.changefeed_of(tables)
    plan, continues = feed.outline, feed.options.state_uri is not None
    history = CachedHistory(feeds_as_changes(tables, plan, emitter.table), plan, emitter.table)
    try:
        with refusing_rows(only):
            slices, cut = _cut(history, width, continues=continues)
        if continues:
            cut["tables"] = tables_hash(plan, feed.ddl)
        next_batch = feed.next_batch_id()
        record = ReplayRecord.find(feed.options.state_uri, cut, next_batch)
        first_batch = record.first_batch
        count = 1 if slices is None else len(slices)
        begin = number = next_batch - first_batch
        if speed is not None and slices is not None and number < count:
            first = slices[number]
            if isinstance(history.batch(first), SparkBatch):
                warm_up(lambda: feed.rehearse(history.batch(first)))
        reports: list[RunReport] = []
        lags: list[float] = []
        ready = time.monotonic()
        while number < count:
            part = Slice(0) if slices is None else slices[number]
            with refusing_rows(only):
                rows = history.batch(part)  # Spark plans it before it is due
            if not pace.wait(part.offset_ms, stop):
                break
            final, hooks = number == count - 1, record if number == begin else None
            with refusing_rows(only):
                reports.append(feed.run(rows, first_batch + number, final=final, until=part.until, hooks=hooks))
            lag = pace.lag(part.offset_ms)
            lags += [] if lag is None else [lag]
            at = None if slices is None else slices.begin_ms + part.offset_ms
            for callback in slice_callbacks:
                callback(SliceReport(number, count, at, reports[-1], lag))
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
        history.release()


def _read(
    spark: SparkSession, source: DataFrame | str | Mapping[str, DataFrame | str]
) -> tuple[dict[str | None, DataFrame], dict[str | None, VersionedTable]]:
    """Return the sources by table, and the Delta or Iceberg table that each is the change feed of, if it is named."""
    sources: Mapping[Any, DataFrame | str] = source if isinstance(source, Mapping) else {None: source}
    if not sources:
        raise ConfigError("a history needs a source", remedy="Give changes by schema.name", option="source")
    tables: dict[str | None, DataFrame] = {}
    lake_tables: dict[str | None, VersionedTable] = {}
    for name, one in sources.items():
        if not isinstance(one, str):
            if not hasattr(one, "sparkSession"):
                raise ConfigError(
                    f"the source is of type {type(one).__name__}",
                    remedy="Give a DataFrame of Spark, or text: a path, or the name of a table",
                    option="source",
                )
            tables[name] = one
            continue
        tables[name] = read_source(spark, one)
        held = tables[name].columns
        if format_of(one) in (None, "delta", "iceberg") and "op" not in held and feed_form(held) is None:
            lake_tables[name] = versioned_table(spark, one)
            tables[name] = feed_of_versions(spark, lake_tables[name])
    return tables, lake_tables


def _names_of(tables: Mapping[str | None, VersionedTable], options: ReplayOptions) -> dict[str, VersionedTable]:
    result: dict[str, VersionedTable] = {}
    for name, source in tables.items():
        own = "" if is_path(source.name) else ".".join(name_parts(source.name)[-2:])
        result[name or options.get("table") or own] = source
    result.pop("", None)
    return result


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
    if isinstance(tables, Mapping) and len(tables) == 1:
        options = ReplayOptions(table=next(iter(tables))) | options
    return TicdcSink(sink, schema, **options)


def _cut(history: CachedHistory, width: int | None, *, continues: bool) -> tuple[Slices | None, dict[str, Any]]:
    """Return the slices (``None``: all in one) and the history's fingerprint, which a later run must recognise."""
    if width is None and not continues:
        return None, {}
    bounds = history.cache(width, fingerprint=continues)
    cut = {"slice_ms": width, **bounds._asdict()}
    if width is None or bounds.first_ts is None or bounds.last_ts is None:
        return None, cut
    return Slices(bounds.first_ts, bounds.last_ts, width), cut
