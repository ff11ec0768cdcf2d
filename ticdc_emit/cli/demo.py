"""``ticdc-emit demo``: the library's main job from end to end, on defaults that need no server.

A table with history is made in Spark, encoded and produced by Spark's workers, and read back from where it went: an
embedded Kafka, or the cluster or folder that ``--sink-uri`` names.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ticdc_emit.cli.console import print_json, result_console, step
from ticdc_emit.cli.demo_data import CREATED_TS, DATABASE, ORDERS, TABLE, order_history, span_s
from ticdc_emit.cli.messages import message_dict, pick_story, print_messages
from ticdc_emit.cli.place import changefeed_at, messages_at, place
from ticdc_emit.cli.session import local_spark
from ticdc_emit.cli.summary import print_summary
from ticdc_emit.cli.watermarks import sparse_interval
from ticdc_emit.config import ChangefeedConfig, mask_uri
from ticdc_emit.config.protocol import protocol_document
from ticdc_emit.decode import Tail
from ticdc_emit.delivery.contract import Sink

if TYPE_CHECKING:
    from ticdc_emit.changefeed.report import RunReport

__all__ = ["run"]

_TOPIC = "ticdc-demo"


def run(
    *,
    protocol: str,
    rows: int,
    sink_uri: str | None,
    profile: str | None,
    schema_registry: str | None,
    seed: int,
    as_json: bool,
) -> int:
    """Run the demo and print; return the exit code."""
    with ExitStack() as stack:
        # As in TiCDC the URI's protocol, where it names one, wins over the file's.
        changefeed = protocol_document(protocol)
        kafka, uri = place(stack, sink_uri, _TOPIC, changefeed)
        config = changefeed_at(stack, uri, changefeed, schema_registry, profile=profile)
        with step("starting Spark", quiet=as_json):
            spark = stack.enter_context(local_spark("demo"))
        sink = kafka.sink() if kafka else None
        with step(f"emitting {rows:,} row changes of {TABLE} to {mask_uri(uri)}", quiet=as_json):
            report = _emit(order_history(spark, rows, seed), config, sink, sparse_interval(config, rows, span_s(rows)))
        with step("reading messages back", quiet=as_json):
            messages = messages_at(config, kafka)
        read = Tail(config).line
        story = pick_story(messages, read)
        if as_json:
            shown = [message_dict(each, read) for each in story]
            print_json({"protocol": config.codec.protocol.value, **report.to_dict(), "shown": shown})
            return 0
        console = result_console()
        print_messages(console, story, read)
        print_summary(console, report)
        if config.codec.protocol.traits.default_ticks:
            console.print(
                f"{report.controls.watermark:,} of the messages are watermarks: at most one per hundred rows, and one "
                "in each partition at the end (TiCDC sends about one a second)"
            )
    return 0


def _emit(history: Any, config: ChangefeedConfig, sink: Sink | None, interval_s: float) -> RunReport:
    from ticdc_emit.spark import TicdcSink

    # only Simple has watermarks between the rows by default
    interval = interval_s if config.codec.protocol.traits.default_ticks else None
    emitter = TicdcSink(
        config, DATABASE, table=TABLE, ddl=[(CREATED_TS, ORDERS)], sink=sink, watermark_interval=interval
    )
    return emitter.write(history)
