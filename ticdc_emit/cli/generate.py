"""``ticdc-emit generate``: traffic from table schemas alone, to Kafka or files; made here or by Spark.

Live traffic is made here up to a rate that one process keeps up with (:data:`MOST_LIVE_RATE`). On Spark a live stream
is warmed up before it must keep pace with the clock. Streams end after a whole batch.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticdc_emit.cli import signals
from ticdc_emit.cli.console import print_json, print_summary, result_console, row_progress, say, step
from ticdc_emit.cli.messages import (
    changefeed_at,
    message_dict,
    messages_at,
    print_messages,
    sparse_interval,
    target_at,
)
from ticdc_emit.cli.schema_sql import in_tidb_sql
from ticdc_emit.cli.session import MOST_LIVE_RATE, MOST_ROWS_HERE, SHORT_ROWS, CountedBatches, runs_here, spark_for
from ticdc_emit.cli.signals import Stop, stopped_by_interrupt
from ticdc_emit.config import ChangefeedConfig, mask_uri
from ticdc_emit.config.protocols import protocol_document
from ticdc_emit.consume.tail import Tail
from ticdc_emit.delivery.base import Sink
from ticdc_emit.errors import ConfigError, DdlError
from ticdc_emit.hints import counted
from ticdc_emit.pipeline.report import ReportCallback, RunReport, RunTotal
from ticdc_emit.spark.batch import SparkBatch, in_micro_batch
from ticdc_emit.spark.session import MOST_WARM_UP_S, warm_up_stream
from ticdc_emit.traffic.generate import ArrowTraffic, Traffic, TrafficStream
from ticdc_emit.traffic.generate.changes import check_columns
from ticdc_emit.traffic.generate.live import LiveTraffic, send_live
from ticdc_emit.traffic.generate.results import refuse_endless_ddl, stream_on_spark, traffic_here, traffic_on_spark
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.sample_schemas import schema_text
from ticdc_emit.tso import compose

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ticdc_emit.spark import TicdcSink


_TOPIC = "ticdc-traffic"
_SHOWN = 5
_NOW = "now"
_STREAM_ROWS = 1_000_000_000  # rows assumed for a stream without end, for which only the rate matters


@dataclass(frozen=True)
class Wanted:
    """What to generate. ``stream``: as a Structured Streaming query; ``live``: at the rate of the wall clock.

    ``start``: ``now``, ISO time or TSO; ``None``: now, if it is live. It replaces the one of ``settings``. ``dialect``:
    of the schema; ``None``: TiDB's.
    """

    schema: str
    settings: Settings
    stream: bool = False
    live: bool = False
    start: str | None = None
    dialect: str | None = None

    @property
    def is_stream(self) -> bool:
        """Whether changes come as a stream, live ones too."""
        return self.stream or self.live

    @property
    def warms_up(self) -> bool:
        """Whether Spark makes other changes first, to keep pace with the wall clock from the first change on."""
        return self.live and self.start in (None, _NOW)

    def started(self) -> Settings:
        """Return the settings with the first commit that ``start`` means at this moment.

        Raises :class:`ConfigError` for a text that is not a moment.
        """
        from ticdc_emit.traffic.replay.ddl_history import parse_moment

        text = self.start or (_NOW if self.live else None)
        if text is None:
            return self.settings
        if text == _NOW:
            return replace(self.settings, start=compose(time.time_ns() // 1_000_000))
        try:
            return replace(self.settings, start=parse_moment(text))
        except DdlError as fault:
            raise ConfigError(fault.message, remedy=f"{fault.remedy}, or {_NOW}", option="start") from None


def run(
    wanted: Wanted,
    *,
    protocol: str | None,
    sink_uri: str | None,
    config: Path | dict[str, Any] | None,
    release: str | None,
    schema_registry: str | None,
    on_spark: bool,
    spark: Mapping[str, str],
    as_json: bool,
    on_begin: Callable[[RunReport], object] | None = None,
) -> int:
    """Generate, send and print the report; without a sink URI also the newest messages. Return the exit code.

    ``config``: the changefeed file, or what is in one. ``on_spark``: even with few rows. ``spark``: further settings of
    Spark. ``on_begin``: called when the first messages of live traffic are acknowledged; default: say so.
    """
    text, rows = in_tidb_sql(schema_text(wanted.schema), wanted.dialect, wanted.schema), wanted.settings.rows
    if rows is None:
        if not wanted.is_stream:
            raise ConfigError("--endless needs a stream", remedy="Add --live or --stream", option="endless")
        signals.endless()
    check_columns(text, wanted.settings.columns, wanted.settings.tables)
    wanted.started()  # a text that is not a time is refused before Spark starts
    amount = "changes without end" if rows is None else counted(rows, "change")
    with ExitStack() as stack:
        changefeed: str | os.PathLike[str] | dict[str, Any] = config or protocol_document(protocol, sink_uri)
        kafka, uri = target_at(stack, sink_uri, _TOPIC, changefeed)
        feed = changefeed_at(stack, uri, changefeed, schema_registry, wanted.settings.time_zone, release)
        if wanted.live and not wanted.stream:
            rate = wanted.settings.changes_per_second
            is_here = runs_here(rate, MOST_LIVE_RATE, on_spark=on_spark, settings=spark)
        else:
            rows_at_once = None if wanted.stream else rows
            is_here = runs_here(rows_at_once, MOST_ROWS_HERE, on_spark=on_spark, settings=spark)
        here = traffic_here(text, wanted.started()) if is_here and not wanted.live else None
        session = None
        if not is_here:
            if wanted.is_stream:
                refuse_endless_ddl(wanted.settings)
            short = rows is not None and rows <= SHORT_ROWS and not wanted.live
            session = spark_for(stack, "generate", short=short, settings=spark, quiet=as_json)
        if rows is None and not as_json:
            say("Ctrl-C ends it")
        if wanted.warms_up and session is not None and not as_json:
            say(f"warming up Spark for at most {MOST_WARM_UP_S:g} s, then the first changes come")
        stop = stack.enter_context(stopped_by_interrupt("batch", quiet=as_json)) if wanted.is_stream else None
        doing = f"generating {amount} to {mask_uri(uri)}"
        sink = kafka.sink() if kafka else None
        on_begin = on_begin or (None if as_json else say_begun)
        batches = {} if here is None else {table: CountedBatches(each) for table, each in here.changes.items()}
        source = session or (lambda: sum(each.read for each in batches.values()))
        with step(doing, quiet=as_json) if stop else row_progress(doing, source, rows, quiet=as_json):
            if here is not None:
                report: RunReport | RunTotal = _emitter(here, wanted, feed, sink, ()).write(batches)
            elif session is None:
                assert stop is not None
                live = LiveTraffic(text, wanted.started())
                report = send_live(live, live.changefeed(feed, sink=sink), stop=stop, on_begin=on_begin)
            else:
                watching = [_once(on_begin)] if wanted.live and on_begin else []
                report = _send(session, text, wanted, feed, sink, stop, watching)
        code = 0 if stop is None else _exit_code(stop, wanted, report)
        newest = [] if kafka is None else messages_at(feed, kafka)[-_SHOWN:]
        if as_json:
            read = Tail(feed).lines
            extra = {"shown": [message_dict(each, read) for each in newest]} if kafka else {}
            print_json({"protocol": feed.codec.protocol.value, **report.to_dict(), **extra})
            return code
        console = result_console()
        if newest:
            print_messages(console, newest, Tail(feed).lines)
        print_summary(console, report)
    return code


def _once(on_begin: Callable[[RunReport], object]) -> ReportCallback:
    """Return what calls ``on_begin`` with the first report that has rows."""
    begun = False

    def call(report: RunReport) -> None:
        nonlocal begun
        if report.rows and not begun:
            begun = True
            on_begin(report)

    return call


def say_begun(report: RunReport) -> None:
    """Say that the first messages of live traffic were acknowledged."""
    moment = time.strftime("%H:%M:%S", time.localtime((report.finished_ms or 0) / 1000))
    say(f"sending since {moment}")


def _exit_code(stop: Stop, wanted: Wanted, report: RunReport | RunTotal) -> int:
    """Return 0 if everything was sent."""
    rows = wanted.settings.rows
    return 0 if rows is not None and report.rows >= rows else stop.exit_code()


def _send(
    spark: SparkSession,
    schema: str,
    wanted: Wanted,
    feed: ChangefeedConfig,
    sink: Sink | None,
    stop: Callable[[], bool] | None,
    on_report: Sequence[ReportCallback],
) -> RunReport | RunTotal:
    """``stop``: called between the batches of a stream, whether to stop. ``on_report``: called with the report
    of each batch.
    """
    if wanted.warms_up:
        warm_up_live(spark, schema, wanted.settings, feed, sink)
    if stop is not None:
        stream = stream_on_spark(spark, schema, wanted.started(), live=wanted.live)
        emitter = _emitter(stream, wanted, feed, sink, on_report)
        return send_stream(stream.changes, emitter, wanted.settings.rows, stop, live=wanted.live)
    traffic = traffic_on_spark(spark, schema, wanted.started())
    return _emitter(traffic, wanted, feed, sink, on_report).write(traffic.changes)


def _emitter(
    traffic: ArrowTraffic | Traffic | TrafficStream,
    wanted: Wanted,
    feed: ChangefeedConfig,
    sink: Sink | None,
    on_report: Sequence[ReportCallback],
) -> TicdcSink:
    settings = wanted.settings
    if settings.ddl_rate and not traffic.ddl:
        say(_without_ddl(settings))
    interval = None
    if (
        feed.codec.protocol.spec.default_ticks and not wanted.live
    ):  # other protocols have no watermarks between the rows
        rows = _STREAM_ROWS if wanted.stream or settings.rows is None else settings.rows
        interval = sparse_interval(feed, rows, rows / settings.changes_per_second)
    return traffic.sink(feed, sink=sink, watermark_interval=interval, on_report=on_report)


def _without_ddl(settings: Settings) -> str:
    rows, rate = settings.rows or 0, settings.changes_per_second
    return (
        f"no schema change: --ddl-rate {settings.ddl_rate:g} is less than one in the {rows / rate:g} s of "
        f"commit time that {counted(rows, 'change')} take at {rate:g} a second"
    )


_POLL_S = 0.2
_LIVE_TRIGGER = "500 milliseconds"  # each batch costs about 0.3 s of CPU time, however few rows it has


def warm_up_live(
    spark: SparkSession, schema: str, settings: Settings, feed: ChangefeedConfig, sink: Sink | None
) -> None:
    """Rehearse with other changes of these tables, so that Spark compiles and every process that sends connects before
    the first real change is due. Nothing is sent.
    """
    stream = stream_on_spark(spark, schema, replace(settings, rows=None, ddl_rate=0.0), live=True)
    with stream.sink(feed, sink=sink) as unsent:

        def rehearse(batch: DataFrame, _: int) -> None:
            with in_micro_batch(batch.sparkSession):
                unsent.changefeed.rehearse(SparkBatch(batch, unsent.table))

        warm_up_stream(stream.changes, rehearse, _LIVE_TRIGGER)


def send_stream(
    changes: DataFrame, emitter: TicdcSink, rows: int | None, stop: Callable[[], bool], *, live: bool
) -> RunTotal:
    """Run the query until ``rows`` are sent or ``stop`` returns true, then end the changefeed after the last batch.

    ``rows``: ``None`` for no end. ``live``: batches at short intervals, else each after the other. Raises what the
    query raised.
    """

    def ended() -> bool:
        return rows is not None and emitter.total.rows >= rows

    def send(batch: DataFrame, number: int) -> None:
        if not ended():  # after the last row there are only empty batches
            emitter(batch, number)

    with tempfile.TemporaryDirectory(prefix="ticdc-emit-", ignore_cleanup_errors=True) as checkpoint:
        writer = changes.writeStream.foreachBatch(send).option("checkpointLocation", checkpoint)
        query = writer.trigger(processingTime=_LIVE_TRIGGER if live else "0 seconds").start()
        try:
            while query.isActive and not ended() and not stop():
                time.sleep(_POLL_S)
            emitter.stop(query)
        finally:
            query.stop()
    return emitter.total
