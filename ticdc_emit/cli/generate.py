"""``ticdc-emit generate``: traffic from table schemas alone, through Spark to Kafka (or files)."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticdc_emit.changefeed.report import RunReport, RunTotal
from ticdc_emit.cli.console import print_json, result_console, step
from ticdc_emit.cli.messages import message_dict, print_messages
from ticdc_emit.cli.place import changefeed_at, messages_at, place
from ticdc_emit.cli.reading import reader_for
from ticdc_emit.cli.session import local_spark
from ticdc_emit.cli.summary import print_summary
from ticdc_emit.config import ChangefeedConfig, mask_uri
from ticdc_emit.delivery.contract import Sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ticdc_emit.spark import TicdcSink
    from ticdc_emit.traffic.generate import Traffic

__all__ = ["Wanted", "run"]

_TOPIC = "ticdc-traffic"
_SHOWN = 5
_POLL_S = 0.2


@dataclass(frozen=True)
class Wanted:
    """What to generate. ``settings``: further arguments of :func:`~ticdc_emit.traffic.generate.generate`."""

    schema: str
    rows: int
    stream: bool
    live: bool
    settings: dict[str, Any]


def run(
    wanted: Wanted,
    *,
    protocol: str,
    sink_uri: str | None,
    config: Path | None,
    schema_registry: str | None,
    as_json: bool,
) -> int:
    """Generate, send and print the report; without a sink URI also the newest messages. Return the exit code."""
    from ticdc_emit.traffic.samples import schema_text

    text = schema_text(wanted.schema)
    with ExitStack() as stack:
        kafka, uri = place(stack, sink_uri, _TOPIC)
        changefeed: str | os.PathLike[str] | dict[str, Any] = config or {"sink": {"protocol": protocol}}
        feed = changefeed_at(stack, uri, changefeed, schema_registry, wanted.settings["time_zone"])
        with step("starting Spark", quiet=as_json):
            spark = stack.enter_context(local_spark("generate"))
        with step(f"generating {wanted.rows:,} changes to {mask_uri(uri)}", quiet=as_json):
            report = _send(spark, text, wanted, feed, kafka.sink() if kafka else None)
        shown = [] if kafka is None else messages_at(feed, kafka)[-_SHOWN:]
        if as_json:
            read = reader_for(feed)
            extra = {"shown": [message_dict(each, read) for each in shown]} if kafka else {}
            print_json({"protocol": feed.codec.protocol.value, **report.to_dict(), **extra})
            return 0
        console = result_console()
        if shown:
            print_messages(console, shown, reader_for(feed))
        print_summary(console, report)
    return 0


def _send(
    spark: SparkSession, schema: str, wanted: Wanted, feed: ChangefeedConfig, sink: Sink | None
) -> RunReport | RunTotal:
    from ticdc_emit.traffic.generate import generate, generate_stream

    if wanted.stream or wanted.live:
        traffic = generate_stream(spark, schema, rows=wanted.rows, live=wanted.live, **wanted.settings)
        return _stream(traffic, traffic.sink(feed, sink=sink), wanted)
    traffic = generate(spark, schema, rows=wanted.rows, **wanted.settings)
    return traffic.sink(feed, sink=sink).write(traffic.changes)


def _stream(traffic: Traffic, emitter: TicdcSink, wanted: Wanted) -> RunTotal:
    """Run the query until all rows are sent, then end the changefeed."""

    def send(batch: DataFrame, number: int) -> None:
        if emitter.total.rows < wanted.rows:  # behind the last row there are only empty batches
            emitter(batch, number)

    with tempfile.TemporaryDirectory(prefix="ticdc-emit-", ignore_cleanup_errors=True) as checkpoint:
        writer = traffic.changes.writeStream.foreachBatch(send).option("checkpointLocation", checkpoint)
        query = writer.trigger(processingTime="1 second" if wanted.live else "0 seconds").start()
        try:
            while query.isActive and emitter.total.rows < wanted.rows:
                time.sleep(_POLL_S)
        finally:
            query.stop()
        failure = query.exception()
        if failure is not None:
            raise failure
    emitter.finish()
    return emitter.total
