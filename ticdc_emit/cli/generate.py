"""``ticdc-emit generate``: traffic from table schemas alone, to Kafka or files; live traffic is always made here."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from ticdc_emit.cli import signals
from ticdc_emit.cli.console import print_json, print_summary, result_console, say, step
from ticdc_emit.cli.messages import changefeed_at, message_dict, pick_story, print_messages, sparse_interval, target_at
from ticdc_emit.cli.options import NOW, moment
from ticdc_emit.cli.report_page import write_sent
from ticdc_emit.cli.schema_files import sample_or_file
from ticdc_emit.cli.session import MOST_ROWS_HERE, SHORT_ROWS, runs_here, spark_for
from ticdc_emit.cli.signals import stopped_by_interrupt
from ticdc_emit.cli.topics import source_of
from ticdc_emit.config import ChangefeedConfig, mask_uri
from ticdc_emit.config.protocols import protocol_document
from ticdc_emit.consume.tail import Tail
from ticdc_emit.delivery.base import Sink
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import counted
from ticdc_emit.pipeline.report import RunReport, RunTotal
from ticdc_emit.traffic.generate import ArrowTraffic, Traffic
from ticdc_emit.traffic.generate.changes import check_model
from ticdc_emit.traffic.generate.live import LiveTraffic, send_live
from ticdc_emit.traffic.generate.results import traffic_here, traffic_on_spark
from ticdc_emit.traffic.generate.settings import Settings

if TYPE_CHECKING:
    from ticdc_emit.cli.app import Generate
    from ticdc_emit.spark import TicdcSink


_TOPIC = "ticdc-traffic"
_READ_BACK = 2_000  # messages per partition


def run(options: Generate) -> int:
    """Generate, send and print the report; without a sink URI also the life of a row. Return the exit code."""
    settings, as_json, spark = options.settings(rows=options.most_rows), options.as_json, options.spark_settings
    if options.live and not runs_here(0, 0, options):
        raise ConfigError(
            "live traffic is made in this process, not on Spark",
            remedy="Leave --on-spark and --spark out, or --live",
            option="live",
        )
    rows = settings.rows
    if options.like is not None:
        from ticdc_emit.cli.profile import learned  # it loads what reads data, which others do not need

        text, model = learned(options)
        settings = replace(settings, model=model)
    elif options.schema is None:
        raise ConfigError("there are no tables", remedy="Give --schema, or data with --like", option="schema")
    else:
        text = sample_or_file(options.schema, options.schema_dialect)
    if rows is None:
        if not options.live:
            raise ConfigError("--endless needs a stream", remedy="Add --live", option="endless")
        signals.endless()
    check_model(text, settings.model, settings.tables)
    started(settings, options)  # a text that is not a time is refused before Spark starts
    amount = "changes without end" if rows is None else counted(rows, "change")
    with ExitStack() as stack:
        changefeed = options.config or protocol_document(options.protocol, options.sink_uri)
        kafka, uri = target_at(stack, options.sink_uri, _TOPIC, changefeed)
        feed = changefeed_at(stack, uri, changefeed, options)
        sink = kafka.sink() if kafka else None
        doing, code = f"generating {amount} to {mask_uri(uri)}", 0
        report: RunReport | RunTotal
        if options.live:
            if rows is None and not as_json:
                say("Ctrl-C ends it")
            stop = stack.enter_context(stopped_by_interrupt("batch", quiet=as_json))
            with step(doing, quiet=as_json):
                live = LiveTraffic(text, started(settings, options))
                on_begin = None if as_json else say_begun
                sender = live.changefeed(feed, sink=sink, message_digests=as_json)
                report = send_live(live, sender, stop=stop, on_begin=on_begin)
            # 0 also at a signal, if everything was sent
            code = 0 if rows is not None and report.rows >= rows else stop.exit_code()
        elif runs_here(rows, MOST_ROWS_HERE, options):
            here = traffic_here(text, started(settings, options))
            with step(doing, quiet=as_json):
                report = _emitter(here, settings, options, feed, sink).write(here.changes)
        else:
            short = rows is not None and rows <= SHORT_ROWS
            session = spark_for(stack, "generate", short=short, settings=spark, quiet=as_json)
            with step(doing, quiet=as_json):
                traffic = traffic_on_spark(session, text, started(settings, options))
                report = _emitter(traffic, settings, options, feed, sink).write(traffic.changes)
        write_sent(options, feed, report, source_of)
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


def say_begun(report: RunReport) -> None:
    moment = time.strftime("%H:%M:%S", time.localtime((report.finished_ms or 0) / 1000))
    say(f"sending since {moment}")


def started(settings: Settings, options: Generate) -> Settings:
    """Return the settings with the first commit that ``--start`` means at this moment. Raises :class:`ConfigError`."""
    given = options.start or (NOW if options.live else None)
    start = None if given is None else moment(given)
    return settings if start is None else replace(settings, start=start)


def _emitter(
    traffic: ArrowTraffic | Traffic, settings: Settings, options: Generate, feed: ChangefeedConfig, sink: Sink | None
) -> TicdcSink:
    rows, rate, ddl_rate = settings.rows or 0, settings.changes_per_second, settings.model.load.ddl_rate
    if ddl_rate and not traffic.ddl:
        say(
            f"no schema change: ddl_rate = {ddl_rate:g} is less than one in the {rows / rate:g} s of "
            f"commit time that {counted(rows, 'change')} take at {rate:g} a second"
        )
    # other protocols have no watermarks between the rows
    interval = sparse_interval(feed, rows, rows / rate) if feed.codec.protocol.spec.default_ticks else None
    return traffic.sink(feed, sink=sink, watermark_interval=interval, message_digests=options.as_json)
