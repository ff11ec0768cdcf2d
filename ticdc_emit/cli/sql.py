"""``ticdc-emit sql``: a change script as TiCDC's messages, sent once the whole script has run, so not if it fails."""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ticdc_emit.cli.console import print_json, print_summary, result_console, step, warn_of_nothing
from ticdc_emit.cli.input_files import STDIN
from ticdc_emit.cli.messages import changefeed_at, message_dict, print_messages, with_extension
from ticdc_emit.cli.options import moment
from ticdc_emit.cli.schema_files import in_tidb_sql, text_of_file
from ticdc_emit.config import mask_uri
from ticdc_emit.config.protocols import protocol_document
from ticdc_emit.consume.tail import Tail
from ticdc_emit.delivery.memory import clear, messages
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import SchemaError
from ticdc_emit.hints import counted
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.sql.script import SKIPPED
from ticdc_emit.traffic.history import History, rows_to_arrow

if TYPE_CHECKING:
    from ticdc_emit.cli.app import Sql


def run(options: Sql) -> int:
    began = time.monotonic()
    SKIPPED.set(Counter())
    history = History.from_sql(
        _text(options.script),
        schema="" if options.schema is None else in_tidb_sql(text_of_file(options.schema), None, options.schema),
        start=None if options.start is None else moment(options.start),
        time_zone=options.time_zone,
    )
    with ExitStack() as stack:
        document: Any = options.config or protocol_document(options.protocol, options.sink_uri)
        here = options.sink_uri is None
        uri = options.sink_uri or with_extension(f"memory://sql-{uuid4()}?partition-num=1&", document)
        feed = changefeed_at(stack, uri, document, options)
        if here:
            stack.callback(clear, feed.sink_uri.path)
        amount = f"{counted(len(history.rows), 'row change')} and {counted(len(history.ddl), 'statement')} of DDL"
        run_options = RunOptions(watermark_interval=options.watermark_interval, message_digests=options.as_json)
        changefeed = Changefeed(feed, sink_for(feed), history.catalog(), ddl=history.ddl, options=run_options)
        with step(f"sending {amount} to {mask_uri(str(feed.sink_uri))}", quiet=options.as_json or here):
            report = changefeed.run(ArrowBatch(rows_to_arrow(history.rows)), 0, final=True)
        shown = messages(feed.sink_uri.path) if here else []
        report = replace(report, seconds=time.monotonic() - began)  # reading and executing the script is most of it
        warn_of_nothing(report)
        read = Tail(feed).lines
        if options.as_json:
            extra = {"messages": [message_dict(each, read) for each in shown]} if here else {}
            print_json({"protocol": feed.codec.protocol.value, **report.to_dict(), **extra})
        else:
            print_messages(result_console(), shown, read)
            if not here:
                print_summary(result_console(), report)
    return 0


def _text(script: str) -> str:
    if script != STDIN:
        return text_of_file(Path(script), "script")
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise SchemaError(f"cannot read the script: {error}", remedy="Give it in UTF-8", path=STDIN) from None
