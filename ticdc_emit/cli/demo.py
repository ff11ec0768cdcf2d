"""``ticdc-emit demo``: the library's main job from end to end, on defaults that need no server.

It makes the history of a table of orders (``cli/demo_history.py``), encodes it, sends it and reads it back: from an
embedded Kafka, or from the cluster or folder of ``--sink-uri``. The history is one batch of a changefeed, so it runs in
this process or on Spark (``cli/session.py``).
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from ticdc_emit.cli.console import print_json, print_summary, result_console, row_progress, step
from ticdc_emit.cli.demo_history import CREATED_TS, DATABASE, ORDERS, TABLE, OrderHistory, order_history, span_s
from ticdc_emit.cli.messages import (
    changefeed_at,
    message_dict,
    messages_at,
    pick_story,
    print_messages,
    sparse_interval,
    target_at,
)
from ticdc_emit.cli.session import MOST_ROWS_HERE, SHORT_ROWS, CountedBatches, runs_here, spark_for
from ticdc_emit.config import ChangefeedConfig, mask_uri
from ticdc_emit.config.protocols import protocol_document
from ticdc_emit.consume.tail import Tail
from ticdc_emit.delivery.base import Sink
from ticdc_emit.hints import counted

if TYPE_CHECKING:
    from ticdc_emit.cli.app import Demo
    from ticdc_emit.spark import TicdcSink


_TOPIC = "ticdc-demo"


def run(options: Demo) -> int:
    """Run the demo and print; return the exit code."""
    with ExitStack() as stack:
        changefeed = protocol_document(options.protocol, options.sink_uri)
        kafka, uri = target_at(stack, options.sink_uri, _TOPIC, changefeed)
        config = changefeed_at(stack, uri, changefeed, options.schema_registry, release=options.release)
        here = CountedBatches(OrderHistory(options.rows, options.seed))
        spark = None
        if not runs_here(options.rows, MOST_ROWS_HERE, on_spark=options.on_spark, settings={}):
            spark = spark_for(stack, "demo", short=options.rows <= SHORT_ROWS, quiet=options.as_json)
        sink = kafka.sink() if kafka else None
        doing = f"emitting {counted(options.rows, 'row change')} of {TABLE} to {mask_uri(uri)}"
        with row_progress(doing, spark or (lambda: here.read), options.rows, quiet=options.as_json):
            emitter = _emitter(config, sink, sparse_interval(config, options.rows, span_s(options.rows)))
            report = emitter.write({TABLE: here} if spark is None else order_history(spark, options.rows, options.seed))
        with step("reading messages back", quiet=options.as_json):
            messages = messages_at(config, kafka)
        read = Tail(config).lines
        story = pick_story(messages, read)
        if options.as_json:
            shown = [message_dict(each, read) for each in story]
            print_json({"protocol": config.codec.protocol.value, **report.to_dict(), "shown": shown})
            return 0
        console = result_console()
        print_messages(console, story, read)
        print_summary(console, report)
        if config.codec.protocol.spec.default_ticks:
            console.print(
                f"{report.controls.watermark:,} of the messages are watermarks: at most one per hundred rows, and one "
                "in each partition at the end (TiCDC sends about one a second)"
            )
    return 0


def _emitter(config: ChangefeedConfig, sink: Sink | None, interval_s: float) -> TicdcSink:
    from ticdc_emit.spark import TicdcSink

    # by default, only Simple has watermarks between the rows
    interval = interval_s if config.codec.protocol.spec.default_ticks else None
    ddl = [(CREATED_TS, ORDERS)]
    return TicdcSink(config, DATABASE, table=TABLE, ddl=ddl, sink=sink, watermark_interval=interval)
