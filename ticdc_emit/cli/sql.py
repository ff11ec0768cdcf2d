"""``ticdc-emit sql``: a change script as TiCDC's messages.

In: statements of TiDB in a file or on standard input (docs/change-scripts.md). Out: the messages of what they commit,
on a sink, or without a sink URI on standard output. Nothing is sent before the whole script has run, so a script with a
statement that fails sends nothing.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from ticdc_emit.cli.console import print_json, print_summary, result_console, step, warn_of_nothing
from ticdc_emit.cli.input_files import STDIN
from ticdc_emit.cli.messages import changefeed_at, message_dict, print_messages
from ticdc_emit.cli.schema_sql import in_tidb_sql, text_of_file
from ticdc_emit.config import DEFAULT_PARTITION_NUM, ChangefeedConfig, Protocol, mask_uri
from ticdc_emit.config.document import read_document
from ticdc_emit.config.protocols import protocol_document
from ticdc_emit.consume.tail import Tail
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import ConfigError, DdlError, SchemaError
from ticdc_emit.hints import counted
from ticdc_emit.pipeline.batch import ArrowBatch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.sql.script import SKIPPED
from ticdc_emit.traffic.history import History, rows_to_arrow


def run(
    *,
    script: str,
    schema: Path | None,
    start: str | None,
    protocol: str | None,
    sink_uri: str | None,
    config: Path | None,
    time_zone: str,
    release: str | None,
    schema_registry: str | None,
    watermark_interval: float | None,
    as_json: bool,
) -> int:
    """Execute a script, send or print its messages, and return the exit code.

    ``script``: a file, ``-`` for standard input. ``schema``: a file with the DDL of tables that exist before.
    ``start``: ``now``, ISO time or TSO of the first statement; ``None``: the beginning of 2024.
    """
    began = time.monotonic()
    SKIPPED.set(Counter())
    history = History.from_sql(
        _text(script),
        schema="" if schema is None else in_tidb_sql(text_of_file(schema), None, schema),
        start=_moment(start),
        time_zone=time_zone,
    )
    with ExitStack() as stack:
        changefeed: Any = config or protocol_document(protocol, sink_uri)
        feed = changefeed_at(stack, sink_uri or _shown_uri(changefeed), changefeed, schema_registry, time_zone, release)
        options = RunOptions(watermark_interval=watermark_interval)
        if sink_uri is None:
            report, shown = _messages(history, feed, options)
        else:
            with step(f"sending {_amount(history)} to {mask_uri(sink_uri)}", quiet=as_json):
                report, shown = _sent(history, feed, options), []
        report = replace(report, seconds=time.monotonic() - began)  # reading and executing the script is most of it
        warn_of_nothing(report)
        read = Tail(feed).lines
        if as_json:
            extra = {"messages": [message_dict(each, read) for each in shown]} if sink_uri is None else {}
            print_json({"protocol": feed.codec.protocol.value, **report.to_dict(), **extra})
        else:
            print_messages(result_console(), shown, read)
            if sink_uri is not None:
                print_summary(result_console(), report)
    return 0


def _text(script: str) -> str:
    if script != STDIN:
        return text_of_file(Path(script), "script")
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise SchemaError(f"cannot read the script: {error}", remedy="Give it in UTF-8", path=STDIN) from None


def _moment(text: str | None) -> int | None:
    from ticdc_emit.traffic.generate.live import now
    from ticdc_emit.traffic.replay.ddl_history import parse_moment

    if text is None:
        return None
    if text == "now":
        return now()
    try:
        return parse_moment(text)
    except DdlError as fault:
        raise ConfigError(fault.message, remedy=f"{fault.remedy}, or now", option="start") from None


def _shown_uri(changefeed: Any) -> str:
    """Return the sink URI of messages that are only shown: one partition, and TiDB's extension fields where a protocol
    has them.
    """
    sink = read_document(changefeed).table("sink")
    protocol = Protocol.parse((sink.text("protocol") if sink else None) or "")
    extension = "&enable-tidb-extension=true" if protocol.spec.extension else ""
    return f"memory://sql-{uuid4()}?partition-num=1{extension}"


def _amount(history: History) -> str:
    return f"{counted(len(history.rows), 'row change')} and {counted(len(history.ddl), 'statement')} of DDL"


def _messages(history: History, feed: ChangefeedConfig, options: RunOptions) -> tuple[RunReport, list[Message]]:
    store = feed.sink_uri.path
    partitions = feed.kafka.partition_num or DEFAULT_PARTITION_NUM
    try:
        sink = MemorySink(store, feed.codec.max_message_bytes, new_partitions=partitions)
        report = Changefeed(feed, sink, history.catalog(), ddl=history.ddl, options=options).run(
            ArrowBatch(rows_to_arrow(history.rows)), 0, final=True
        )
        return report, messages(store)
    finally:
        clear(store)


def _sent(history: History, feed: ChangefeedConfig, options: RunOptions) -> RunReport:
    changefeed = Changefeed(feed, sink_for(feed), history.catalog(), ddl=history.ddl, options=options)
    return changefeed.run(ArrowBatch(rows_to_arrow(history.rows)), 0, final=True)
