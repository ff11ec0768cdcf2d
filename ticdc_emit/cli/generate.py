"""``ticdc-emit generate``: traffic from table schemas alone, to Kafka or files; made here or by Spark.

Live traffic is made here up to a rate that one process keeps up with (:data:`MOST_LIVE_RATE`). On Spark a live stream
is warmed up before it must keep pace with the clock. Streams end after a whole batch.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticdc_emit.cli import signals
from ticdc_emit.cli.console import print_json, print_summary, result_console, row_progress, say, step
from ticdc_emit.cli.messages import (
    changefeed_at,
    message_dict,
    pick_story,
    print_messages,
    sparse_interval,
    target_at,
)
from ticdc_emit.cli.options import NOW, moment
from ticdc_emit.cli.schema_sql import in_tidb_sql
from ticdc_emit.cli.session import MOST_LIVE_RATE, MOST_ROWS_HERE, SHORT_ROWS, CountedBatches, runs_here, spark_for
from ticdc_emit.cli.signals import stopped_by_interrupt
from ticdc_emit.config import ChangefeedConfig, mask_uri
from ticdc_emit.config.protocols import protocol_document
from ticdc_emit.consume.tail import Tail
from ticdc_emit.delivery.base import Sink
from ticdc_emit.errors import ConfigError
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

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ticdc_emit.cli.app import Generate
    from ticdc_emit.spark import TicdcSink


_TOPIC = "ticdc-traffic"
_READ_BACK = 2_000  # messages per partition
_STREAM_ROWS = 1_000_000_000  # rows assumed for a stream without end, for which only the rate matters


def run(
    options: Generate,
    *,
    changefeed: Path | dict[str, Any] | None = None,
    on_begin: Callable[[RunReport], object] | None = None,
) -> int:
    """Generate, send and print the report; without a sink URI also the life of a row. Return the exit code.

    ``changefeed``: what is in the changefeed file, instead of that of the options. ``on_begin``: called when the first
    messages of live traffic are acknowledged; default: say so.
    """
    settings, as_json, spark = options.settings(rows=options.most_rows), options.as_json, options.spark_settings
    is_stream, warms_up = options.stream or options.live, options.live and options.start in (None, NOW)
    text, rows = in_tidb_sql(schema_text(options.schema), options.schema_dialect, options.schema), settings.rows
    if rows is None:
        if not is_stream:
            raise ConfigError("--endless needs a stream", remedy="Add --live or --stream", option="endless")
        signals.endless()
    check_columns(text, settings.columns, settings.tables)
    started(settings, options)  # a text that is not a time is refused before Spark starts
    amount = "changes without end" if rows is None else counted(rows, "change")
    with ExitStack() as stack:
        changefeed = changefeed or options.config or protocol_document(options.protocol, options.sink_uri)
        kafka, uri = target_at(stack, options.sink_uri, _TOPIC, changefeed)
        feed = changefeed_at(stack, uri, changefeed, options)
        if options.live and not options.stream:
            is_here = runs_here(settings.changes_per_second, MOST_LIVE_RATE, options)
        else:
            is_here = runs_here(None if options.stream else rows, MOST_ROWS_HERE, options)
        here = traffic_here(text, started(settings, options)) if is_here and not options.live else None
        session = None
        if not is_here:
            if is_stream:
                refuse_endless_ddl(settings)
            short = rows is not None and rows <= SHORT_ROWS and not options.live
            session = spark_for(stack, "generate", short=short, settings=spark, quiet=as_json)
        if rows is None and not as_json:
            say("Ctrl-C ends it")
        if warms_up and session is not None and not as_json:
            say(f"warming up Spark for at most {MOST_WARM_UP_S:g} s, then the first changes come")
        stop = stack.enter_context(stopped_by_interrupt("batch", quiet=as_json)) if is_stream else None
        doing = f"generating {amount} to {mask_uri(uri)}"
        sink = kafka.sink() if kafka else None
        on_begin = on_begin or (None if as_json else say_begun)
        batches = {} if here is None else {table: CountedBatches(each) for table, each in here.changes.items()}
        source = session or (lambda: sum(each.read for each in batches.values()))
        with step(doing, quiet=as_json) if stop else row_progress(doing, source, rows, quiet=as_json):
            if here is not None:
                report: RunReport | RunTotal = _emitter(here, options, settings, feed, sink).write(batches)
            elif session is None:
                assert stop is not None
                live = LiveTraffic(text, started(settings, options))
                report = send_live(live, live.changefeed(feed, sink=sink), stop=stop, on_begin=on_begin)
            else:
                if warms_up:
                    warm_up_live(session, text, settings, feed, sink)
                watching = [_once(on_begin)] if options.live and on_begin else []
                report = _send(session, text, options, settings, feed, sink, stop, watching)
        # 0 also at a signal, if everything was sent
        code = 0 if stop is None or (rows is not None and report.rows >= rows) else stop.exit_code()
        read = Tail(feed).lines
        story = [] if kafka is None else pick_story(kafka.read(feed.kafka.topic, newest=_READ_BACK), read)
        if as_json:
            extra = {"shown": [message_dict(each, read) for each in story]} if kafka else {}
            print_json({"protocol": feed.codec.protocol.value, **report.to_dict(), **extra})
            return code
        console = result_console()
        print_messages(console, story, read)
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


def started(settings: Settings, options: Generate) -> Settings:
    """Return the settings with the first commit that ``--start`` means at this moment.

    Raises :class:`ConfigError` for a text that is not a moment.
    """
    start = moment(options.start or (NOW if options.live else None))
    return settings if start is None else replace(settings, start=start)


def _send(
    spark: SparkSession,
    schema: str,
    options: Generate,
    settings: Settings,
    feed: ChangefeedConfig,
    sink: Sink | None,
    stop: Callable[[], bool] | None,
    on_report: Sequence[ReportCallback],
) -> RunReport | RunTotal:
    """``stop``: called between the batches of a stream, whether to stop. ``on_report``: called with the report
    of each batch.
    """
    if stop is None:
        traffic = traffic_on_spark(spark, schema, started(settings, options))
        return _emitter(traffic, options, settings, feed, sink, on_report).write(traffic.changes)
    stream = stream_on_spark(spark, schema, started(settings, options), live=options.live)
    emitter = _emitter(stream, options, settings, feed, sink, on_report)
    return send_stream(stream.changes, emitter, settings.rows, stop, live=options.live)


def _emitter(
    traffic: ArrowTraffic | Traffic | TrafficStream,
    options: Generate,
    settings: Settings,
    feed: ChangefeedConfig,
    sink: Sink | None,
    on_report: Sequence[ReportCallback] = (),
) -> TicdcSink:
    rows, rate = settings.rows or 0, settings.changes_per_second
    if settings.ddl_rate and not traffic.ddl:
        say(
            f"no schema change: --ddl-rate {settings.ddl_rate:g} is less than one in the {rows / rate:g} s of "
            f"commit time that {counted(rows, 'change')} take at {rate:g} a second"
        )
    interval = None
    # other protocols have no watermarks between the rows
    if feed.codec.protocol.spec.default_ticks and not options.live:
        assumed = _STREAM_ROWS if options.stream or not rows else rows
        interval = sparse_interval(feed, assumed, assumed / rate)
    return traffic.sink(feed, sink=sink, watermark_interval=interval, on_report=on_report)


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
